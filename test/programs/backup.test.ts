// Backup and restore as an operator does them: the programs, beside a service that is at work.
import { randomBytes, randomUUID } from 'node:crypto';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadInto } from '../../src/db/backup/load.js';
import { listTables, ownTables } from '../../src/db/backup/tables.js';
import { createKnex } from '../../src/db/connection/knex.js';
import { migrate, migrateInTransaction, migrationNames } from '../../src/db/migrations/migrate.js';
import { createSealer, type Sealer } from '../../src/lib/seal.js';
import { readArchive, writeArchive, type Member } from '../../src/process/backup/archive.js';
import { checkBackup, memberNames } from '../../src/process/backup/contents.js';
import { sign, type Manifest } from '../../src/process/backup/manifest.js';
import { lettingIn, restoreBackup } from '../../src/process/backup/restore.js';
import { takeBackup } from '../../src/process/backup/take.js';
import { Browser } from '../support/browser.js';
import { addClient, addEnvironment, addResource, addUser, password } from '../support/data.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js';
import { earlierMigrations } from '../support/earlier-release.js';
import { managementClient, startManagedService } from '../support/management.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { runProgram } from '../support/program.js';
import { shared, sharedService } from '../support/shared-service.js';
import { startTestService, type TestService } from '../support/service.js';
import { countTables, migratedSchema, schemaOf, tableContents } from '../support/table-contents.js';
import { directoryOfFile } from '../support/temporary-directory.js';

const secretKey = randomBytes(32).toString('base64');
const source = shared(createTestDatabase, ({ drop }) => drop());
const service = sharedService(() => startManagedService({}, { database: { url: source.url, secretKey } }));
const directory = directoryOfFile();
let file: string;
const databases: TestDatabase[] = [];

const settings = (url: string, more: Record<string, string> = {}) => ({
  DATABASE_URL: url,
  SECRET_KEY: secretKey,
  BASE_URL: service.url,
  ...more,
});

/** What the programs do, in this process: each start of one costs seconds. */
const take = (path: string, url = source.url) =>
  takeBackup({ url, path }, { config: service.config, sealer: createSealer(secretKey), clock: service.clock });

async function restore(path: string, url: string, keepSessions = false): Promise<void> {
  const manifest = await checkBackup(path, createSealer(secretKey));
  await restoreBackup(service.deps, { url, path, manifest, keepSessions });
}

async function emptyDatabase(): Promise<string> {
  const made = await createEmptyDatabase();
  databases.push(made);
  return made.url;
}

/** Somebody signed in, with a token of each kind. */
async function signIn() {
  const ctx = await service.context();
  const client = await addClient(ctx);
  const opaque = await addClient(ctx, { access_token_format: 'opaque' });
  const user = await addUser(ctx);
  const browser = new Browser(service.url);
  await browser.login(user.email, password);
  const offline = { scope: 'openid offline_access' };
  const jwt = await redeem(service.url, client, await authorizeCode(browser, client, offline));
  const stored = await redeem(service.url, opaque, await authorizeCode(browser, opaque));
  const own = await tokenRequest(service.url, managementClient, { grant_type: 'client_credentials', resource: `${service.url}/api` });
  const tokens = [jwt.body.access_token, stored.body.access_token, own.body.access_token];
  return { client, user, browser, tokens, refresh_token: jwt.body.refresh_token as string };
}

/** Whether each of the tokens is active at a service. */
const active = (url: string, tokens: readonly string[]) =>
  Promise.all(tokens.map(async (token) => (await oauthPost(url, '/oauth/introspect', managementClient, { token })).body['active']));

const refresh = (url: string) => tokenRequest(url, signedIn.client, { grant_type: 'refresh_token', refresh_token: signedIn.refresh_token });

let signedIn: Awaited<ReturnType<typeof signIn>>;

beforeAll(async () => {
  file = join(directory, 'identity.backup');
  const staging = await addEnvironment(service.deps, 'staging');
  await addUser(staging, { first_name: 'A\ttab, a \\ and a\nline', metadata: { note: '\\N' } });
  await addResource(await service.context(), { user_access: 'open' } as never);
  signedIn = await signIn();
  const made = await runProgram('programs/backup', [file], settings(source.url));
  expect([made.code, made.stderr]).toEqual([0, '']);
  expect(made.stdout).toContain(`It opens with the SECRET_KEY of the id ${createSealer(secretKey).key_id} alone`);
});
afterAll(async () => {
  for (const database of databases) await database.drop();
});

/** A service on a restored database; the same clients, tokens and browsers know it. */
const startOn = (url: string): Promise<TestService> => startTestService({ BASE_URL: service.url }, { database: { url, secretKey } });

describe('a backup', () => {
  test('is readable by its owner alone, and never replaces a file (specification 15.6.2)', async () => {
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await expect(take(file)).rejects.toThrow('exists already: name a new file');
    expect(await readdir(directory)).toEqual(['identity.backup']);
  });

  test('has no key, no password and no token in it that could be used (attack 36.740)', async () => {
    const text = gunzipSync(await readFile(file)).toString('latin1');
    for (const secret of [secretKey, password, managementClient.client_secret, ...signedIn.tokens, signedIn.refresh_token])
      expect(text).not.toContain(secret);
    expect(text).not.toContain(signedIn.browser.cookies.get('idp_session') as string);
  });

  test('knows every table that the migrations make', async () => {
    const knex = createKnex({ url: source.url, poolMax: 1 });
    const { rows } = await knex.raw<{ rows: { name: string }[] }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relpersistence = 'p'`,
    );
    await knex.destroy();
    const left = rows
      .map(({ name }) => name)
      .filter((name) => !['cache_changes', 'secret_key_holders', 'processes', 'knex_migrations_lock'].includes(name));
    const own = await ownTables();
    expect(left.filter((name) => !own.has(name))).toEqual([]);
  });

  test('is of one moment: what is written meanwhile is in it whole or not at all', async () => {
    const ctx = await service.context();
    let over = false;
    const writing = (async () => {
      for (; !over;)
        await ctx.db.knex.transaction(async (trx) => {
          const user = await addUser({ ...ctx, scope: { ...ctx.scope, knex: trx } }, { email: `moment-${randomUUID()}@example.com` });
          await trx('roles').insert({
            environment_id: ctx.environment.id,
            id: user.id,
            name: user.email,
            created_at: new Date(),
            updated_at: new Date(),
          });
          await trx('user_roles').insert({ environment_id: ctx.environment.id, user_id: user.id, role_id: user.id });
        });
    })();
    const path = join(directory, 'busy.backup');
    await take(path).finally(() => (over = true));
    await writing;
    const target = await emptyDatabase();
    await restore(path, target);
    const knex = createKnex({ url: target, poolMax: 1 });
    const { rows } = await knex.raw<{ rows: { whole: boolean }[] }>(
      `select r.id is not null and m.role_id is not null as whole from users u
       left join roles r on r.id = u.id left join user_roles m on m.user_id = u.id where u.email like 'moment-%'`,
    );
    await knex.destroy();
    expect([rows.length > 0, rows.filter(({ whole }) => !whole)]).toEqual([true, []]);
    await rm(path);
  });

  test('of a database that isn’t the service’s is refused', async () => {
    const path = join(directory, 'none.backup');
    await expect(take(path, await emptyDatabase())).rejects.toThrow('look whether DATABASE_URL or DATA_DIR is the right one');
    await expect(take(join(directory, 'no', 'where'))).rejects.toThrow("can't be written (ENOENT): name a file where there is room");
    expect((await readdir(directory)).filter((name) => name.includes('none'))).toEqual([]);
  });
});

describe('a restore', () => {
  test('brings everything back, and revokes sessions and tokens of all kinds (specification 15.6.5, attack 36.741)', async () => {
    expect(await active(service.url, signedIn.tokens)).toEqual([true, true, true]);
    const target = await emptyDatabase();
    const restored = await runProgram('programs/restore', [file], settings(target));
    expect([restored.code, restored.stderr]).toEqual([0, '']);
    expect(restored.stdout).toContain('Nobody is signed in: sessions, tokens and codes are revoked, and new keys sign. Start the service.');
    expect(await schemaOf(target)).toEqual(await migratedSchema());
    const after = await startOn(target);
    try {
      const at = `http://localhost:${after.config.port}`;
      expect(await active(at, signedIn.tokens)).toEqual([false, false, false]);
      expect((await refresh(at)).body.error).toBe('invalid_grant');
      const browser = new Browser(at);
      for (const [name, value] of signedIn.browser.cookies) browser.cookies.set(name, value);
      expect((await browser.get('/account')).status).toBe(303);
      await new Browser(at).login(signedIn.user.email, password);
      const own = await tokenRequest(at, managementClient, { grant_type: 'client_credentials', resource: `${service.url}/api` });
      expect(await active(at, [own.body.access_token])).toEqual([true]);
    } finally {
      await after.stop();
    }
  }, 180_000);

  test('with --keep-sessions has every row as it was, and everybody stays signed in (specification 15.6.5)', async () => {
    const target = await emptyDatabase();
    // The service's loops write now and then: what is compared is a backup during which none did.
    let before: Record<string, string> = {};
    let path = '';
    do {
      path = join(directory, `kept-${randomUUID()}.backup`);
      before = await tableContents(source.url);
      await take(path);
    } while (!isDeepStrictEqual(await tableContents(source.url), before));
    await restore(path, target, true);
    expect(await tableContents(target)).toEqual(before);
    const after = await startOn(target);
    try {
      const at = `http://localhost:${after.config.port}`;
      expect(await active(at, signedIn.tokens)).toEqual([true, true, true]);
      expect((await refresh(at)).status).toBe(200);
    } finally {
      await after.stop();
    }
  });

  test('a sequence goes on where it stood', async () => {
    const target = await emptyDatabase();
    await restore(file, target);
    const knex = createKnex({ url: target, poolMax: 1 });
    const [row] = await knex('knex_migrations')
      .insert({ name: '9999_next', batch: 9, migration_time: knex.fn.now() })
      .returning<{ id: number }[]>('id');
    await knex.destroy();
    expect(row?.id).toBe((await migrationNames()).length + 1);
  });

  test('what fails half-way leaves nothing behind (specification 15.6.4)', async () => {
    const target = await emptyDatabase();
    const knex = createKnex({ url: source.url, poolMax: 1 });
    const tables = await listTables(knex);
    await knex.destroy();
    const failing = (rows: () => AsyncGenerator<{ table: string; data: Buffer }>) =>
      migrationNames().then((migrations) =>
        loadInto(target, { migrations, tables, sequences: [], without: new Set(), rows: rows(), finish: async () => undefined }),
      );
    const cut = failing(async function* () {
      yield { table: 'revocations', data: Buffer.from(`${randomUUIDs()}\t2030-01-01\n`) };
      throw new Error('cut');
    });
    await expect(cut).rejects.toThrow('cut');
    const orphan = failing(async function* () {
      yield { table: 'user_roles', data: Buffer.from(`${randomUUIDs()}\t${randomUUIDs().split('\t')[0]}\n`) };
    });
    await expect(orphan).rejects.toThrow(/foreign key/);
    expect(await countTables(target)).toBe(0);
  });
});

const randomUUIDs = () => `${randomUUID()}\t${randomUUID()}`;

/** The members of the backup, changed, as a backup again. */
async function changed(name: string, change: (members: Member[]) => Member[]): Promise<string> {
  const members: Member[] = [];
  for await (const member of readArchive(file)) members.push(member);
  const path = join(directory, name);
  await writeArchive(path, async (add) => {
    for (const member of change(members)) await add(member);
  });
  return path;
}

const withManifest = (members: Member[], change: (manifest: Manifest) => Manifest, key: string | null): Member[] =>
  members.map((member) => {
    const manifest = () => change(JSON.parse(String(members.find(({ name }) => name === memberNames.manifest)?.data)) as Manifest);
    const signed = sign(manifest(), createSealer(key ?? secretKey));
    if (member.name === memberNames.manifest) return { ...member, data: Buffer.from(signed.text) };
    return member.name === memberNames.mac && key !== null ? { ...member, data: Buffer.from(signed.mac) } : member;
  });

test('of the last schema before the baseline can be restored and taken over, of an older one is refused', async () => {
  const earlier = earlierMigrations();
  const [environment, at] = [randomUUID(), new Date()];
  const stamps = { created_at: at, updated_at: at };
  const [origin, target] = [await emptyDatabase(), await emptyDatabase()];
  const knex = createKnex({ url: origin, poolMax: 2 });
  await knex.transaction((trx) => migrateInTransaction(trx, ['0001_baseline']));
  await knex('environments').insert({ ...stamps, id: environment, name: 'One', slug: 'one', kind: 'staging' });
  await knex('users').insert({
    ...stamps,
    environment_id: environment,
    id: randomUUID(),
    email: 'a@example.com',
    email_key: 'a@example.com',
  });
  await knex('knex_migrations').delete();
  await knex('knex_migrations').insert(earlier.map((name) => ({ name, batch: 1, migration_time: knex.fn.now() })));
  const path = join(directory, 'earlier');
  await take(path, origin);
  await restore(path, target, true);
  const restored = createKnex({ url: target, poolMax: 2 });
  for (const each of [knex, restored]) {
    await migrate(each);
    // Each of them makes its own.
    await each('environments').update({ pairwise_salt: 'salt' });
    await each.destroy();
  }
  const { knex_migrations: _, ...contents } = await tableContents(origin);
  expect(await tableContents(target)).toMatchObject(contents);
  const older = await changed('older', (members) =>
    withManifest(members, (manifest) => ({ ...manifest, migrations: earlier.slice(0, -1) }), secretKey),
  );
  await expect(checkBackup(older, createSealer(secretKey))).rejects.toThrow(
    `Check out the last commit that has migrations/${earlier.at(-1)}.sql`,
  );
});

describe('refused with a word that helps, and nothing is written (specification 15.6.4)', () => {
  const whole = () => readFile(file);
  const put = async (name: string, data: Buffer) => {
    await writeFile(join(directory, name), data);
    return join(directory, name);
  };
  const other = randomBytes(32).toString('base64');
  const cases: [string, () => Promise<string>, string, Sealer?][] = [
    ['cut off in its middle', async () => put('cut', (await whole()).subarray(0, 5_000)), 'the backup ends too early'],
    ['cut off by a few bytes', async () => put('cut-late', (await whole()).subarray(0, -9)), 'the backup ends too early'],
    ['without its manifest', () => changed('bare', (members) => members.slice(0, -2)), 'the backup ends too early'],
    ['without what authenticates it', () => changed('unsigned', (members) => members.slice(0, -1)), 'the backup ends too early'],
    [
      'with a flipped bit',
      async () => {
        const data = await whole();
        data[Math.floor(data.length / 2)]! ^= 1;
        return put('flipped', data);
      },
      "the backup isn't as it was made",
    ],
    [
      'with an administrator added',
      () =>
        changed('added', (members) =>
          members.map((member) =>
            member.name.startsWith('tables/users/') ? { ...member, data: Buffer.concat([member.data, member.data]) } : member,
          ),
        ),
      'the rows of users are others',
    ],
    [
      'with rows and digests changed by somebody without the key',
      () =>
        changed('forged', (members) =>
          withManifest(members, (manifest) => ({ ...manifest, created_at: '2020-01-01T00:00:00.000Z' }), null),
        ),
      'its manifest was changed',
    ],
    [
      'of a newer release',
      () =>
        changed('newer', (members) =>
          withManifest(
            members,
            (manifest) => ({ ...manifest, release: '9.0.0', migrations: [...manifest.migrations, '9999_more'] }),
            secretKey,
          ),
        ),
      'made by a newer release (9.0.0; this one lacks 9999_more): restore it with that release',
    ],
    [
      'of another layout',
      () =>
        changed('layout', ([, ...members]) => [
          { name: memberNames.header, data: Buffer.from('{"format":2,"release":"7.0.0"}') },
          ...members,
        ]),
      'the layout 2 of release 7.0.0, this release reads 1: restore it with release 7.0.0',
    ],
    ['another key’s', async () => file, `needs the SECRET_KEY with the id ${createSealer(secretKey).key_id}`, createSealer(other)],
    [
      'something else',
      () => put('text', Buffer.from('hello')),
      'is no backup of this service: name a file that npm run -s backup has written',
    ],
    ['another archive', () => put('zipped', gzipSync('hello')), 'the backup ends too early'],
    ['not there', async () => join(directory, 'nowhere'), "can't be read (ENOENT)"],
  ];

  test('each of the ways in which a backup can be wrong (attack 36.743)', async () => {
    for (const [what, make, sentence, sealer = createSealer(secretKey)] of cases) {
      const refused = await checkBackup(await make(), sealer).then(() => 'taken', (error: Error) => `${error.name}: ${error.message}`); // prettier-ignore
      expect([what, refused]).toEqual([what, expect.stringMatching(/^BackupRefusal: .+\.$/)]);
      expect([what, refused]).toEqual([what, expect.stringContaining(sentence)]);
    }
    await expect(checkBackup(file, createSealer(other, [secretKey]))).resolves.toMatchObject({ release: expect.any(String) });
  });

  test('the command says it in one line, exits 1 and leaves the database empty', async () => {
    const target = await emptyDatabase();
    const path = await put('cut', (await whole()).subarray(0, 5_000));
    const [cut, foreign] = await Promise.all([
      runProgram('programs/restore', [path], settings(target)),
      runProgram('programs/restore', [file], settings(target, { SECRET_KEY: other })),
    ]);
    expect([cut.code, cut.stdout, cut.stderr.split('\n')]).toEqual([1, '', [expect.stringContaining('ends too early'), '']]);
    expect([foreign.code, foreign.stdout, foreign.stderr.split('\n')]).toEqual([
      1,
      '',
      [expect.stringContaining('needs the SECRET_KEY'), ''],
    ]);
    expect(foreign.stderr).not.toContain(other);
    expect(await countTables(target)).toBe(0);
  });

  test('a database that isn’t empty stays as it is', async () =>
    expect(restore(file, source.url)).rejects.toThrow(
      /^the database isn't empty: it has the table access_tokens and \d+ more\. Restore into a new one/,
    ));
});

test('what lets somebody in are tables that there are', async () => {
  const own = await ownTables();
  expect([...lettingIn].filter((name) => !own.has(name))).toEqual([]);
});

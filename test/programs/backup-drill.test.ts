// The drill of a backup: it proves that the backup can be used, and reaches nobody while it does.
import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { queueMail } from '../../src/domain/mail/mail.js';
import { createWebhook, sendTest } from '../../src/domain/webhooks/webhooks.js';
import { temporaryDatabase } from '../../src/db/backup/temporary-database.js';
import { createSealer } from '../../src/lib/seal.js';
import { readArchive, writeArchive, type Member } from '../../src/process/backup/archive.js';
import { memberNames } from '../../src/process/backup/contents.js';
import { sign, type Manifest } from '../../src/process/backup/manifest.js';
import { programArguments } from '../support/compiled.js';
import { addUser } from '../support/data.js';
import { createTestDatabase } from '../support/database.js';
import { runProgram } from '../support/program.js';
import { startReceiver } from '../support/receiver.js';
import { freePort } from '../support/service.js';
import { shared } from '../support/shared-service.js';
import { startSmtpServer } from '../support/smtp.js';
import { openContext } from '../support/standalone.js';
import { tableContents } from '../support/table-contents.js';
import { directoryOfFile } from '../support/temporary-directory.js';

const secretKey = randomBytes(32).toString('base64');
const source = shared(createTestDatabase, ({ drop }) => drop());
const receiver = shared(() => startReceiver(), (made) => made.close()); // prettier-ignore
const smtp = shared(() => startSmtpServer(), (made) => made.close()); // prettier-ignore
const directory = directoryOfFile();
let file: string;
let settings: Record<string, string>;

/** Writes down where a process connects to, whichever library does, and which names it looks up; then goes on as usual. */
const recorder = (log: string) => `
  import net from 'node:net';
  import dns from 'node:dns';
  import { syncBuiltinESMExports } from 'node:module';
  import { appendFileSync } from 'node:fs';
  const note = (what) => appendFileSync(${JSON.stringify(log)}, what + '\\n');
  const { connect } = net.Socket.prototype;
  net.Socket.prototype.connect = function (...args) {
    const [options] = Array.isArray(args[0]) ? args[0] : net._normalizeArgs(args);
    note(options.path ? 'path ' + options.path : 'to ' + (options.host ?? 'localhost') + ' ' + options.port);
    return connect.apply(this, args);
  };
  for (const from of [dns, dns.promises]) for (const name of ['lookup', 'resolve', 'resolveTxt', 'resolve4', 'resolve6']) {
    const ask = from[name];
    from[name] = (host, ...rest) => { note('name ' + host); return ask.call(from, host, ...rest); };
  }
  syncBuiltinESMExports();`;

beforeAll(async () => {
  // Whoever runs PostgreSQL for root has to get to what lies there.
  await chmod(directory, 0o711);
  file = join(directory, 'identity.backup');
  const port = await freePort();
  settings = {
    DATABASE_URL: source.url,
    SECRET_KEY: secretKey,
    BASE_URL: `http://localhost:${port}`,
    SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    REDIS_URL: 'redis://127.0.0.1:1',
    RATE_LIMIT_STORE: 'redis',
    BREACHED_PASSWORDS_URL: `${receiver.url}/range/`,
    // What the programs themselves put there goes with the rest.
    TMPDIR: directory,
  };
  // Without a service nothing sends what waits here: a delivery, a mail, a logout token, all of them due.
  const opened = await openContext(source.url, secretKey, {
    BASE_URL: settings['BASE_URL'] as string,
    SMTP_URL: settings['SMTP_URL'] as string,
  });
  const { ctx } = opened;
  const user = await addUser(ctx);
  await transaction(ctx, async (tx) => {
    const { webhook } = await createWebhook(tx, { name: 'shop', url: receiver.url, events: ['*'] });
    await sendTest(tx, webhook, { actor_kind: 'system', actor_id: null });
    const origin = { ip_address: null, user_agent: null };
    await queueMail(tx, {
      template: 'password_changed',
      to: user.email as string,
      locale: null,
      model: { reset_url: 'http://x.example' },
      origin,
    });
  });
  const at = { id: randomUUID(), session_id: randomUUID(), user_id: user.id, created_at: new Date(), next_attempt_at: new Date() };
  const environment_id = ctx.environment.id;
  await ctx.db
    .knex('backchannel_logouts')
    .insert({ ...at, environment_id, client_id: 'shop', logout_uri: receiver.url, issuer: ctx.environment.issuer });
  await opened.close();
  const made = await runProgram('programs/backup', [file], settings);
  expect([made.code, made.stderr]).toEqual([0, '']);
}, 60_000);

test('a drill restores, starts, compares and issues a token, and reaches nobody but its own database (specification 15.6.7, attack 36.742)', async () => {
  const log = join(directory, 'connections');
  const preload = join(directory, 'recorder.mjs');
  await writeFile(log, '');
  await writeFile(preload, recorder(log));
  const before = await tableContents(source.url);
  const drilled = await runProgram('programs/restore', ['--drill', file], {
    ...settings,
    NODE_OPTIONS: `--import ${pathToFileURL(preload).href}`,
  });
  expect([drilled.code, drilled.stderr]).toEqual([0, '']);
  expect(drilled.stdout.split('\n')).toEqual([
    expect.stringMatching(/^restored: \d+ tables with as many rows as at the backup, of 20/),
    'started: 1 signing keys, those of the backup',
    expect.stringMatching(/^a token was issued and verified, signed by [\w-]{43}$/),
    '',
  ]);
  // Its own PostgreSQL and its own port, both on this machine; by no name but that of this machine.
  const reached = [...new Set((await readFile(log, 'utf8')).trim().split('\n'))];
  expect(reached.length).toBeGreaterThan(1);
  expect(reached.filter((line) => !/^to (?:127\.0\.0\.1|localhost) \d+$|^name (?:127\.0\.0\.1|localhost)$/.test(line))).toEqual([]);
  const ports = reached.map((line) => line.split(' ')[2]);
  for (const outside of [smtp.port, new URL(receiver.url).port, new URL(source.url).port, 1]) expect(ports).not.toContain(String(outside));
  expect([receiver.posts, smtp.received]).toEqual([[], []]);
  // Deliveries still wait where they waited, and nothing of the drill is left.
  expect(await tableContents(source.url)).toEqual(before);
  expect((await readdir(directory)).sort()).toEqual(['connections', 'identity.backup', 'recorder.mjs']);
}, 120_000);

test('a drill of a backup that is not what it says fails, and says in what (specification 15.6.7)', async () => {
  const members: Member[] = [];
  for await (const member of readArchive(file)) members.push(member);
  const manifest = JSON.parse(String(members.find(({ name }) => name === memberNames.manifest)?.data)) as Manifest;
  const as = async (name: string, change: Partial<Manifest>) => {
    const { text, mac } = sign({ ...manifest, ...change }, createSealer(secretKey));
    const data: Record<string, Buffer> = { [memberNames.manifest]: Buffer.from(text), [memberNames.mac]: Buffer.from(mac) };
    await writeArchive(join(directory, name), async (add) => {
      for (const member of members) await add({ ...member, data: data[member.name] ?? member.data });
    });
    return runProgram('programs/restore', ['--drill', join(directory, name)], settings);
  };
  const tables = manifest.tables.map((table) => (table.name === 'users' ? { ...table, rows: 7 } : table));
  const fewer = await as('rows', { tables });
  expect([fewer.code, fewer.stderr]).toEqual([1, 'users has 1 rows, not 7: take another backup.\n']);
  const others = await as('keys', { signing_keys: [{ environment: 'default', kid: 'another' }] });
  expect([others.code, others.stderr]).toEqual([
    1,
    expect.stringMatching(/^the signing keys of environment default are [\w-]+, not another: take another backup/),
  ]);
  expect((await readdir(directory)).filter((name) => name.startsWith('identity-provider-drill'))).toEqual([]);
}, 120_000);

test('where no PostgreSQL can be brought along, a database of its own is made, and dropped again', async () => {
  const made = await temporaryDatabase(source.url);
  const names = async () => {
    const client = new pg.Client({ connectionString: source.url });
    await client.connect();
    const { rows } = await client.query<{ datname: string }>('select datname from pg_database');
    await client.end();
    return rows.map(({ datname }) => datname);
  };
  expect(new URL(made.url).pathname).toBe(`/${made.name}`);
  expect(await names()).toContain(made.name);
  await made.drop();
  expect(await names()).not.toContain(made.name);
});

test('the script of the example makes a backup, drills it, and lets only old ones go', async () => {
  const backups = join(directory, 'backups');
  await mkdir(backups);
  const old = join(backups, 'identity-20200101T000000Z.backup');
  await writeFile(old, '');
  await utimes(old, new Date(0), new Date(0));
  const [, program = ''] = await programArguments('programs/backup');
  const home = dirname(dirname(dirname(program)));
  const env = { PATH: process.env['PATH'], ...settings, IDENTITY_HOME: home, BACKUP_DIR: backups };
  const script = promisify(execFile)('examples/backup/identity-backup.sh', { env });
  expect((await script).stdout).toContain('a token was issued and verified');
  expect(await readdir(backups)).toEqual([expect.stringMatching(/^identity-20\d{6}T\d{6}Z\.backup$/)]);
}, 120_000);

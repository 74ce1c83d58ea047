// The guides docs/guides/coming-from-*.md: their commands run as they stand there, with files in the format of each product.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { products } from '../../src/programs/cli/import/products.js';
import { Browser } from '../support/browser.js';
import { runCli } from '../support/cli.js';
import { ndjson } from '../support/imports.js';
import { manage, managementClient, type Api, type Document } from '../support/management.js';
import { runProgram } from '../support/program.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
let api: Api;
let cognito: Receiver;
const password = 'correct horse battery';

beforeAll(async () => {
  [api, cognito] = await Promise.all([manage(service.url), startReceiver()]);
  cognito.reply((post, res) => res.end(JSON.stringify({ valid: (JSON.parse(post.body) as Document)['password'] === password })));
  const connection = { name: 'google', display_name: 'Google', strategy: 'oidc', provider_client_id: 'x', issuer: 'https://idp.example' };
  await api.create('connections', connection);
  await api.create('roles', { name: 'clerk' });
  const { id } = (await api.get('/environments?filter[slug]=default')).body['data'][0];
  await api.update('environments', id, { password_migration_url: cognito.url });
});
afterAll(() => cognito?.close());

const isFile = (word: string) => /\.(json|ndjson|txt)$/.test(word);

/** The commands that a guide has for `idp`. */
function commandsOf(product: string): string[][] {
  const guide = readFileSync(`docs/guides/coming-from-${product}.md`, 'utf8');
  return [...guide.matchAll(/^idp (import .*)$/gm)].map(([, line = '']) => line.split(' '));
}

/** An empty directory, but for what the product's exporter has written: the files that the commands name. */
async function exportedFiles(commands: readonly string[][]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'idp-coming-from-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const name of new Set(commands.flat().filter(isFile))) await copyFile(join('examples/moving', name), join(directory, name));
  return directory;
}

const login = async (email: string, given = password) =>
  (await new Browser(service.url).postJson('/login', { email, password: given })).status;
const userOf = (email: string) => findUserByEmailKey(ctx.scope, email);

/** Works off imports until the command has ended. */
async function beside<T>(command: Promise<T>): Promise<T> {
  const { userImportPass } = await import('../../src/process/user-imports.js');
  let over = false;
  const done = command.finally(() => (over = true));
  while (!over) await Promise.race([done.catch(() => undefined), userImportPass(service.deps)]);
  return done;
}

const ran = (...words: string[]): Promise<string> => beside(runCli(service.url, ...words));

/** Runs a command as a process of its own, as somebody would who has nothing but the files of the directory. */
async function typed(directory: string, words: readonly string[]): Promise<string> {
  const { id, client_secret } = managementClient;
  const environment = { HOME: directory, BASE_URL: service.url, MANAGEMENT_CLIENT_ID: id, MANAGEMENT_CLIENT_SECRET: client_secret };
  const { code, stdout, stderr } = await beside(runProgram('programs/cli', words, environment, directory));
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

test.each([
  ['keycloak', { ada: 200, grace: 200, joan: 403 }],
  ['auth0', { ada: 200, grace: 401, joan: 403 }],
  ['firebase', { ada: 200, grace: 401, joan: 403 }],
  ['cognito', { ada: 200, joan: 403 }],
  ['django', { ada: 200, grace: 200, joan: 401 }],
])(
  'coming from %s: the commands of the guide, typed in an empty directory, bring everybody, who sign in with the passwords of before (specification 18.5.1)',
  async (product, people) => {
    const commands = commandsOf(product);
    const [dry = [], real = []] = commands;
    const directory = await exportedFiles(commands);
    const count = Object.keys(people).length;
    expect(await typed(directory, dry)).toMatch(
      new RegExp(`^dry run succeeded: ${count} created, 0 updated, 0 unchanged, 0 failed of ${count} `),
    );
    expect(await userOf(`ada@${product}.example`)).toBeNull();
    expect(await typed(directory, real)).toMatch(new RegExp(`^succeeded: ${count} created`));
    for (const [name, status] of Object.entries(people)) {
      const email = `${name}@${product}.example`;
      expect([email, await login(email, 'not the password')]).toEqual([email, 401]);
      expect([email, await login(email)]).toEqual([email, status]);
    }
    expect(await userOf(`ada@${product}.example`)).toMatchObject({ ...(product === 'firebase' ? { nickname: 'Ada Lovelace' } : { first_name: 'Ada', last_name: 'Lovelace' }), status: 'active', email_verified: product !== 'django' }); // prettier-ignore
    expect(await userOf(`joan@${product}.example`)).toMatchObject({ status: 'blocked' });
    // The next night's run changes nobody.
    expect(await typed(directory, [...real, '--upsert'])).toMatch(new RegExp(`^succeeded: 0 created, 0 updated, ${count} unchanged`));
  },
);

test('accounts at providers, roles and other members come along where they are asked for', async () => {
  const identities = (await api.get('/identities')).body['data'] as Document[];
  expect(identities.map(({ attributes }) => attributes.subject).sort()).toEqual(['108204268033311374519', '1090', '115015401343387192604']);
  const clerks = (await api.get('/users?filter[role]=' + (await api.get('/roles?filter[name]=clerk')).body['data'][0].id)).body[
    'data'
  ] as Document[];
  expect(clerks.map(({ attributes }) => attributes.email).sort()).toEqual(['ada@keycloak.example', 'grace@keycloak.example']);
  expect(await userOf('ada@auth0.example')).toMatchObject({
    metadata: { hobby: 'engines', plan: 'full' },
    external_id: 'auth0|5f7c8ec7c33c6c004bbafe82',
  });
});

test('every product has its guide, which names what does not come along and how both run side by side', () => {
  for (const product of Object.keys(products).filter((name) => name !== 'ndjson')) {
    const guide = readFileSync(`docs/guides/coming-from-${product}.md`, 'utf8');
    for (const part of ['## There', '## Here', '## What comes along', 'What doesn’t', '## Side by side']) expect([product, guide.replaceAll("'", '’')]).toEqual([product, expect.stringContaining(part)]); // prettier-ignore
  }
});

test('what can not be read, or is refused, is told, and nothing is sent of a file that is no such one', async () => {
  const refusal = (...words: string[]) => ran('import', ...words).then(() => 'nothing', (error: Error) => error.message); // prettier-ignore
  expect(await refusal('keycloak', 'no-such-file.json')).toContain('no-such-file.json can not be read');
  expect(await refusal('keycloak', 'examples/moving/auth0-users.ndjson')).toContain('is not the JSON that `kc.sh export` writes');
  expect(await refusal('django', 'examples/moving/django-users.json', '--connection', 'google')).toContain('PROVIDER=CONNECTION');
  const text = await refusal('django', 'examples/moving/django-users.json');
  expect(text).toContain('row 1: already_exists /email');
  expect(text).toContain('failed: 0 created');
  expect(await ran('import', 'cognito', 'examples/moving/cognito-users.json', '--print')).toContain('"pending_migration":true');
});

test('whoever has no hash is asked for at the old system where the import says so, and can be listed until then', async () => {
  const words = ['import', 'auth0', 'examples/moving/auth0-users.ndjson', '--pending-migration', '--print'];
  const printed = async (...more: string[]) => (await ran(...words, ...more)).split('\n').map((line) => JSON.parse(line) as Document);
  expect((await printed()).map(({ pending_migration }) => pending_migration as unknown)).toEqual([true, true, true]);
  for (const row of await printed('--hashes', 'examples/moving/auth0-hashes.ndjson'))
    expect([row['email'], row['pending_migration']]).toEqual([row['email'], 'password_hash' in row ? undefined : true]);
  const left = 'someone-left@cognito.example';
  await api.create('users', { email: left, pending_migration: true });
  const listed = async () => ran('users', 'list', '--filter', 'pending_migration=true', '--all', '--columns', 'email,last_login_at');
  expect(await listed()).toContain(left);
  expect(await login(left)).toBe(200);
  expect(await listed()).not.toContain(left);
});

test('a file goes on where the line broke off, and its end is awaited though nobody answers for a moment (specification 18.2.2)', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'idp-lossy-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'users.ndjson');
  const rows = Array.from({ length: 250 }, (_, n) => ({ email: `lossy-${n}@example.com`, metadata: { text: randomBytes(9_000).toString('base64') } })); // prettier-ignore
  await writeFile(file, ndjson(rows));
  const sent: string[] = [];
  const lossy = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const [, path = ''] = new Request(input, { ...init, body: null }).url.split('/api/');
    const method = `${init?.method} ${path.replace(/[0-9a-f-]{36}/, '{id}')}`;
    sent.push(method);
    const count = sent.filter((one) => one === method).length;
    // The first part arrives and its answer doesn't; the second doesn't arrive; the third meets a proxy without a service; and then nobody is there.
    if (method.startsWith('PUT')) {
      if (count === 1) await fetched(input, init);
      if (count <= 2) throw new TypeError('fetch failed');
      if (count === 3) return Response.json({}, { status: 502 });
    }
    if (method === 'GET user_imports/{id}' && [2, 5].includes(count)) throw new TypeError('fetch failed');
    return fetched(input, init);
  };
  const fetched = globalThis.fetch;
  vi.stubGlobal('fetch', lossy);
  onTestFinished(() => void vi.unstubAllGlobals());
  expect(await ran('import', 'ndjson', file, '--dry-run')).toContain('250 created, 0 updated, 0 unchanged, 0 failed of 250');
  expect(sent.filter((one) => one.startsWith('PUT'))).toHaveLength(4);
});

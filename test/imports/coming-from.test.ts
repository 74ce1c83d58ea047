// The guides docs/guides/coming-from-*.md: their commands run as they stand there, with files in the format of each product.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { products } from '../../src/programs/cli/import/products.js';
import { Browser } from '../support/browser.js';
import { runCli } from '../support/cli.js';
import { manage, type Api, type Document } from '../support/management.js';
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
  await api.create('connections', 'connection', connection);
  await api.create('roles', 'role', { name: 'clerk' });
  const { id } = (await api.get('/environments?filter[slug]=default')).body['data'][0];
  await api.patch(`/environments/${id}`, { data: { type: 'environment', id, attributes: { password_migration_url: cognito.url } } });
});
afterAll(() => cognito?.close());

/** The commands that a guide has for `idp`, with the files of the example. */
function commandsOf(product: string): string[][] {
  const guide = readFileSync(`docs/guides/coming-from-${product}.md`, 'utf8');
  const words = [...guide.matchAll(/^idp (import .*)$/gm)].map(([, line = '']) => line.split(' '));
  return words.map((line) => line.map((word) => (/\.(json|ndjson|txt)$/.test(word) ? join('examples/moving', word) : word)));
}

const login = async (email: string, given = password) =>
  (await new Browser(service.url).postJson('/login', { email, password: given })).status;
const userOf = (email: string) => findUserByEmailKey(ctx.scope, email);

/** Runs a command, whose import this test's service works off meanwhile. */
async function ran(words: string[]): Promise<string> {
  const { userImportPass } = await import('../../src/process/user-imports.js');
  let over = false;
  const done = runCli(service.url, ...words).finally(() => (over = true));
  while (!over) await Promise.race([done.catch(() => undefined), userImportPass(service.deps)]);
  return done;
}

test.each([
  ['keycloak', { ada: 200, grace: 200, joan: 403 }],
  ['auth0', { ada: 200, grace: 401, joan: 403 }],
  ['firebase', { ada: 200, grace: 401, joan: 403 }],
  ['cognito', { ada: 200, joan: 403 }],
  ['django', { ada: 200, grace: 200, joan: 401 }],
])(
  'coming from %s: the commands of the guide bring everybody, who sign in with the passwords of before (specification 18.5.1)',
  { timeout: 60_000 },
  async (product, people) => {
    const [dry = [], real = []] = commandsOf(product);
    const count = Object.keys(people).length;
    expect(await ran(dry)).toMatch(new RegExp(`^dry run succeeded: ${count} created, 0 updated, 0 unchanged, 0 failed of ${count} `));
    expect(await userOf(`ada@${product}.example`)).toBeNull();
    expect(await ran(real)).toMatch(new RegExp(`^succeeded: ${count} created`));
    for (const [name, status] of Object.entries(people)) {
      const email = `${name}@${product}.example`;
      expect([email, await login(email, 'not the password')]).toEqual([email, 401]);
      expect([email, await login(email)]).toEqual([email, status]);
    }
    expect(await userOf(`ada@${product}.example`)).toMatchObject({ ...(product === 'firebase' ? { nickname: 'Ada Lovelace' } : { first_name: 'Ada', last_name: 'Lovelace' }), status: 'active', email_verified: product !== 'django' }); // prettier-ignore
    expect(await userOf(`joan@${product}.example`)).toMatchObject({ status: 'blocked' });
    // The next night's run changes nobody.
    expect(await ran([...real, '--upsert'])).toMatch(new RegExp(`^succeeded: 0 created, 0 updated, ${count} unchanged`));
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
  const refusal = (...words: string[]) => ran(['import', ...words]).then(() => 'nothing', (error: Error) => error.message); // prettier-ignore
  expect(await refusal('keycloak', 'no-such-file.json')).toContain('no-such-file.json can not be read');
  expect(await refusal('keycloak', 'examples/moving/auth0-users.ndjson')).toContain('is not the JSON that `kc.sh export` writes');
  expect(await refusal('django', 'examples/moving/django-users.json', '--connection', 'google')).toContain('PROVIDER=CONNECTION');
  const text = await refusal('django', 'examples/moving/django-users.json');
  expect(text).toContain('row 1: already_exists /email');
  expect(text).toContain('failed: 0 created');
  expect(await ran(['import', 'cognito', 'examples/moving/cognito-users.json', '--print'])).toContain('"pending_migration":true');
});

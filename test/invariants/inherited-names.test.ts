// Names that every plain object inherits are names like any other: whatever names something in a request answers as for a name nobody has.
import { beforeAll, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { permit } from '../support/administrators.js';
import { Browser } from '../support/browser.js';
import { addClient, addUser, type TestClient } from '../support/data.js';
import { manage, type Api } from '../support/management.js';
import { authorizeQuery } from '../support/authorize.js';
import { oauthPost } from '../support/oauth.js';
import { sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const inherited = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__', 'isPrototypeOf'];
const nobody = 'nonsensical';

const service = sharedManagedService();
let api: Api;
let user: UserRow;
let client: TestClient;
let browser: Browser;

beforeAll(async () => {
  await service.deps.db.knex('environments').update({ dynamic_registration_enabled: true });
  service.deps.cache.clear();
  const ctx = await service.context();
  api = await manage(service.url);
  user = await addUser(ctx);
  client = await addClient(ctx, { first_party: true });
  await permit(
    ctx,
    user.id,
    'users:read',
    'users:write',
    'audit_logs:read',
    'webhooks:read',
    'webhooks:write',
    'clients:read',
    'clients:write',
  );
  browser = await signedIn(service, user);
});

type Answer = { status: number; text: string };

/** What of an answer may depend on the name: nothing but the name itself, ids, times and tokens. */
const sameFor = (name: string, { status, text }: Answer): string =>
  `${status} ${text
    .replaceAll(name, 'NAME')
    .replaceAll(encodeURIComponent(name), 'NAME')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/[\w-]{40,}/g, 'TOKEN')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/\b\d{1,2}:\d\d(:\d\d)?\b/g, 'TIME')}`;

async function expectSame(ask: (name: string) => Promise<Answer>, names: readonly string[] = inherited): Promise<void> {
  const expected = sameFor(nobody, await ask(nobody));
  expect(expected).not.toMatch(/^5/);
  for (const name of names) expect(`${name}: ${sameFor(name, await ask(name))}`).toBe(`${name}: ${expected}`);
}

const shown = async (response: Response): Promise<Answer> => ({
  status: response.status,
  text: `${response.headers.get('location') ?? ''} ${await response.text()}`,
});
const managed = async (method: string, path: string, body?: unknown): Promise<Answer> => {
  const raw = body === undefined ? {} : { raw: typeof body === 'string' ? body : JSON.stringify(body) };
  const { status, text } = await api.request(method, path, raw);
  return { status, text };
};

/** JSON with a member of the name, `__proto__` too, which an object literal would swallow. */
const withMember = (name: string, value: unknown = 'x') => `{${JSON.stringify(name)}:${JSON.stringify(value)}}`;

describe('the Management API', () => {
  test.each<[string, (name: string) => string]>([
    ['fields[user]', (name) => `/users?fields[user]=${name}`],
    ['fields[...]', (name) => `/users?fields[${name}]=email`],
    ['sort', (name) => `/users?sort=${name}`],
    ['descending sort', (name) => `/users?sort=-${name}`],
    ['include', (name) => `/users?include=${name}`],
    ['nested include', (name) => `/users?include=roles.${name}`],
    ['filter[...]', (name) => `/users?filter[${name}]=x`],
    ['filter[status]', (name) => `/users?filter[status]=${name}`],
    ['a comparison', (name) => `/users?filter[created_at][${name}]=2026-01-01T00:00:00Z`],
    ['page[...]', (name) => `/users?page[${name}]=1`],
    ['a parameter', (name) => `/users?${name}=1`],
    ['a collection', (name) => `/${name}`],
    ['an id', (name) => `/users/${name}`],
    ['a related resource', (name) => `/users/${user.id}/${name}`],
    ['a relationship', (name) => `/users/${user.id}/relationships/${name}`],
    ['an event type', (name) => `/event_types/${name}`],
  ])('GET by %s', async (_what, path) => expectSame((name) => managed('GET', path(name))));

  test('actions (attack 18.275)', async () => {
    for (const method of ['PATCH', 'POST']) await expectSame((name) => managed(method, `/users/${user.id}/${name}`));
  });

  test('members of documents', async () => {
    // A member `__proto__` is refused with the whole document.
    const members = inherited.filter((name) => name !== '__proto__');
    expect((await managed('POST', '/users', `{"data":{"type":"user","attributes":${withMember('__proto__')}}}`)).status).toBe(400);
    const attributes = (type: string, members: string) => `{"data":{"type":"${type}","attributes":${members}}}`;
    await expectSame((name) => managed('POST', '/users', attributes('user', withMember(name))), members);
    await expectSame((name) => managed('POST', '/roles', withMember(name, { type: 'role' })), members);
    await expectSame((name) => managed('POST', '/roles', `{"data":{"type":${JSON.stringify(name)},"attributes":{"name":"x"}}}`));
    await expectSame(
      (name) => managed('PATCH', `/users/${user.id}`, `{"data":{"type":"user","id":"${user.id}","attributes":${withMember(name)}}}`),
      members,
    );
    const related = (name: string) => withMember(name, { data: [] });
    await expectSame(
      (name) => managed('POST', '/roles', `{"data":{"type":"role","attributes":{"name":"x"},"relationships":${related(name)}}}`),
      members,
    );
    await expectSame((name) =>
      managed('POST', '/webhooks', attributes('webhook', JSON.stringify({ name: 'W', url: 'http://127.0.0.1:1/', events: [name] }))),
    );
    await expectSame((name) =>
      managed('POST', '/clients', attributes('client', JSON.stringify({ name: 'C', application_type: name, grant_types: [name] }))),
    );
    await expectSame((name) =>
      managed(
        'POST',
        '/connections',
        attributes('connection', JSON.stringify({ name: 'c', display_name: 'C', strategy: name, provider_client_id: 'x' })),
      ),
    );
  });
});

describe('OAuth', () => {
  const post = async (path: string, fields: Record<string, string>): Promise<Answer> => {
    const { status, body } = await oauthPost(service.url, path, client, fields);
    return { status, text: JSON.stringify(body) };
  };

  test('the token endpoint and its neighbours', async () => {
    await expectSame((name) => post('/oauth/token', { grant_type: name }));
    await expectSame((name) => post('/oauth/token', { grant_type: 'client_credentials', scope: name, resource: `${service.url}/api` }));
    await expectSame((name) => post('/oauth/token', { grant_type: 'authorization_code', code: name, redirect_uri: name }));
    await expectSame((name) => post('/oauth/introspect', { token: name, token_type_hint: name }));
    await expectSame((name) => post('/oauth/revoke', { token: name, token_type_hint: name }));
    await expectSame((name) => post('/oauth/token', { [name]: 'x' }));
  });

  test('parameters of an authorization request', async () => {
    for (const parameter of [
      'response_type',
      'response_mode',
      'prompt',
      'display',
      'scope',
      'resource',
      'code_challenge_method',
      'acr_values',
      'client_id',
    ])
      await expectSame(async (name) =>
        shown(await browser.get(`/oauth/authorize?${authorizeQuery(client, { [parameter]: name, state: 'same' }).toString()}`)),
      );
    for (const claims of [(name: string) => withMember(name, null), (name: string) => `{"id_token":${withMember(name, null)}}`])
      await expectSame(async (name) => {
        const response = await browser.get(
          `/oauth/authorize?${authorizeQuery(client, { claims: claims(name), state: 'same' }).toString()}`,
        );
        return { status: response.status, text: '' };
      });
  });

  test('client metadata', async () => {
    const register = async (body: string): Promise<Answer> => {
      const response = await fetch(`${service.url}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      return { status: response.status, text: response.status === 201 ? '' : await response.text() };
    };
    const redirect_uris = '"redirect_uris":["https://app.example/cb"]';
    await expectSame((name) => register(`{${redirect_uris},${JSON.stringify(name)}:"x"}`));
    for (const member of ['token_endpoint_auth_method', 'application_type', 'id_token_signed_response_alg'])
      await expectSame((name) => register(`{${redirect_uris},"${member}":"${name}"}`));
    await expectSame((name) => register(`{${redirect_uris},"grant_types":["${name}"]}`));
  });
});

describe('pages', () => {
  test.each<[string, (name: string) => string]>([
    ['the notice of the account page', (name) => `/account?notice=${name}`],
    ['the tab of a record', (name) => `/dashboard/users/${user.id}?tab=${name}`],
    ['what was done', (name) => `/dashboard/users?done=${name}`],
    ['a filter', (name) => `/dashboard/users?${name}=x`],
    ['the value of a filter', (name) => `/dashboard/users?status=${name}`],
    ['an order', (name) => `/dashboard/users?sort=${name}`],
    ['a page of the dashboard', (name) => `/dashboard/${name}`],
    ['a part of a record', (name) => `/dashboard/users/${user.id}/${name}`],
    ['the kind of a new client', (name) => `/dashboard/clients/new?kind=${name}`],
    ['the format of an export', (name) => `/dashboard/audit_logs/export?format=${name}`],
    ['a connection', (name) => `/auth/sso/${name}`],
    ['an asset', (name) => `/assets/${name}.css`],
    ['a guide', (name) => `/docs/${name}`],
  ])('%s', async (_what, path) => expectSame(async (name) => shown(await browser.get(path(name)))));

  test('the notice of the sign-in page', async () =>
    expectSame(async (name) => shown(await new Browser(service.url).get(`/login?notice=${name}`))));

  test('members of forms and JSON bodies', async () => {
    for (const path of ['/login', '/register', '/register/verify', '/register/complete', '/password/forgot', '/password/reset']) {
      await expectSame(async (name) =>
        shown(
          await new Browser(service.url).request(path, {
            method: 'POST',
            body: withMember(name),
            headers: { 'content-type': 'application/json' },
          }),
        ),
      );
    }
    for (const path of ['/account/profile', '/account/password'])
      await expectSame(async (name) =>
        shown(await browser.request(path, { method: 'POST', body: withMember(name), headers: { 'content-type': 'application/json' } })),
      );
    const nested = (name: string) => JSON.stringify({ address: JSON.parse(withMember(name)) as object });
    await expectSame(async (name) =>
      shown(
        await browser.request('/account/profile', { method: 'POST', body: nested(name), headers: { 'content-type': 'application/json' } }),
      ),
    );
  });
});

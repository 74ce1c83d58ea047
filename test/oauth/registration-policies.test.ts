// Who may register clients, what they get, and when they go (RFC 7591).
import { beforeEach, describe, expect, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { changeClient } from '../../src/domain/clients/registration.js';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { unusedClientPass } from '../../src/jobs/unused-clients.js';
import type { ClientInput } from '../../src/domain/clients/rules.js';
import type { EnvironmentRow } from '../../src/db/tables/environments.js';
import type { ClientRow } from '../../src/db/tables/clients.js';
import { addClient, addResource, addUser } from '../support/data.js';
import { allowCode, oauthPost, redeem } from '../support/oauth.js';
import { manage, startManagedService, type Document } from '../support/management.js';
import { shared, sharedService } from '../support/shared-service.js';
import { setEnvironment, signedIn } from '../support/signed-in.js';

const service = sharedService(() => startManagedService());
const redirect_uris = ['https://app.example/cb'];

/** Drops what was cached of it: what `clear` leaves for a busy database to fall back on would be the document of before. */
const settings = (row: Partial<EnvironmentRow>) => setEnvironment(service, row);
const api = shared(() => manage(service.url));
beforeEach(() => settings({ client_registration_policy: 'open', self_registered_client_limit: 10_000 }));

type Answer = { status: number; headers: Headers; body: Document };

async function register(metadata: object, token?: string): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const answer = await fetch(new URL('/oauth/register', service.url), { method: 'POST', headers, body: JSON.stringify(metadata) });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Document };
}
const rowOf = async (answer: Answer): Promise<ClientRow> => service.deps.db.knex('clients').where({ id: answer.body['client_id'] }).first();

async function token(attributes: object = {}): Promise<string> {
  const data = { type: 'registration_token', attributes: { name: 'Partner', ...attributes } };
  const { status, body } = await api.request('POST', '/registration_tokens', { body: { data } });
  expect(status).toBe(201);
  return body['data'].attributes.token as string;
}

test('a client that replaces its metadata while an administrator narrows or disables it keeps neither out (attack 68.1933)', async () => {
  const { knex } = service.deps.db;
  const ctx = await service.context();
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%"clients"%'`;
  for (const [narrow, status] of [
    [{ require_pkce: true, grant_types: ['authorization_code'], scopes: ['openid'] }, 200],
    [{ status: 'disabled' }, 401],
  ] as const) {
    const grant_types = ['authorization_code', 'refresh_token'];
    const registered = await register({ redirect_uris, grant_types, scope: 'openid email' });
    const { registration_client_uri, registration_access_token, client_id } = registered.body as Record<string, string>;
    const replacing = await transaction(ctx, async (tx) => {
      await changeClient(tx, await rowOf(registered), { ...narrow } as ClientInput);
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${registration_access_token}` };
      const body = JSON.stringify({ client_id, redirect_uris, grant_types, scope: 'openid email', client_name: 'Mine' });
      const answer = fetch(new URL(registration_client_uri ?? ''), { method: 'PUT', headers, body });
      await expect.poll(async () => (await knex.raw(waiting)).rows.length, { timeout: 30_000 }).toBe(1);
      return { answer };
    });
    expect((await replacing.answer).status).toBe(status);
    expect(await rowOf(registered)).toMatchObject(narrow);
    expect((await rowOf(registered)).name === 'Mine').toBe(status === 200);
  }
});

test('an administrator narrows a client that registered itself: its registration token gives none of it back (attacks 30.1096 and 63.1865)', async () => {
  const initial_token = await token({ grant_types: ['authorization_code', 'refresh_token', 'client_credentials'] });
  for (const initial of [undefined, initial_token]) {
    const grant_types = ['authorization_code', 'refresh_token'];
    const registered = await register({ redirect_uris, scope: 'openid email', grant_types }, initial);
    const { id } = await rowOf(registered);
    const change = (attributes: object) => api.update('clients', id, attributes);
    const replace = async (metadata: object = {}) => {
      const { registration_client_uri, registration_access_token } = registered.body as Record<string, string>;
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${registration_access_token}` };
      const body = JSON.stringify({ client_id: id, redirect_uris, grant_types, ...metadata });
      return (await fetch(new URL(registration_client_uri ?? ''), { method: 'PUT', headers, body })).status;
    };
    // What it chose itself it may take back, though a form has sent it along.
    expect(await replace({ scope: 'openid', dpop_bound_access_tokens: true })).toBe(200);
    expect((await change({ scopes: ['openid'], dpop_bound_access_tokens: true, description: 'Seen.' })).status).toBe(200);
    expect(await replace({ scope: 'openid profile' })).toBe(200);
    expect(await rowOf(registered)).toMatchObject({ scopes: ['openid', 'profile'], dpop_bound_access_tokens: false });
    const narrow = { scopes: ['openid'], grant_types: ['authorization_code'], dpop_bound_access_tokens: true };
    expect((await change({ ...narrow, require_pushed_authorization_requests: true })).status).toBe(200);
    expect(await replace()).toBe(200);
    expect(await rowOf(registered)).toMatchObject({ ...narrow, require_pushed_authorization_requests: true });
    expect(await replace({ scope: 'openid email' })).toBe(200);
    expect(await rowOf(registered)).toMatchObject(narrow);
    expect(await replace({ grant_types: [...grant_types, 'client_credentials'] })).toBe(400);
    expect((await change({ scopes: null, grant_types, dpop_bound_access_tokens: false })).status).toBe(200);
    expect(await replace({ scope: 'openid email' })).toBe(200);
    const guards = { dpop_bound_access_tokens: false, require_pushed_authorization_requests: true };
    expect(await rowOf(registered)).toMatchObject({ scopes: ['openid', 'email'], grant_types, ...guards });
    // What its metadata don't name, or name as they like (attack 63.1865).
    const types = { authorization_details_types: ['payment', 'account'] };
    expect(await replace(types)).toBe(200);
    expect(await rowOf(registered)).toMatchObject({ ...types, require_pkce: false });
    expect((await change({ require_pkce: true, authorization_details_types: ['account'] })).status).toBe(200);
    for (const metadata of [types, {}]) {
      expect(await replace(metadata)).toBe(200);
      const left = 'authorization_details_types' in metadata ? ['account'] : [];
      expect(await rowOf(registered)).toMatchObject({ require_pkce: true, authorization_details_types: left });
    }
    expect((await change({ require_pkce: false, ...types })).status).toBe(200);
    expect(await replace(types)).toBe(200);
    expect(await rowOf(registered)).toMatchObject({ ...types, require_pkce: false });
  }
});

describe('the policy', () => {
  test('off: 404; the boolean is its view, and true opens it', async () => {
    await settings({ client_registration_policy: 'off' });
    expect((await register({ redirect_uris })).status).toBe(404);
    const { id } = (await service.context()).environment;
    const change = async (attributes: object) =>
      (await api.request('PATCH', `/environments/${id}`, { body: { data: { type: 'environment', id, attributes } } })).body;
    expect((await change({ dynamic_registration_enabled: true }))['data'].attributes.client_registration_policy).toBe('open');
    const asked = await change({ client_registration_policy: 'initial_access_token' });
    expect(asked['data'].attributes).toMatchObject({ dynamic_registration_enabled: true });
    // What is read and written back changes nothing.
    expect((await change({ dynamic_registration_enabled: true }))['data'].attributes.client_registration_policy).toBe(
      'initial_access_token',
    );
    expect((await change({ dynamic_registration_enabled: false }))['data'].attributes.client_registration_policy).toBe('off');
    const refused = await change({ client_registration_policy: 'open', dynamic_registration_enabled: false });
    expect(refused['errors'][0]).toMatchObject({ status: '422', source: { pointer: '/data/attributes/dynamic_registration_enabled' } });
  });

  test('initial_access_token: 401 with a challenge without a good one, before anything is looked at', async () => {
    await settings({ client_registration_policy: 'initial_access_token' });
    for (const sent of [undefined, 'it_unknown', 'nonsense']) {
      const { status, headers, body } = await register({ redirect_uris: 7 }, sent);
      expect([status, body['error'], headers.get('www-authenticate')?.startsWith('Bearer ')]).toEqual([401, 'invalid_token', true]);
    }
    const answer = await register({ redirect_uris }, await token());
    expect([answer.status, (await rowOf(answer)).verified]).toEqual([201, false]);
  });

  test('discovery names the endpoint unless it is off', async () => {
    const named = async () =>
      'registration_endpoint' in ((await (await fetch(`${service.url}/.well-known/openid-configuration`)).json()) as object);
    await settings({ client_registration_policy: 'initial_access_token' });
    expect(await named()).toBe(true);
    await settings({ client_registration_policy: 'off' });
    expect(await named()).toBe(false);
  });
});

describe('an initial access token', () => {
  test('is shown once, with thirty days and one use', async () => {
    const made = await api.request('POST', '/registration_tokens', {
      body: { data: { type: 'registration_token', attributes: { name: 'Once' } } },
    });
    const { attributes, id } = made.body['data'];
    expect(attributes.token).toMatch(/^it_[\w-]{43}$/);
    expect(attributes).toMatchObject({
      max_uses: 1,
      use_count: 0,
      grant_types: ['authorization_code', 'refresh_token'],
      scopes: null,
      verified: false,
    });
    expect(new Date(attributes.expires_at).getTime() - new Date(attributes.created_at).getTime()).toBe(30 * 86_400_000);
    expect((await api.request('GET', `/registration_tokens/${id}`)).text).not.toContain('it_');
    const late = { name: 'Late', expires_at: new Date(service.clock.now().getTime() + 366 * 86_400_000).toISOString() };
    const refused = await api.request('POST', '/registration_tokens', { body: { data: { type: 'registration_token', attributes: late } } });
    expect(refused.body['errors'][0]).toMatchObject({ status: '422', source: { pointer: '/data/attributes/expires_at' } });
  });

  test('of one use registers one client of five at once (attack 30.528)', async () => {
    const one = await token();
    const statuses = (await Promise.all(Array.from({ length: 5 }, () => register({ redirect_uris }, one)))).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, 401, 401, 401, 401]);
  });

  test('is not spent by what is refused, and works no more once it is deleted or has expired', async () => {
    const one = await token({ max_uses: null, expires_at: new Date(service.clock.now().getTime() + 60_000).toISOString() });
    expect((await register({}, one)).status).toBe(400);
    const [row] = await service.deps.db.knex('registration_tokens').orderBy('created_at', 'desc').limit(1);
    expect(row.use_count).toBe(0);
    expect((await register({ redirect_uris }, one)).status).toBe(201);
    service.clock.advance(61_000);
    expect((await register({ redirect_uris }, one)).status).toBe(401);
    const other = await token({ max_uses: null });
    const [last] = await service.deps.db.knex('registration_tokens').orderBy('created_at', 'desc').limit(1);
    await api.request('DELETE', `/registration_tokens/${last.id}`);
    expect((await register({ redirect_uris }, other)).status).toBe(401);
  });

  test('gives what it lists, keeps to its scopes, and vouches for its clients, also when they change themselves', async () => {
    const one = await token({ grant_types: ['client_credentials', 'authorization_code'], scopes: ['openid', 'email'], verified: true });
    const answer = await register(
      { redirect_uris, grant_types: ['client_credentials', 'refresh_token', 'authorization_code'], scope: 'openid profile' },
      one,
    );
    expect(answer.body).toMatchObject({ grant_types: ['client_credentials', 'authorization_code'], scope: 'openid' });
    expect(await rowOf(answer)).toMatchObject({ verified: true, origin: 'registration', first_party: false });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${answer.body['registration_access_token'] as string}` };
    const body = JSON.stringify({
      client_id: answer.body['client_id'],
      redirect_uris,
      grant_types: ['client_credentials', 'authorization_code'],
    });
    const changed = await fetch(answer.body['registration_client_uri'] as string, { method: 'PUT', headers, body });
    expect(await changed.json()).toMatchObject({ grant_types: ['client_credentials', 'authorization_code'], scope: 'openid email' });
    expect((await rowOf(answer)).verified).toBe(true);
  });
});

describe('what a stranger gets', () => {
  test('the grants of a sign-in; what is not offered is dropped, and the answer says so', async () => {
    const grant_types = ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code', 'refresh_token', 'urn:example:unheard-of'];
    const answer = await register({ redirect_uris, grant_types });
    expect([answer.status, answer.body['grant_types']]).toEqual([201, ['authorization_code', 'refresh_token']]);
  });

  test.each(['client_credentials', 'urn:ietf:params:oauth:grant-type:token-exchange', 'urn:ietf:params:oauth:grant-type:jwt-bearer'])(
    '%s is refused without a token that lists it (attack 30.529)',
    async (grant) => {
      const { status, body } = await register({ redirect_uris, grant_types: ['authorization_code', grant] });
      expect([status, body['error']]).toEqual([400, 'invalid_client_metadata']);
    },
  );

  test('words of scope that are on offer; none of the Management API (attack 30.530)', async () => {
    await addResource(await service.context(), { identifier: 'https://notes.example' }, ['notes:read']);
    const answer = await register({ redirect_uris, scope: 'openid notes:read users:read nothing' });
    expect(answer.body['scope']).toBe('openid notes:read');
    expect((await rowOf(await register({ redirect_uris, scope: 'users:read' }))).scopes).toEqual([]);
  });

  test('neither first_party nor verified nor an id of its own (attack 30.553)', async () => {
    const pretended = {
      client_id: 'management',
      first_party: true,
      verified: true,
      origin: 'administrator',
      profile: 'fapi2',
      software_statement: 'x',
    };
    const answer = await register({ redirect_uris, ...pretended });
    expect(answer.body['client_id']).not.toBe('management');
    expect(await rowOf(answer)).toMatchObject({ first_party: false, verified: false, origin: 'registration' });
    const found = await api.request('GET', '/clients?filter[origin]=registration&filter[verified]=false&page[size]=100');
    expect((found.body['data'] as { id: string }[]).map(({ id }) => id)).toContain(answer.body['client_id']);
  });

  test.each([
    ['http://127.0.0.1:33418/cb'],
    ['http://[::1]/cb'],
    ['http://localhost:6274/oauth/callback'],
    ['cursor://anysphere.cursor-mcp/cb'],
  ])('%s makes it native, where it does not say', async (uri) => {
    const answer = await register({ redirect_uris: [uri], token_endpoint_auth_method: 'none' });
    expect([answer.status, answer.body['application_type']]).toEqual([201, 'native']);
    expect((await rowOf(answer)).allowed_origins).toEqual(uri.startsWith('http:') ? [new URL(uri).origin] : []);
  });

  test('the port of a loopback address is free, of each address for itself', async () => {
    const answer = await register({ redirect_uris: ['http://localhost/cb'], token_endpoint_auth_method: 'none' });
    const asks = async (redirect_uri: string) => {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: answer.body['client_id'] as string,
        redirect_uri,
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 'S256',
      });
      return (await fetch(`${service.url}/oauth/authorize?${query}`, { redirect: 'manual' })).status;
    };
    expect([
      await asks('http://localhost:49152/cb'),
      await asks('http://127.0.0.1:49152/cb'),
      await asks('http://localhost.evil.example/cb'),
    ]).toEqual([303, 400, 400]);
  });

  test('ten redirect URIs and 16 KiB at most', async () => {
    const many = Array.from({ length: 11 }, (_, index) => `https://app.example/${index}`);
    expect((await register({ redirect_uris: many })).body['error']).toBe('invalid_redirect_uri');
    expect((await register({ redirect_uris, padding: 'x'.repeat(17_000) })).status).toBe(413);
  });

  test('nothing once so many have come', async () => {
    await settings({ self_registered_client_limit: 1 });
    const answer = await register({ redirect_uris });
    expect([answer.status, answer.body['error'], answer.headers.has('retry-after')]).toEqual([429, 'rate_limited', true]);
  });
});

describe('clean-up', () => {
  const day = 86_400_000;
  const remains = async (answer: Answer) => (await rowOf(answer)) !== undefined;

  test('one that signed nobody in goes after a day, with an audit entry, and is then told to register anew', async () => {
    const [answer, verified] = [await register({ redirect_uris }), await register({ redirect_uris }, await token({ verified: true }))];
    const own = await addClient(await service.context());
    service.clock.advance(day - 60_000);
    await unusedClientPass(service.deps);
    expect(await remains(answer)).toBe(true);
    service.clock.advance(120_000);
    await unusedClientPass(service.deps);
    expect([await remains(answer), await remains(verified)]).toEqual([false, true]);
    expect(await service.deps.db.knex('clients').where({ id: own.id })).toHaveLength(1);
    const entry = await service.deps.db
      .knex('audit_logs')
      .where({ action: 'client.removed_unused', target_id: answer.body['client_id'] })
      .first();
    expect(entry).toMatchObject({ actor_kind: 'system', outcome: 'success' });
    const again = { id: answer.body['client_id'] as string, client_secret: answer.body['client_secret'] as string };
    const refused = await oauthPost(service.url, '/oauth/token', again, { grant_type: 'refresh_token', refresh_token: 'rt_x' });
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid_client']);
  });

  test('one that is allowed at the moment of the cleaning stays', async () => {
    const answer = await register({ redirect_uris });
    const ctx = await service.context();
    const user = await addUser(ctx);
    service.clock.advance(2 * day);
    const pass = await transaction(ctx, async (tx) => {
      const question = { user_id: user.id, client_id: answer.body['client_id'] as string, scopes: ['openid'], resource: null };
      await giveConsent(tx, question);
      const cleaning = unusedClientPass(service.deps);
      const waits = async () =>
        (await service.deps.db.knex.raw(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%from clients%'`))
          .rows.length;
      await expect.poll(waits).toBeGreaterThan(0);
      return { cleaning };
    });
    await pass.cleaning;
    expect(await remains(answer)).toBe(true);
  });

  test('one that somebody uses stays, and goes once nothing of it has been left for unused_client_lifetime', async () => {
    const answer = await register({ redirect_uris, grant_types: ['authorization_code', 'refresh_token'] });
    const ctx = await service.context();
    const user = await addUser(ctx);
    const browser = await signedIn(service, user);
    const client = { ...(await rowOf(answer)), client_secret: answer.body['client_secret'] as string };
    expect((await redeem(service.url, client, await allowCode(browser, client, { scope: 'openid' }))).status).toBe(200);
    await service.deps.db.knex('clients').where({ id: client.id }).update({ last_used_at: service.clock.now() });
    service.clock.advance(40 * day);
    await unusedClientPass(service.deps);
    expect(await remains(answer)).toBe(true);
    await service.deps.db.knex('consents').where({ client_id: client.id }).delete();
    await service.deps.db.knex('refresh_tokens').where({ client_id: client.id }).delete();
    await settings({ unused_client_lifetime: null });
    await unusedClientPass(service.deps);
    expect(await remains(answer)).toBe(true);
    await settings({ unused_client_lifetime: 2_592_000 });
    await unusedClientPass(service.deps);
    expect(await remains(answer)).toBe(false);
  });
});

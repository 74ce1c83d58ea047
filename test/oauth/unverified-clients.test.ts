// Clients that nobody vouches for: what people see of them, and what they reach.
import { beforeAll, describe, expect, test } from 'vitest';
import { updateApiResource, type ApiResourceRow } from '../../src/db/tables/api_resources.js';
import type { ClientRow } from '../../src/db/tables/clients.js';
import { digest } from '../../src/lib/digest.js';
import { addClient, addGrant, addResource, addUser, password, type TestClient } from '../support/data.js';
import { authorizeGet, authorizeQuery, expectRedirectError } from '../support/authorize.js';
import { Browser, csrfOf } from '../support/browser.js';
import { deviceCode, startDevice, typeUserCode } from '../support/device.js';
import { allowCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { manage, startManagedService, type Api } from '../support/management.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService(() => startManagedService());
let api: Api;
let open: ApiResourceRow;
let closed: ApiResourceRow;
let browser: Browser;

beforeAll(async () => {
  const ctx = await service.context();
  api = await manage(service.url);
  open = await addResource(ctx, { identifier: 'https://open.example', allow_unverified_clients: true });
  closed = await addResource(ctx, { identifier: 'https://closed.example' });
  const user = await addUser(ctx);
  browser = new Browser(service.url);
  await browser.login(user.email, password);
});

/** A client that registered itself. */
const arrive = async (row: Partial<ClientRow> = {}): Promise<TestClient> =>
  addClient(await service.context(), {
    name: 'Stranger',
    first_party: false,
    origin: 'registration',
    verified: false,
    registration_token_digest: digest('x'),
    ...row,
  });
const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' };
const page = async (client: TestClient, extra: Record<string, string> = {}) =>
  (await authorizeGet(browser, authorizeQuery(client, { ...challenge, ...extra }))).text();

describe('what it reaches', () => {
  test('an API resource that lets it in, and no other; verified, both (attack 30.554)', async () => {
    const client = await arrive();
    expect((await redeem(service.url, client, await allowCode(browser, client, { resource: open.identifier, scope: 'read' }))).status).toBe(
      200,
    );
    await expectRedirectError(service, client, 'invalid_target', () =>
      authorizeGet(browser, authorizeQuery(client, { resource: closed.identifier })),
    );
    const path = `/clients/${client.id}/verify`;
    expect((await api.request('PATCH', path)).body['data'].attributes).toMatchObject({ verified: true, origin: 'registration' });
    expect(
      (await redeem(service.url, client, await allowCode(browser, client, { resource: closed.identifier, scope: 'read' }))).status,
    ).toBe(200);
    expect(await service.deps.db.knex('audit_logs').where({ action: 'client.verified', target_id: client.id })).toHaveLength(1);
  });

  test('the Management API never, in any spelling, nor with a grant (attack 30.554)', async () => {
    const client = await arrive({ registration_token_digest: null });
    const [system] = (await service.deps.db.knex('api_resources').where({ is_system: true })) as [ApiResourceRow];
    await addGrant(await service.context(), client, system, ['users:read'], 'user');
    for (const resource of [`${service.url}/api`, `${service.url}/api/`, `${service.url.replace('http', 'HTTP')}/api`])
      await expectRedirectError(service, client, 'invalid_target', () => authorizeGet(browser, authorizeQuery(client, { resource })));
    expect((await api.request('PATCH', `/api_resources/${system.id}`, {
      body: { data: { type: 'api_resource', id: system.id, attributes: { allow_unverified_clients: true } } },
    })).status).toBe(403); // prettier-ignore
  });

  test('what it was granted counts for who vouches for it: that takes all of it, clients:write alone does not do (attack 30.900)', async () => {
    const ctx = await service.context();
    const [system] = (await service.deps.db.knex('api_resources').where({ is_system: true })) as [ApiResourceRow];
    const granted = await arrive({ grant_types: ['client_credentials'] });
    await addGrant(ctx, granted, system, ['users:write'], 'client');
    const plain = await arrive();
    const clientsAlone = await manage(service.url, 'clients:read clients:write');
    const refused = await clientsAlone.patch(`/clients/${granted.id}/verify`);
    expect([refused.status, refused.body['errors'][0]]).toMatchObject([
      403,
      { code: 'scope_escalation', meta: { required: ['users:write'] } },
    ]);
    expect(await service.deps.db.knex('clients').where({ id: granted.id }).first('verified')).toEqual({ verified: false });
    expect((await clientsAlone.patch(`/clients/${plain.id}/verify`)).status).toBe(200);
    const holder = await manage(service.url, 'clients:read clients:write users:write');
    expect((await holder.patch(`/clients/${granted.id}/verify`)).body['data'].attributes.verified).toBe(true);
    // Said as an attribute it is nobody's.
    const attributes = { verified: true };
    const { id } = await arrive();
    expect((await api.update('clients', id, attributes)).status).toBe(403);
  });

  test('nothing more once the API shuts it out: tokens in use, refresh, its own (attack 30.554)', async () => {
    const ctx = await service.context();
    const resource = await addResource(ctx, { identifier: 'https://fickle.example', allow_unverified_clients: true });
    const client = await arrive({ grant_types: ['authorization_code', 'refresh_token', 'client_credentials'] });
    await addGrant(ctx, client, resource);
    const machine = { grant_type: 'client_credentials', resource: resource.identifier };
    expect((await tokenRequest(service.url, client, machine)).status).toBe(200);
    const { body } = await redeem(service.url, client, await allowCode(browser, client, { resource: resource.identifier, scope: 'read' }));
    const active = async () => (await oauthPost(service.url, '/oauth/introspect', client, { token: body.access_token })).body['active'];
    expect(await active()).toBe(true);
    await updateApiResource(ctx.scope, resource.id, { allow_unverified_clients: false });
    ctx.cache.invalidate(ctx.environment.id, 'api_resources');
    expect(await active()).toBe(false);
    const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token as string };
    expect((await tokenRequest(service.url, client, refresh)).body.error).toBe('invalid_target');
    expect((await tokenRequest(service.url, client, machine)).body.error).toBe('invalid_target');
  });

  test('made first-party it is vouched for', async () => {
    const client = await arrive();
    const body = { data: { type: 'client', id: client.id, attributes: { first_party: true } } };
    expect((await api.request('PATCH', `/clients/${client.id}`, { body })).body['data'].attributes).toMatchObject({
      first_party: true,
      verified: true,
    });
  });
});

describe('its consent page', () => {
  test('says that nobody vouches for it, without logo and links, Cancel first', async () => {
    const html = await page(
      await arrive({
        logo_uri: 'https://evil.example/bank.svg',
        policy_uri: 'https://evil.example/policy',
        tos_uri: 'https://evil.example/terms',
      }),
    );
    expect(html).toContain('Not verified');
    expect(html).toMatch(/registered itself on \d{1,2} \w+ \d{4}/);
    expect(html).toContain('app.example');
    expect(html).not.toContain('evil.example');
    expect(html.indexOf('id="deny"')).toBeLessThan(html.indexOf('id="allow"'));
    const verified = await page(await arrive({ verified: true, policy_uri: 'https://known.example/policy' }));
    expect(verified).not.toContain('Not verified');
    expect(verified).toContain('https://known.example/policy');
  });

  test.each([
    ['<b>Bank</b>', '&lt;b&gt;Bank&lt;/b&gt;'],
    ['Bank\u202egro.live\u202c', 'Bank gro.live'],
    ['My\u200b \u0000Bank\n\n', 'My Bank'],
    ['x'.repeat(300), `${'x'.repeat(59)}…`],
    ['\u2066\u2069', 'An application'],
  ])('shows a name as text, short and in one direction: %j (attack 30.555)', async (name, shown) => {
    const html = await page(await arrive({ name: name.replaceAll('\0', '') }));
    expect(html).toContain(`Allow ${shown} to access your account?`);
    expect(html).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b]|<b>Bank/);
  });

  test('nor does any other page show more of it than its name as text', async () => {
    const client = await arrive({ name: 'Your\u202e Bank', logo_uri: 'https://evil.example/bank.svg' });
    const stranger = new Browser(service.url);
    const addresses = { state: 's', client_id: client.id };
    const sent = await authorizeGet(stranger, authorizeQuery(client, challenge));
    const login = sent.headers.get('location') as string;
    const return_to = new URL(login, service.url).searchParams.get('return_to') as string;
    const pages = {
      login,
      register: `/register?${new URLSearchParams({ return_to })}`,
      forgot: `/password/forgot?${new URLSearchParams({ return_to })}`,
      signed_out: `/oauth/logout?${new URLSearchParams(addresses)}`,
    };
    const seen: string[] = [];
    for (const [name, path] of Object.entries(pages)) {
      const html = await (await stranger.get(path)).text();
      if (html.includes('Your Bank')) seen.push(name);
      expect({ name, shown: /[\u202a-\u202e]|evil\.example/.exec(html) }).toEqual({ name, shown: null });
    }
    seen.push(...((await (await browser.get(pages.signed_out)).text()).includes('Your Bank') ? ['sign_out'] : []));
    expect(seen).toEqual(['login', 'register', 'forgot', 'signed_out', 'sign_out']);
    const answer = await authorizeGet(browser, authorizeQuery(client, { ...challenge, response_mode: 'form_post', prompt: 'none' }));
    expect(await answer.text()).toMatch(/<title>[^<]*Your Bank/);
  });

  test('is shown each time for what any program of the device could send (attack 30.556)', async () => {
    for (const uri of ['http://127.0.0.1:7000/cb', 'com.example.app:/cb']) {
      const client = await arrive({ application_type: 'native', redirect_uris: [uri] });
      expect(await page(client)).toContain('any program can claim this name');
      expect((await redeem(service.url, client, await allowCode(browser, client, { scope: 'openid email' }))).status).toBe(200);
      expect(await page(client)).toContain('Not verified');
      await expectRedirectError(service, client, 'consent_required', () =>
        authorizeGet(browser, authorizeQuery(client, { ...challenge, prompt: 'none' })),
      );
      // The person finds it, and can end it.
      expect(await service.deps.db.knex('consents').where({ client_id: client.id })).toMatchObject([{ scopes: [] }]);
    }
  });

  test('is remembered for a web application', async () => {
    const client = await arrive();
    await allowCode(browser, client, { scope: 'openid' });
    expect((await authorizeGet(browser, authorizeQuery(client, challenge))).status).toBe(303);
  });
});

describe('the page that asks for a device', () => {
  const onDevices = {
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    redirect_uris: [],
    grant_types: [deviceCode],
  } as const;
  const arriveOnDevice = (row: Partial<ClientRow> = {}) => arrive({ ...onDevices, redirect_uris: [], grant_types: [deviceCode], ...row });
  const asked = async (client: TestClient) => (await typeUserCode(browser, (await startDevice(service.url, client)).user_code)).text();

  test('says that nobody vouches for the application, without logo and links, Cancel first', async () => {
    const html = await asked(await arriveOnDevice({ name: 'Your\u202e Bank', logo_uri: 'https://evil.example/bank.svg' }));
    expect(html).toContain('Allow Your Bank to access your account?');
    expect(html).toContain('Not verified');
    expect(html).toMatch(/registered itself on \d{1,2} \w+ \d{4}/);
    expect(html).not.toContain('evil.example');
    expect(html.indexOf('id="deny"')).toBeLessThan(html.indexOf('id="allow"'));
    expect(await asked(await arriveOnDevice({ verified: true }))).not.toContain('Not verified');
  });

  test('is not come to for an API that does not let it in, nor for the Management API in any spelling (attack 30.554)', async () => {
    const client = await arriveOnDevice();
    for (const resource of [closed.identifier, `${service.url}/api`, `${service.url}/api/`]) {
      const { status, body } = await oauthPost(service.url, '/oauth/device_authorization', client, { resource });
      expect([status, body['error']]).toEqual([400, 'invalid_target']);
    }
    const { status } = await oauthPost(service.url, '/oauth/device_authorization', client, { resource: `${open.identifier}/` });
    expect(status).toBe(200);
  });
});

describe('the page of self-registered clients', () => {
  async function signedIn(): Promise<Browser> {
    const ctx = await service.context();
    const user = await addUser(ctx);
    const [role] = await ctx.db.knex('roles').where({ name: 'administrator', environment_id: ctx.environment.id });
    await ctx.db.knex('user_roles').insert({ environment_id: ctx.environment.id, user_id: user.id, role_id: role.id });
    const administrator = new Browser(service.url);
    await administrator.login(user.email, password);
    return administrator;
  }

  test('lets clients connect and stops that, lists who came, verifies and disables', async () => {
    const administrator = await signedIn();
    const [one, other] = [await arrive({ name: 'First\u202e comer' }), await arrive({ name: 'Second comer' })];
    const read = async () => (await administrator.get('/dashboard/self_registered_clients')).text();
    const html = await read();
    expect(html).toContain('First comer');
    const _csrf = csrfOf(html);
    const policy = async () => (await service.deps.db.knex('environments').where({ is_default: true }).first()).client_registration_policy;
    expect(await policy()).toBe('off');
    expect((await administrator.post('/dashboard/self_registered_clients', { _csrf, connect: 'on' })).status).toBe(303);
    expect([await policy(), (await read()).includes('Stop letting MCP clients connect')]).toEqual(['open', true]);
    await administrator.post('/dashboard/self_registered_clients', { _csrf, connect: 'off' });
    expect(await policy()).toBe('off');
    await administrator.post(`/dashboard/self_registered_clients/${one.id}/verify`, { _csrf });
    await administrator.post(`/dashboard/self_registered_clients/${other.id}/disable`, { _csrf });
    const rows = await service.deps.db.knex('clients').whereIn('id', [one.id, other.id]).orderBy('created_at').select('verified', 'status');
    expect(rows).toEqual([
      { verified: true, status: 'enabled' },
      { verified: false, status: 'disabled' },
    ]);
    expect((await administrator.post(`/dashboard/self_registered_clients/${one.id}/erase`, { _csrf })).status).toBe(404);
    expect((await administrator.post(`/dashboard/self_registered_clients/${one.id}/disable`, {})).status).toBe(403);
  });
});

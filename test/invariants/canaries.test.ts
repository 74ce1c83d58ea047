import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { providerSecretAad as connectionPlace } from '../../src/domain/connections/connections.js';
import type { Context } from '../../src/domain/context.js';
import { webhookSecretAad as webhookPlace } from '../../src/domain/webhooks/secrets.js';
import { createPasswordHasher } from '../../src/domain/passwords/passwords.js';
import { Browser, csrfOf } from '../support/browser.js';
import { Canaries, dumpOf } from '../support/canaries.js';
import type { Aad } from '../../src/lib/seal.js';
import { startCollector, type CollectorUnderTest } from '../support/collector.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { manage, managementClient, secondEnvironment, startManagedService, type Api, type Document } from '../support/management.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { addClient, type TestClient } from '../support/data.js';
import { answerDevice, deviceCode, pollDevice, startDevice } from '../support/device.js';
import type { TestService } from '../support/service.js';
import { loginThrough } from '../support/sso.js';
import { startUpstreamOidc, type UpstreamOidc } from '../support/upstream-oidc.js';
import { providerSecret } from '../support/connections.js';
import { eventually, quick } from '../support/webhooks.js';

let service: TestService;
let ctx: Context;
let receiver: Receiver;
let collector: CollectorUnderTest;
let upstream: UpstreamOidc;
let api: Api;
const canaries = new Canaries();
const keep = (name: string, value: unknown) => canaries.keep(name, value);
const email = 'canary@example.com';

type Created = { id: string; attributes: Document };

async function register(browser: Browser): Promise<void> {
  const post = async (path: string, body: object) => (await (await browser.postJson(path, body)).json()) as Record<string, unknown>;
  const { registration_id } = await post('/register', { email });
  await post('/register/verify', { registration_id, code: keep('wrong code', '000001') });
  const code = keep('registration code', codeIn(await lastMailTo(service.url, email)));
  const proven = await post('/register/verify', { registration_id, code });
  const registration_token = keep('registration token', proven['registration_token']);
  const password = keep('first password', 'the first canary sings at dawn');
  await post('/register/complete', { registration_token, first_name: 'Ca', last_name: 'Nary', password });
  keep('session cookie after registration', browser.cookies.get('idp_session'));
}

async function signIn(password: string, name: string): Promise<Browser> {
  const browser = new Browser(service.url);
  const page = await (await browser.get('/login')).text();
  keep(`CSRF cookie of ${name}`, browser.cookies.get('idp_csrf'));
  const wrong = keep(`wrong password of ${name}`, `not the canary of ${name}`);
  await browser.post('/login', { _csrf: keep(`CSRF token of ${name}`, csrfOf(page)), email, password: wrong });
  // A password typed into the wrong field is one all the same.
  await browser.post('/login', {
    _csrf: csrfOf(page),
    email: keep(`password as address of ${name}`, `canary-as-address-${name}`),
    password: wrong,
  });
  expect((await browser.login(email, password)).status).toBe(303);
  keep(`session cookie of ${name}`, browser.cookies.get('idp_session'));
  return browser;
}

async function useTokens(browser: Browser, client: TestClient): Promise<void> {
  for (const format of ['opaque', 'jwt']) {
    const grant = await authorizeCode(browser, client, {
      scope: 'openid email offline_access',
      state: keep(`state ${format}`, `state-canary-${format}`),
    });
    keep(`code ${format}`, grant.code);
    keep(`verifier ${format}`, grant.verifier);
    const { body } = await redeem(service.url, client, grant);
    for (const name of ['access_token', 'refresh_token', 'id_token'] as const) keep(`${name} ${format}`, body[name]);
    const refreshed = await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '' });
    keep(`refreshed access_token ${format}`, refreshed.body.access_token);
    for (const token of [body.access_token, body.refresh_token ?? '', body.id_token ?? '']) {
      await oauthPost(service.url, '/oauth/introspect', client, { token });
      await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });
      await fetch(`${service.url}/oauth/userinfo?access_token=${encodeURIComponent(token)}`);
      await fetch(`${service.url}/api/users`, { headers: { authorization: `Bearer ${token}` } });
    }
    await browser.get(`/oauth/logout?id_token_hint=${body.id_token}&client_id=other`);
    await redeem(service.url, client, grant);
    await oauthPost(service.url, '/oauth/revoke', client, { token: body.refresh_token ?? '' });
    await api.update('clients', client.id, { access_token_format: 'jwt' });
  }
  await oauthPost(service.url, '/oauth/token', null, {
    client_id: client.id,
    client_secret: keep('wrong secret', 'cs_wrong-secret-canary'),
  });
  await fetch(
    `${service.url}/oauth/token?client_id=${client.id}&client_secret=${keep('secret in the query', 'cs_secret-in-the-query-canary')}`,
    { method: 'POST' },
  );
}

async function connectDevice(browser: Browser): Promise<void> {
  const tv = await addClient(ctx, { token_endpoint_auth_method: 'none', grant_types: [deviceCode, 'refresh_token'] });
  const { device_code, user_code, verification_uri_complete } = await startDevice(service.url, tv);
  keep('device code', device_code);
  keep('user code', user_code);
  keep('user code as it is kept', user_code.replace('-', ''));
  await new Browser(service.url).get(verification_uri_complete);
  await pollDevice(service.url, tv, device_code);
  await answerDevice(browser, user_code);
  const { body } = await pollDevice(service.url, tv, device_code);
  for (const name of ['access_token', 'refresh_token', 'id_token'] as const) keep(`${name} of a device`, body[name]);
  await pollDevice(service.url, tv, device_code);
  await answerDevice(browser, user_code).catch(() => null);
}

async function recover(browser: Browser): Promise<void> {
  const { reset_id } = (await (await browser.postJson('/password/forgot', { email })).json()) as { reset_id: string };
  const mail = await lastMailTo(service.url, email);
  const code = keep('reset code', codeIn(mail));
  const link = new URL(/http\S+\/password\/reset\?\S+/.exec(mail.text)?.[0] ?? '');
  keep('reset link', link.searchParams.get('code'));
  await browser.get(link.pathname + link.search);
  await browser.postJson('/password/reset', { reset_id, code, password: keep('refused password', 'can4ry') });
  const password = keep('second password', 'the second canary sings at noon');
  expect((await browser.postJson('/password/reset', { reset_id, code, password })).status).toBe(200);
  const again = await signIn(password, 'recovery');
  const change = { current_password: password, password: keep('third password', 'the third canary sings at dusk') };
  expect((await again.postJson('/account/password', change)).status).toBe(200);
}

async function administer(): Promise<{ client: TestClient; webhook: Created; connection: Created }> {
  const hook = { name: 'Canary', url: `${receiver.url}/hook`, events: ['*', 'token.issued'] };
  const webhook = (await api.create('webhooks', hook)) as Created;
  keep('signing secret', webhook.attributes['signing_secret']);
  const rotated = await api.patch(`/webhooks/${webhook.id}/rotate_secret`);
  keep('rotated signing secret', rotated.body['data'].attributes.signing_secret);

  const attributes = {
    name: 'Canary',
    application_type: 'web',
    redirect_uris: ['https://app.example/cb'],
    grant_types: ['authorization_code', 'refresh_token'],
    first_party: true,
  };
  const data = { type: 'client', attributes };
  // What a repeated request is answered with is kept for a day, secrets and all.
  const created = [
    await api.post('/clients', { data }, { 'idempotency-key': 'canary-1' }),
    await api.post('/clients', { data }, { 'idempotency-key': 'canary-1' }),
  ];
  const [client] = created.map((answer) => answer.body['data'] as Created) as [Created, Created];
  keep('client secret', client.attributes['client_secret']);
  const again = await api.patch(`/clients/${client.id}/rotate_secret`);
  const client_secret = keep('rotated client secret', again.body['data'].attributes.client_secret);

  keep('provider secret', providerSecret);
  const provider = {
    name: 'canary',
    display_name: 'Canary',
    strategy: 'oidc',
    provider_client_id: 'the-service',
    provider_client_secret: providerSecret,
    signals_token: keep('signals token', 'a canary in the stream of signals'),
    issuer: upstream.issuer,
  };
  const connection = (await api.create('connections', provider)) as Created;
  const imported = { email: 'imported@example.com', password: keep('password set by an administrator', 'a canary in the coal mine') };
  await api.create('users', imported);
  return { client: { ...attributes, id: client.id, client_secret } as unknown as TestClient, webhook, connection };
}

async function signInThrough(connection: Created): Promise<void> {
  const browser = new Browser(service.url);
  expect((await loginThrough(browser, connection)).status).toBe(303);
  keep('session cookie of the provider', browser.cookies.get('idp_session'));
  keep('cookie of the flow', browser.cookies.get('idp_sso'));
  for (const request of upstream.requests) {
    const state = new URL(request.split(' ')[1] ?? '', upstream.issuer).searchParams.get('state');
    if (state !== null) keep('state for the provider', state);
  }
}

async function registerClientItself(): Promise<void> {
  await api.update('environments', ctx.environment.id, { dynamic_registration_enabled: true });
  const response = await fetch(`${service.url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['https://self.example/cb'], client_name: 'Self' }),
  });
  const body = (await response.json()) as Record<string, unknown>;
  expect(response.status).toBe(201);
  keep('secret of a registered client', body['client_secret']);
  keep('registration access token', body['registration_access_token']);
}

beforeAll(async () => {
  receiver = await startReceiver(500);
  collector = await startCollector();
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  service = await startManagedService({ ...quick, ...traced, LOG_LEVEL: 'trace' }, { overrides: { passwords: createPasswordHasher() } });
  ctx = await service.context();
  upstream = await startUpstreamOidc({
    callback: `${service.url}/auth/sso/callback`,
    account: { sub: 'upstream', email: 'sso-canary@example.com', email_verified: true, name: 'Up Stream' },
  });
  keep('secret of the management client', managementClient.client_secret);
  keep('SECRET_KEY', service.secretKey);
  api = await manage(service.url);
  keep('management token', api.token);
  const { client, webhook, connection } = await administer();
  await register(new Browser(service.url));
  const browser = await signIn(canaries.values.get('first password') ?? '', 'login');
  await useTokens(browser, client);
  await connectDevice(browser);
  await recover(browser);
  await signInThrough(connection);
  await registerClientItself();
  await api.patch(`/webhooks/${webhook.id}/rotate_secret`);
  await receiver.until(
    (posts) => posts.some(({ body }) => body.includes('user.password_changed')) && posts.some(({ body }) => body.includes('token.issued')),
  );
  await eventually(async () => {
    const [row] = await service.deps.db.knex('webhook_delivery_attempts').count('* as count');
    return Number(row?.['count']) > 10;
  });
}, 120_000);

afterAll(async () => {
  await service?.stop();
  await receiver?.close();
  await collector?.close();
  await upstream?.close();
});

describe('secrets stay where they belong', () => {
  test('the search finds what is there', async () => {
    const own = new Canaries();
    own.keep('clear', 'a secret "in clear" %');
    const hex = Buffer.from('a secret "in clear" %').toString('hex');
    for (const text of [
      'x a secret "in clear" % x',
      '{"a":"a secret \\"in clear\\" %"}',
      'a=a%20secret%20%22in%20clear%22%20%25',
      `\\x${hex}`,
    ]) {
      expect(own.foundIn(text)).toEqual(['clear']);
    }
    expect(own.foundIn('a secret')).toEqual([]);
    expect((await dumpOf(service.deps.db.knex)).some(({ table, text }) => table === 'users' && text.includes(email))).toBe(true);
    expect(canaries.values.size).toBeGreaterThan(40);
  });

  test('no log line holds a secret (attack 21.226)', () => {
    expect(service.log.length).toBeGreaterThan(50);
    const leaks = service.log.flatMap((line) => canaries.foundIn(line).map((name) => `${name}: ${line.slice(0, 300)}`));
    expect(leaks).toEqual([]);
  });

  test('no span holds a secret, an address of mail or the id of a person (attack 35.773)', async () => {
    await eventually(async () => collector.spans.some(({ name }) => name === 'POST /oauth/revoke'));
    await eventually(async () => collector.spans.some(({ name }) => name === 'webhook attempt'));
    expect(collector.spans.length).toBeGreaterThan(200);
    const people = (await service.deps.db.knex('users').select('id', 'email')) as { id: string; email: string }[];
    const all = Buffer.concat(collector.bodies).toString('latin1');
    expect(canaries.foundIn(all)).toEqual([]);
    for (const { id, email: address } of people) for (const word of [id, address]) expect(all).not.toContain(word);
    const { pathname } = new URL(upstream.issuer);
    for (const word of ['/hook', 'state=', 'code=', ...(pathname === '/' ? [] : [pathname])]) expect(all).not.toContain(word);
  });

  test('no webhook payload holds a secret, token.issued neither (attack 16.202)', () => {
    expect(receiver.posts.flatMap((post) => canaries.foundIn(post.body + JSON.stringify(post.rawHeaders)))).toEqual([]);
    const types = new Set(receiver.posts.map((post) => (JSON.parse(post.body) as { event: string }).event));
    for (const type of [
      'token.issued',
      'user.registered',
      'user.password_reset',
      'user.password_changed',
      'client.registered',
      'client.updated',
    ])
      expect([...types]).toContain(type);
  });

  test('no row of any table holds a secret in clear (attack 21.228)', async () => {
    const rows = await dumpOf(service.deps.db.knex);
    expect(rows.flatMap(({ table, text }) => canaries.foundIn(text).map((name) => `${table}: ${name}`))).toEqual([]);
  });

  test('passwords are argon2id of the agreed cost; private keys are not in clear (attack 21.228)', async () => {
    const users = (await service.deps.db.knex('users').whereNotNull('password_hash').select('password_hash')) as {
      password_hash: string;
    }[];
    expect(users.length).toBeGreaterThan(1);
    for (const { password_hash } of users) expect(password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,(t=2,p=1|p=1,t=2)\$/);
    const keys = (await service.deps.db.knex('signing_keys').select('public_jwk', 'private_sealed')) as {
      public_jwk: object;
      private_sealed: Buffer;
    }[];
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      expect(Object.keys(key.public_jwk).filter((name) => ['d', 'p', 'q', 'dp', 'dq', 'qi'].includes(name))).toEqual([]);
      expect(key.private_sealed.toString('latin1')).not.toContain('"d"');
    }
  });

  test('no later answer of the Management API shows a secret (attacks 14.166 and 15.178)', async () => {
    const collections = [
      'users',
      'clients',
      'webhooks',
      'webhook_deliveries',
      'connections',
      'sessions',
      'signing_keys',
      'audit_logs',
      'client_grants',
      'environments',
    ];
    for (const collection of collections) {
      const answer = await api.get(`/${collection}?page[size]=100`);
      expect([collection, answer.status]).toEqual([collection, 200]);
      expect([collection, canaries.foundIn(answer.text)]).toEqual([collection, []]);
      expect(answer.text).not.toMatch(/argon2|_digest|_sealed|"password_hash"/);
      for (const { id } of (answer.body['data'] as { id: string }[]).slice(0, 3)) {
        expect(canaries.foundIn((await api.get(`/${collection}/${id}`)).text)).toEqual([]);
      }
    }
  });

  test('what is sealed for one row opens for no other, in this environment or another (attack 21.229)', async () => {
    const other = await secondEnvironment(api);
    await other.api.create('webhooks', { name: 'Other', url: `${receiver.url}/other`, events: ['*'] });
    await other.api.create('connections', {
      name: 'other',
      display_name: 'Other',
      strategy: 'oidc',
      provider_client_id: 'x',
      provider_client_secret: 'x'.repeat(20),
      issuer: upstream.issuer,
    });
    const sealed: { aad: Aad; value: Buffer; environment_id: string }[] = [];
    const collect = async (name: string, column: string, key: string, aadOf: (id: string) => Aad) => {
      const rows = (await service.deps.db.knex(name).whereNotNull(column).select('environment_id', column, key)) as Record<
        string,
        unknown
      >[];
      for (const row of rows)
        sealed.push({ aad: aadOf(row[key] as string), value: row[column] as Buffer, environment_id: row['environment_id'] as string });
    };
    await collect('webhooks', 'secret_sealed', 'id', webhookPlace);
    await collect('connections', 'provider_client_secret_sealed', 'id', connectionPlace);
    await collect('connections', 'signals_token_sealed', 'id', connectionPlace);
    await collect('signing_keys', 'private_sealed', 'kid', (kid) => `signing_keys/${kid}`);
    expect(sealed.length).toBeGreaterThanOrEqual(6);
    expect(new Set(sealed.map(({ environment_id }) => environment_id)).size).toBe(2);
    for (const one of sealed) {
      expect(ctx.crypto.sealer.open(one.value, one.aad)).not.toBe('');
      for (const { aad } of sealed.filter((another) => another.aad !== one.aad))
        expect(() => ctx.crypto.sealer.open(one.value, aad)).toThrow('can not be opened');
    }
  });
});

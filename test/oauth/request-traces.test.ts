// Why a request was refused is found under its request id (specification 15.10).
import { beforeEach, expect, test } from 'vitest';
import { flushRequestTraces } from '../../src/domain/request-traces/request-traces.js';
import { janitorPass } from '../../src/jobs/janitor.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { randomToken } from '../../src/lib/random.js';
import { csrfOf, locationParameters, pkcePair, type Browser } from '../support/browser.js';
import { addClient, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { Api, manage, managementToken, secondEnvironment, type Document } from '../support/management.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { answerDevice, deviceCode, pollDevice, startDevice } from '../support/device.js';
import { findTrace } from '../support/request-traces.js';
import { requestXml, sendRequest } from '../support/saml-application.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedManagedService();
let client: TestClient;
let user: UserRow;
let browser: Browser;

const ctx = contextOf(service);
const api = shared(() => manage(service.url));
beforeEach(async () => {
  [client, user] = [await addClient(ctx), await addUser(ctx)];
  browser = await signedIn(service, user);
});

const only = async (...permissions: string[]) =>
  new Api(service.url, await managementToken(service.url, undefined, { scope: permissions.join(' ') }));

async function traceOf(answer: { headers: Headers }, by = api): Promise<Document> {
  const found = await findTrace(service, by, answer.headers.get('x-request-id'));
  expect([found.status, found.text]).toEqual([200, expect.any(String)]);
  return (found.body['data'] as Document)['attributes'] as Document;
}

const authorize = (parameters: Record<string, string> = {}, by = browser) => {
  const { challenge } = pkcePair();
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
  const fixed = { response_type: 'code', client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', scope: 'openid' };
  return by.get(`/oauth/authorize?${new URLSearchParams({ ...fixed, ...pkce, ...parameters }).toString()}`);
};

test('a redirect URI that is not registered: received beside registered', async () => {
  const answer = await authorize({ redirect_uri: 'https://app.example/callback?token=abc' });
  expect(answer.status).toBe(400);
  const trace = await traceOf(answer);
  expect(trace).toMatchObject({ step: 'authorize', outcome: 'refused', rule: 'redirect_uri_mismatch', error: 'invalid_redirect_uri' });
  expect(trace['steps']).toEqual([
    {
      at: trace['occurred_at'],
      step: 'authorize',
      outcome: 'refused',
      rule: 'redirect_uri_mismatch',
      detail: {
        client_id: client.id,
        redirect_uri: 'https://app.example/callback?token=...',
        registered_redirect_uris: ['https://app.example/cb'],
        scope: ['openid'],
      },
      request_id: answer.headers.get('x-request-id'),
    },
  ]);
  const found = (await api.get(`/request_traces?filter[client]=${client.id}&include=client`)).body;
  expect([found['data'].length, found['included'][0].id]).toEqual([1, client.id]);
});

test.for([
  ['an unknown client', { client_id: 'nobody' }, 'unknown_client', 'invalid_client'],
  ['a client without the grant', { resource: 'https://closed.example' }, 'no_client_grant', 'invalid_target'],
  ['an unknown API', { resource: 'https://nowhere.example' }, 'unknown_resource', 'invalid_target'],
  ['a method of PKCE that is not offered', { code_challenge_method: 'plain' }, 'malformed_request', 'invalid_request'],
  ['a silent request that takes a sign-in', { prompt: 'none', max_age: '0' }, 'sign_in_required', 'login_required'],
] as const)('at the authorization endpoint: %s', async ([, parameters, rule, error]) => {
  if ('resource' in parameters && parameters.resource === 'https://closed.example')
    await addResource(ctx, { identifier: parameters.resource, user_access: 'granted' });
  const trace = await traceOf(await authorize(parameters));
  expect([trace['step'], trace['rule'], trace['error'], trace['outcome']]).toEqual(['authorize', rule, error, 'refused']);
});

test('a scope that is left out of a request that goes on', async () => {
  const answer = await authorize({ scope: 'openid notes:read offline_access' });
  expect(locationParameters(answer).get('code')).toMatch(/^ac_/);
  const trace = await traceOf(answer);
  expect([trace['outcome'], trace['rule'], trace['error']]).toEqual(['narrowed', 'unknown_scope', null]);
  expect(trace['steps'][0].detail.scopes).toEqual([
    { name: 'openid', rule: 'granted' },
    { name: 'notes:read', rule: 'unknown_scope' },
    { name: 'offline_access', rule: 'granted' },
  ]);
});

test('what goes well leaves no trace', async () => {
  const before = (await service.deps.db.knex('request_traces').count())[0];
  const grant = await authorizeCode(browser, client);
  expect((await redeem(service.url, client, grant)).status).toBe(200);
  await flushRequestTraces(service.deps);
  expect((await service.deps.db.knex('request_traces').count())[0]).toEqual(before);
});

test('a refusal at the token endpoint is told from the authorization on, joined by the code', async () => {
  const { code, redirect_uri } = await authorizeCode(browser, client, { scope: 'openid email' });
  const wrong = await redeem(service.url, client, { code, redirect_uri, verifier: pkcePair().verifier });
  expect(wrong.status).toBe(400);
  const { steps, rule } = await traceOf(wrong);
  expect(rule).toBe('pkce_failed');
  expect(steps).toMatchObject([
    { step: 'authorize', outcome: 'accepted', rule: null, detail: { client_id: client.id, redirect_uri, scope: ['openid', 'email'] } },
    { step: 'token', outcome: 'refused', rule: 'pkce_failed', detail: { grant_type: 'authorization_code' } },
  ]);
  // By the id of the authorization as well.
  const found = (await api.get(`/request_traces?filter[request_id]=${steps[0].request_id}`)).body['data'] as Document[];
  expect(found.map(({ id }) => id)).toEqual([wrong.headers.get('x-request-id')]);
});

test('a refusal of a device is told from its start on, and with what its person answered', async () => {
  const tv = await addClient(ctx, { redirect_uris: [], grant_types: [deviceCode] });
  const from = { 'x-request-id': 'device-began' };
  const started = await startDevice(service.url, tv, { scope: 'openid' }, from);
  const early = await traceOf(await pollDevice(service.url, await addClient(ctx, { grant_types: [deviceCode] }), started.device_code));
  expect(early['steps']).toMatchObject([
    {
      step: 'device_authorization',
      outcome: 'accepted',
      rule: null,
      detail: { client_id: tv.id, scope: ['openid'] },
      request_id: 'device-began',
    },
    { step: 'token', outcome: 'refused', rule: 'of_another_client', detail: { grant_type: deviceCode } },
  ]);
  await answerDevice(browser, started.user_code, 'deny');
  const denied = await pollDevice(service.url, tv, started.device_code);
  const trace = await traceOf(denied);
  expect([trace['rule'], trace['error']]).toEqual(['consent_denied', 'access_denied']);
  expect((trace['steps'] as Document[]).map(({ step, outcome, rule }) => `${step} ${outcome} ${rule}`)).toEqual([
    'device_authorization accepted null',
    'consent refused consent_denied',
    'token refused consent_denied',
  ]);
  const found = (await api.get('/request_traces?filter[request_id]=device-began')).body['data'] as Document[];
  expect(found.map(({ id }) => id)).toContain(denied.headers.get('x-request-id'));
});

test('tokens that say less than was granted leave a trace: the client is let in to less since then, or the person holds less', async () => {
  const resource = await addResource(ctx, { identifier: 'https://less.example', user_access: 'granted' });
  await addGrant(ctx, client, resource, ['read', 'write'], 'user');
  const let_in = async (scopes: string[]) => {
    await service.deps.db.knex('client_grants').where({ client_id: client.id, subject_type: 'user' }).update({ scopes });
    ctx.cache.invalidate(ctx.environment.id, 'client_grants');
  };
  const wanted = { scope: 'openid read write offline_access', resource: resource.identifier };
  const { body, headers } = await redeem(service.url, client, await authorizeCode(browser, client, wanted));
  await flushRequestTraces(service.deps);
  expect((await api.get(`/request_traces/${headers.get('x-request-id')}`)).status).toBe(404);
  const late = await authorizeCode(browser, client, wanted);
  await let_in(['read']);
  const rulings = [
    { name: 'openid', rule: 'granted' },
    { name: 'read', rule: 'granted' },
    { name: 'write', rule: 'not_in_client_grant' },
    { name: 'offline_access', rule: 'granted' },
  ];
  const narrowed = await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token: body.refresh_token as string });
  const redeemed = await redeem(service.url, client, late);
  for (const answer of [narrowed, redeemed]) {
    expect([answer.status, answer.body['scope']]).toEqual([200, 'openid read offline_access']);
    const trace = await traceOf(answer);
    expect([trace['outcome'], trace['rule'], trace['error'], trace['step']]).toEqual(['narrowed', 'not_in_client_grant', null, 'token']);
    expect((trace['steps'] as Document[]).at(-1)?.['detail'].scopes).toEqual(rulings);
  }
  expect((await traceOf(redeemed))['steps']).toHaveLength(2);
  // A refresh that asks for less gets what it asks for: nothing was dropped.
  const asked = { grant_type: 'refresh_token', refresh_token: narrowed.body.refresh_token as string, scope: 'openid' };
  const less = await tokenRequest(service.url, client, asked);
  await flushRequestTraces(service.deps);
  expect([less.status, (await api.get(`/request_traces/${less.headers.get('x-request-id')}`)).status]).toEqual([200, 404]);
  const held = await addResource(ctx, { identifier: 'https://held.example', user_scopes: 'held' });
  const [role] = [await api.create('roles', { name: 'Holder' })];
  const [permission] = await service.deps.db.knex('permissions').where({ api_resource_id: held.id, name: 'read' });
  await service.deps.db.knex('role_permissions').insert({ environment_id: ctx.environment.id, role_id: role['id'], permission_id: (permission as { id: string }).id }); // prettier-ignore
  await service.deps.db.knex('user_roles').insert({ environment_id: ctx.environment.id, user_id: user.id, role_id: role['id'] });
  const holding = await redeem(
    service.url,
    client,
    await authorizeCode(browser, client, { scope: 'openid read', resource: held.identifier }),
  );
  await service.deps.db.knex('user_roles').where({ user_id: user.id }).delete();
  const unheld = await tokenRequest(service.url, client, {
    grant_type: 'refresh_token',
    refresh_token: holding.body.refresh_token as string,
  });
  expect([unheld.status, (await traceOf(unheld))['rule']]).toEqual([200, 'permission_not_held']);
});

test.for([
  ['another redirect URI', 'redirect_uri_changed', { redirect_uri: 'https://app.example/other' }],
  ['another resource', 'beyond_authorization', { resource: 'https://api.example/notes' }],
] as const)('a code with %s', async ([, rule, fields]) => {
  const trace = await traceOf(await redeem(service.url, client, await authorizeCode(browser, client), fields));
  expect([trace['rule'], trace['steps'].length]).toEqual([rule, 2]);
  if (rule === 'redirect_uri_changed') expect(trace['steps'][1].detail.redirect_uri).toBe('https://app.example/other');
});

test('a code that is used twice, one that came too late, and one that nobody issued', async () => {
  const grant = await authorizeCode(browser, client);
  await redeem(service.url, client, grant);
  expect((await traceOf(await redeem(service.url, client, grant)))['rule']).toBe('code_reused');
  const late = await authorizeCode(browser, client);
  await service.deps.db
    .knex('authorization_codes')
    .whereNull('redeemed_at')
    .update({ expires_at: new Date(0) });
  expect((await traceOf(await redeem(service.url, client, late)))['rule']).toBe('code_expired');
  const unknown = await redeem(service.url, client, { ...late, code: randomToken('ac_') });
  expect((await traceOf(unknown))['rule']).toBe('code_unknown');
});

test('a client that fails to prove itself: known, unknown, disabled', async () => {
  const fields = { grant_type: 'client_credentials', resource: 'https://x.example' };
  const wrong = await tokenRequest(service.url, { id: client.id, client_secret: 'wrong' }, fields);
  expect(await traceOf(wrong)).toMatchObject({ rule: 'client_authentication_failed', error: 'invalid_client' });
  expect((await api.get(`/request_traces/${wrong.headers.get('x-request-id')}/client`)).body['data'].id).toBe(client.id);
  const unknown = await traceOf(await tokenRequest(service.url, { id: 'nobody-at-all', client_secret: 'wrong' }, fields));
  expect(unknown['rule']).toBe('unknown_client');
  const off = await addClient(ctx, { status: 'disabled' });
  const disabled = await tokenRequest(service.url, off, fields);
  // The answer is the same as for an unknown one.
  expect([disabled.status, disabled.body.error]).toEqual([401, 'invalid_client']);
  expect((await traceOf(disabled))['rule']).toBe('client_disabled');
});

test('a client’s own token: the API without a grant, and a scope beyond it', async () => {
  const resource = await addResource(ctx, { identifier: 'https://own.example' });
  const machine = await addClient(ctx, { grant_types: ['client_credentials'] });
  const fields = { grant_type: 'client_credentials', resource: resource.identifier };
  expect((await traceOf(await tokenRequest(service.url, machine, fields)))['rule']).toBe('no_client_grant');
  await addGrant(ctx, machine, resource, ['read']);
  const trace = await traceOf(await tokenRequest(service.url, machine, { ...fields, scope: 'read write dance' }));
  expect([trace['rule'], trace['steps'][0].detail.scopes]).toEqual([
    'not_in_client_grant',
    [
      { name: 'read', rule: 'granted' },
      { name: 'write', rule: 'not_in_client_grant' },
      { name: 'dance', rule: 'unknown_scope' },
    ],
  ]);
  // What the answer says of the client's other grants isn't kept.
  expect(JSON.stringify(trace)).not.toContain('has grants for');
});

test('a person who says no, and a pushed request that is refused', async () => {
  const asking = await addClient(ctx, { first_party: false });
  const html = await (await authorize({ client_id: asking.id })).text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const no = await browser.post('/oauth/consent', { _csrf: csrfOf(html), request, decision: 'deny' });
  expect(await traceOf(no)).toMatchObject({ step: 'consent', rule: 'consent_denied', error: 'access_denied' });
  const pushed = await oauthPost(service.url, '/oauth/par', client, { response_type: 'code', redirect_uri: 'https://evil.example/' });
  expect(await traceOf(pushed)).toMatchObject({ step: 'pushed_authorization_request' });
});

test('requests that bear one id share a trace of twenty steps at most (attack 37.753)', async () => {
  const headers = { 'x-request-id': 'one-and-the-same' };
  const send = () => oauthPost(service.url, '/oauth/token', client, { grant_type: 'nonsense' }, headers);
  for (let i = 0; i < 12; i++) await send();
  expect((await traceOf(await send()))['steps'].length).toBe(13);
  for (let i = 0; i < 12; i++) await send();
  await flushRequestTraces(service.deps);
  for (let i = 0; i < 12; i++) await send();
  expect((await traceOf(await send()))['steps'].length).toBeLessThanOrEqual(20);
});

test('no code, verifier, secret or token is kept, wherever it came (attack 37.754)', async () => {
  const { code, verifier } = await authorizeCode(browser, client);
  const [secret, refresh] = [randomToken('cs_'), randomToken('rt_')];
  const jwt = `eyJhbGciOiJSUzI1NiJ9.${Buffer.from('{"sub":"canary"}').toString('base64url')}.c2lnbmF0dXJl`;
  const kept = [code, verifier, secret, refresh, jwt, 'hunter2-canary'];
  await redeem(service.url, client, {
    code,
    verifier,
    redirect_uri: `https://u:hunter2-canary@app.example/cb?code=${code}&access_token=${jwt}#${refresh}`,
  });
  await oauthPost(
    service.url,
    '/oauth/token',
    { ...client, client_secret: secret },
    { grant_type: 'refresh_token', refresh_token: refresh },
  );
  await oauthPost(service.url, '/oauth/token', null, { client_id: secret, client_secret: secret, grant_type: jwt, scope: `${jwt} ${refresh}`, resource: `https://x.example/${refresh}?t=${jwt}` }); // prettier-ignore
  await authorize({
    scope: `openid ${code} ${jwt}`,
    redirect_uri: `https://app.example/${code}/cb?state=${verifier}`,
    state: verifier,
    nonce: verifier,
  });
  await authorize({ scope: `openid ${refresh} ${verifier}` });
  await authorize({ client_id: refresh });
  await flushRequestTraces(service.deps);
  const { rows } = await service.deps.db.knex.raw<{ rows: { text: string }[] }>('select t::text as text from request_traces t');
  const dump = rows.map(({ text }) => text).join('\n');
  expect(kept.filter((one) => dump.includes(one))).toEqual([]);
});

test('who may not read clients is not told what is registered for one, nor given the client (attack 37.755)', async () => {
  const answer = await authorize({ redirect_uri: 'https://app.example/wrong' });
  const narrow = await only('request_traces:read');
  const trace = await traceOf(answer, narrow);
  expect(trace['steps'][0].detail).toMatchObject({ redirect_uri: 'https://app.example/wrong' });
  expect(JSON.stringify(trace)).not.toContain('registered_redirect_uris');
  const id = answer.headers.get('x-request-id');
  for (const path of [`/request_traces/${id}?include=client`, `/request_traces/${id}/client`]) {
    const refused = await narrow.get(path);
    expect([path, refused.status, refused.body['errors'][0].meta.required]).toContainEqual(expect.arrayContaining(['clients:read']));
  }
  expect((await (await only('clients:read')).get(`/request_traces/${id}`)).status).toBe(403);
});

test('a trace is its environment’s own, whatever the request id (attack 37.756)', async () => {
  const other = (await secondEnvironment(api)).api;
  const answer = await authorize({ redirect_uri: 'https://app.example/wrong' });
  const id = answer.headers.get('x-request-id');
  await traceOf(answer);
  expect((await other.get(`/request_traces/${id}`)).status).toBe(404);
  expect((await other.get(`/request_traces?filter[request_id]=${id}`)).body['data']).toEqual([]);
});

test('while the database is away traces wait, and the request is answered as ever', async () => {
  const { knex } = service.deps.db;
  await knex.raw('alter table request_traces rename to request_traces_away');
  const answer = await authorize({ redirect_uri: 'https://app.example/wrong' }).finally(async () => {
    // Beside the loop, which may be trying just now.
    await expect.poll(() => flushRequestTraces(service.deps).then(() => 'stored', () => 'refused')).toBe('refused'); // prettier-ignore
    await knex.raw('alter table request_traces_away rename to request_traces');
  });
  expect((await traceOf(answer))['rule']).toBe('redirect_uri_mismatch');
});

test('a SAML request of an application that nobody has registered: which entity ID came', async () => {
  const sent = requestXml({ saml_entity_id: 'https://stranger.example/saml?key=&lt;b>' });
  const answer = await sendRequest(browser, sent);
  expect(answer.status).toBe(400);
  const trace = await traceOf(answer);
  expect(trace).toMatchObject({ step: 'authorize', rule: 'unknown_client', error: 'invalid_client' });
  const description = 'no enabled application has the entity ID https://stranger.example/saml?key=...';
  expect((trace['steps'] as Document[])[0]?.['detail']).toEqual({ description });
  expect(await answer.text()).toContain('<dt>Entity ID sent</dt><dd><code>https://stranger.example/saml?key=&lt;b&gt;</code></dd>');

  const ofKind = async (kind: string) => {
    await service.deps.db.knex('environments').where({ id: ctx.environment.id }).update({ kind });
    service.deps.cache.clear();
  };
  await ofKind('production');
  const page = await (await sendRequest(browser, sent)).text().finally(() => ofKind('development'));
  expect(page).toContain('invalid_client');
  expect(page).not.toContain('stranger.example');
});

test('the apostrophe of our own sentences is readable', async () => {
  const trace = await traceOf(await sendRequest(browser, '<a/>'));
  expect((trace['steps'] as Document[])[0]?.['detail']).toMatchObject({
    description: "The application's link is invalid: it is a a, no AuthnRequest.",
  });
});

test('nothing is kept for longer than seven days', async () => {
  const answer = await authorize({ redirect_uri: 'https://app.example/wrong' });
  await traceOf(answer);
  const [row] = (await service.deps.db.knex('request_traces').where({ id: answer.headers.get('x-request-id') })) as {
    occurred_at: Date;
    expires_at: Date;
  }[];
  expect((row?.expires_at.getTime() ?? 0) - (row?.occurred_at.getTime() ?? 0)).toBe(7 * 86_400_000);
  service.clock.advance(7 * 86_400_000 + 1_000);
  expect((await janitorPass(service.deps))['request_traces']).toBeGreaterThan(0);
  expect(await service.deps.db.knex('request_traces').where({ id: answer.headers.get('x-request-id') })).toEqual([]);
});

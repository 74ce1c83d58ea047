// What a run of the OpenID Foundation's plans for transmitters does (SSF 1.0, CAEP Interoperability Profile 1.0): what its modules send, in their order, and what
// they demand of the answers. docs/how-to/signals.md says how somebody runs them.
import { createLocalJWKSet, importJWK, jwtVerify, type JSONWebKeySet } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { signalQueue } from '../../src/outbox/signals/loop.js';
import { addGrant, addUser, addClient, type TestClient } from '../support/data.js';
import { manage, startManagedService } from '../support/management.js';
import { authorizeCode, claimsOf, oauthPost, redeem } from '../support/oauth.js';
import { drain } from '../support/outbox-queue.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { addSignalsApi, readSet } from '../support/signals.js';

const service = sharedService(() => startManagedService());
const ctx = contextOf(service);
const api = shared(() => manage(service.url));
let client: TestClient;
let endpoint: Receiver;
let metadata: Record<string, string>;
let keys: JSONWebKeySet;
let token: string;

const fetchJson = async <T>(url: string | undefined): Promise<T> => (await fetch(url as string)).json() as Promise<T>;
/** Client credentials with scopes and no resource, Basic and `client_id`. */
const tokenFor = async (scope: string) =>
  (await oauthPost(service.url, '/oauth/token', client, { grant_type: 'client_credentials', scope, client_id: client.id })).body;

beforeAll(async () => {
  endpoint = await startReceiver(202);
  const resource = await addSignalsApi(ctx);
  client = await addClient(ctx, {
    grant_types: ['authorization_code', 'client_credentials'],
    default_resource: resource.identifier,
    first_party: true,
  });
  await addGrant(ctx, client, resource, ['ssf.read', 'ssf.manage']);
  metadata = await fetchJson(`${service.url}/.well-known/ssf-configuration`);
  keys = await fetchJson(metadata['jwks_uri']);
});
afterAll(() => endpoint?.close());

const bearer = (value: string) => ({ authorization: `Bearer ${value}` });

async function call(method: string, url: string | undefined, body?: unknown, headers: Record<string, string> = bearer(token)) {
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(url as string, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: sent }),
  });
  const text = await answer.text();
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely
  return { status: answer.status, headers: answer.headers, body: (text === '' ? null : JSON.parse(text)) as any };
}

const caep = (name: string) => `https://schemas.openid.net/secevent/caep/event-type/${name}`;
const push = 'urn:ietf:rfc:8935';
const poll = 'urn:ietf:rfc:8936';
const authorization_header = 'Bearer push_token_of_the_suite';
/** One of the events is unknown here. */
const events_requested = ['session-revoked', 'credential-change', 'device-compliance-change'].map(caep);
const pushTo = () => ({ method: push, endpoint_url: `${endpoint.url}/ssf-push` });
const deliveries = { push: () => ({ ...pushTo(), authorization_header }), poll: () => ({ method: poll }) };
const config = (delivery: object = deliveries.poll()) => ({ description: 'Stream of the suite', events_requested, delivery });
const ofStream = (at: string, id: string) => `${metadata[at]}?stream_id=${id}`;
const create = (delivery?: object) => call('POST', metadata['configuration_endpoint'], config(delivery));
const remove = (id: string) => call('DELETE', ofStream('configuration_endpoint', id));
const setStatus = (id: string, status: string) => call('POST', ofStream('status_endpoint', id), { stream_id: id, status, reason: 'suite' });

/** Every module begins with nothing left behind: what the list has is deleted. */
beforeEach(async () => {
  endpoint.posts.length = 0;
  token = (await tokenFor('ssf.read ssf.manage')).access_token;
  const { status, body } = await call('GET', metadata['configuration_endpoint']);
  expect([status, Array.isArray(body)]).toEqual([200, true]);
  for (const { stream_id } of body as { stream_id: string }[]) expect((await remove(stream_id)).status).toBe(204);
});

/** What every token on a stream has to be. */
async function checkSet(jwt: string, stream: { aud: string; iss: string }) {
  const { header, claims } = readSet(jwt);
  expect(header).toMatchObject({ alg: 'RS256', typ: 'secevent+jwt', kid: expect.any(String) });
  const { key } = await jwtVerify(jwt, createLocalJWKSet(keys), { issuer: stream.iss, audience: stream.aud }).then(async () => ({
    key: keys.keys.find(({ kid }) => kid === header['kid']),
  }));
  expect(await importJWK(key as object, 'RS256')).toMatchObject({ algorithm: { modulusLength: expect.toSatisfy((bits) => bits >= 2048) } });
  expect(claims).not.toHaveProperty('sub');
  expect(claims).not.toHaveProperty('exp');
  expect(claims).toMatchObject({
    jti: expect.any(String),
    txn: expect.any(String),
    iat: expect.toSatisfy((at) => at <= Date.now() / 1000),
  });
  expect(Object.values(claims['events'] as object)).toEqual([expect.any(Object)]);
  return readSet(jwt);
}

type Stream = { stream_id: string; aud: string; iss: string; delivery: { endpoint_url: string } };

async function verify({ stream_id }: Stream): Promise<string> {
  const state = crypto.randomUUID();
  expect((await call('POST', metadata['verification_endpoint'], { stream_id, state })).status).toBe(204);
  return state;
}

async function pollOnce({ delivery }: Stream, body: object, headers: Record<string, string> = {}) {
  const answer = await call('POST', delivery.endpoint_url, body, { ...bearer(token), ...headers });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^application\/json/)]);
  const { sets, moreAvailable } = answer.body as { sets: Record<string, string>; moreAvailable?: boolean };
  expect(['boolean', 'undefined']).toContain(typeof moreAvailable);
  return sets;
}
const pollOnly = { maxEvents: 10, returnImmediately: true };

async function checkVerification(jwt: string | undefined, stream: Stream, state: string) {
  const set = await checkSet(jwt as string, stream);
  expect([set.event, set.members, set.claims.sub_id]).toEqual(['verification', { state }, { format: 'opaque', id: stream.stream_id }]);
}

describe('the metadata', () => {
  test('has what the profile demands, and no empty list', async () => {
    const answer = await call('GET', `${service.url}/.well-known/ssf-configuration`, undefined, {});
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^application\/json/)]);
    expect(answer.body).toMatchObject({
      issuer: service.url,
      spec_version: '1_0',
      delivery_methods_supported: expect.arrayContaining([push, poll]),
      authorization_schemes: expect.arrayContaining([{ spec_urn: 'urn:ietf:rfc:6749' }]),
      default_subjects: expect.stringMatching(/^(ALL|NONE)$/),
    });
    for (const name of ['jwks_uri', 'configuration_endpoint', 'status_endpoint', 'verification_endpoint'])
      expect([name, URL.canParse(metadata[name] as string)]).toEqual([name, true]);
    for (const value of Object.values(answer.body as object)) expect(value).not.toEqual([]);
  });

  test('leads to tokens that live an hour at most, in both forms of client authentication', async () => {
    const { client_secret } = client;
    const posted = { grant_type: 'client_credentials', scope: 'ssf.read ssf.manage', client_id: client.id, client_secret };
    await ctx.db.knex('clients').where({ id: client.id }).update({ token_endpoint_auth_method: 'client_secret_post' });
    ctx.cache.clear();
    const inBody = (await oauthPost(service.url, '/oauth/token', null, posted)).body;
    await ctx.db.knex('clients').where({ id: client.id }).update({ token_endpoint_auth_method: 'client_secret_basic' });
    ctx.cache.clear();
    for (const { scope, expires_in } of [inBody, await tokenFor('ssf.read ssf.manage')])
      expect([scope, Number(expires_in) <= 3600]).toEqual(['ssf.read ssf.manage', true]);
  });
});

describe('what is refused', () => {
  const requests: [string, (id: string) => [string, string, unknown?]][] = [
    ['creating', () => ['POST', metadata['configuration_endpoint'] as string, config()]],
    ['reading', (id) => ['GET', ofStream('configuration_endpoint', id)]],
    ['updating', (id) => ['PATCH', metadata['configuration_endpoint'] as string, { ...config(), stream_id: id }]],
    ['replacing', (id) => ['PUT', metadata['configuration_endpoint'] as string, { ...config(), stream_id: id }]],
    ['deleting', (id) => ['DELETE', ofStream('configuration_endpoint', id)]],
    ['reading the status', (id) => ['GET', ofStream('status_endpoint', id)]],
    ['verifying', (id) => ['POST', metadata['verification_endpoint'] as string, { stream_id: id, state: 'x' }]],
    ['polling', (id) => ['POST', `${service.url}/ssf/poll/${id}`, pollOnly]],
  ];

  test.each(requests)('%s without a token or with a bad one is 401, with a challenge', async (_what, request) => {
    const { stream_id } = (await create()).body as Stream;
    const [method, url, body] = request(stream_id);
    const without = await call(method, url, body, {});
    expect([without.status, without.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer(?!.*error=)/)]);
    const bad = await call(method, url, body, bearer('invalid_token'));
    expect([bad.status, bad.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer.*error="invalid_token"/)]);
  });

  test('a token in the query is not taken', async () => {
    const answer = await call('GET', `${metadata['configuration_endpoint']}?access_token=${token}`, undefined, {});
    expect([400, 401]).toContain(answer.status);
  });

  test('a token that may only read makes no stream', async () => {
    const { access_token, scope } = await tokenFor('ssf.read');
    expect(scope).toBe('ssf.read');
    const answer = await call('POST', metadata['configuration_endpoint'], config(), bearer(access_token));
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      403,
      expect.stringMatching(/Bearer.*error="insufficient_scope"/),
    ]);
  });

  test.each(requests.slice(1))('%s a stream that is gone, or never was, is 404', async (_what, request) => {
    const { stream_id } = (await create()).body as Stream;
    await remove(stream_id);
    for (const id of [stream_id, 'dummy']) expect((await call(...request(id))).status).toBe(404);
  });

  test.each(['POST', 'PUT', 'PATCH'])('%s of no JSON is 400', async (method) => {
    await create();
    expect((await call(method, metadata['configuration_endpoint'], ';{ broken')).status).toBe(400);
  });

  test('a verification of half a document is 400', async () => {
    await create();
    expect((await call('POST', metadata['verification_endpoint'], '{"stream_id": ')).status).toBe(400);
  });
});

describe.each(['push', 'poll'] as const)('a stream with %s', (mode) => {
  const delivery = deliveries[mode];

  test('is made, read, updated, replaced, paused and deleted, and is as it was asked for (SSF 1.0 8.1.1)', async () => {
    const made = await create(delivery());
    const { stream_id } = made.body as Stream;
    const delivered = events_requested.slice(0, 2);
    const method = delivery().method;
    const as = (description: string | undefined, requested = events_requested) => ({
      stream_id,
      iss: service.url,
      aud: client.id,
      ...(description !== undefined && { description }),
      events_requested: requested,
      events_delivered: requested.filter((event) => delivered.includes(event)),
      events_supported: expect.not.arrayContaining([caep('device-compliance-change')]),
      delivery: { method, endpoint_url: mode === 'push' ? pushTo().endpoint_url : expect.any(String) },
      min_verification_interval: expect.any(Number),
    });
    expect([made.status, made.body]).toEqual([201, as('Stream of the suite')]);
    const read = async () => (await call('GET', ofStream('configuration_endpoint', stream_id))).body as unknown;
    expect(await read()).toEqual(as('Stream of the suite'));
    const change = (method: string, body: object) => call(method, metadata['configuration_endpoint'], { stream_id, ...body });
    const steps: [string, object, unknown][] = [
      ['PATCH', { ...config(delivery()), description: 'Updated' }, as('Updated')],
      ['PUT', { ...config(delivery()), description: 'Replaced' }, as('Replaced')],
      ['PUT', { delivery: delivery(), events_requested: delivered.slice(0, 1) }, as(undefined, delivered.slice(0, 1))],
    ];
    for (const [method, body, expected] of steps) {
      expect(await change(method, body)).toMatchObject({ status: 200, body: expected });
      expect(await read()).toEqual(expected);
    }
    expect((await call('GET', ofStream('status_endpoint', stream_id))).body).toMatchObject({ stream_id, status: 'enabled' });
    for (const status of ['enabled', 'paused', 'disabled'])
      expect(await setStatus(stream_id, status)).toMatchObject({ status: 200, body: { status } });
    expect((await remove(stream_id)).status).toBe(204);
  });

  test('takes subjects in and out, whom nobody knows too (SSF 1.0 8.1.3)', async () => {
    const { stream_id } = (await create(delivery())).body as Stream;
    const subject = { format: 'email', email: 'example.user@example.com' };
    expect((await call('POST', metadata['add_subject_endpoint'], { stream_id, subject, verified: true })).status).toBe(200);
    expect((await call('POST', metadata['remove_subject_endpoint'], { stream_id, subject })).status).toBe(204);
  });

  /** The tokens of the stream, taken away; of one that is pushed, once there are as many. */
  async function arrived(stream: Stream, count: number): Promise<string[]> {
    await drain(signalQueue(service.deps));
    if (mode === 'poll') {
      const sets = await pollOnce(stream, pollOnly);
      await pollOnce(stream, { maxEvents: 0, returnImmediately: true, ack: Object.keys(sets) });
      return Object.values(sets);
    }
    await endpoint.until((posts) => posts.length >= count);
    return endpoint.posts.map(({ body }) => body);
  }

  test.each(['paused', 'disabled'])('that is %s says nothing; enabled again, it tells what it may (SSF 1.0 8.1.2.1)', async (status) => {
    const stream = (await create(delivery())).body as Stream;
    expect((await setStatus(stream.stream_id, status)).status).toBe(200);
    let state = await verify(stream);
    expect(await arrived(stream, 0)).toEqual([]);
    expect((await setStatus(stream.stream_id, 'enabled')).status).toBe(200);
    // What a paused one held comes now; a disabled one holds nothing, and is asked again at once.
    if (status === 'disabled') state = await verify(stream);
    const [jwt, ...more] = await arrived(stream, 1);
    await checkVerification(jwt, stream, state);
    expect(more).toEqual([]);
  });

  test('tells of a session and of a credential as the profile has it (CAEP Interoperability Profile 3.1, 3.2)', async () => {
    const stream = (await create(delivery())).body as Stream;
    const { id } = await addUser(ctx);
    const browser = await signedIn(service, { id });
    const { body } = await redeem(service.url, client, await authorizeCode(browser, client, { scope: 'openid' }));
    const attributes = { password: 'a new long password 1' };
    await api.request('PATCH', `/users/${id}`, { body: { data: { type: 'user', id, attributes } } });
    await api.request('PATCH', `/sessions/${claimsOf(body.id_token as string)['sid'] as string}/revoke`);
    const sets = await Promise.all((await arrived(stream, 2)).map((jwt) => checkSet(jwt, stream)));
    const seen = new Map(sets.map((set) => [set.event, set]));
    expect([...seen.keys()].sort()).toEqual(['credential-change', 'session-revoked']);
    const person = { format: 'iss_sub', iss: service.url, sub: id };
    expect(seen.get('credential-change')).toMatchObject({
      claims: { sub_id: person },
      members: {
        credential_type: 'password',
        change_type: 'update',
        event_timestamp: expect.any(Number),
        reason_admin: { en: expect.any(String) },
      },
    });
    // A subject of two parts earns a warning: the profile is to permit it (specification 20.4).
    expect(seen.get('session-revoked')).toMatchObject({
      claims: { sub_id: { format: 'complex', user: person, session: { format: 'opaque', id: expect.any(String) } } },
      members: { event_timestamp: expect.any(Number), reason_admin: { en: expect.any(String) } },
    });
    for (const { members } of sets)
      expect(Number.isInteger(members['event_timestamp']) && Number(members['event_timestamp']) < 1e11).toBe(true);
  });
});

describe('what is pushed', () => {
  test.each([
    ['with the header of the stream', authorization_header],
    ['without one', undefined],
  ])('comes %s (RFC 8935 2.1)', async (_what, header) => {
    const stream = (await create({ ...pushTo(), ...(header !== undefined && { authorization_header: header }) })).body as Stream;
    const state = await verify(stream);
    const [post] = await endpoint.received(1);
    expect(post?.headers).toMatchObject({ 'content-type': 'application/secevent+jwt', accept: 'application/json' });
    expect(post?.headers.authorization).toBe(header);
    await checkVerification(post?.body, stream, state);
  });
});

describe('what is polled', () => {
  test('without a delivery the stream is one (SSF 1.0 8.1.1.1)', async () => {
    const { delivery: _, ...rest } = config();
    const made = await call('POST', metadata['configuration_endpoint'], rest);
    expect(made).toMatchObject({ status: 201, body: { delivery: { method: poll, endpoint_url: expect.stringMatching(/./) } } });
  });

  test('two streams have two addresses (SSF 1.0 6.1.2)', async () => {
    const [one, two] = [await create(), await create()];
    expect([one.status, two.status]).toEqual([201, 201]);
    expect(one.body.delivery.endpoint_url).not.toBe(two.body.delivery.endpoint_url);
  });

  test('comes until it is acknowledged, in each of the three ways (RFC 8936 2.4)', async () => {
    const stream = (await create()).body as Stream;
    const state = await verify(stream);
    const first = await pollOnce(stream, pollOnly);
    await checkVerification(Object.values(first)[0], stream, state);
    expect(Object.keys(await pollOnce(stream, pollOnly))).toEqual(Object.keys(first));
    expect(await pollOnce(stream, { maxEvents: 0, returnImmediately: true, ack: [] })).toEqual({});
    expect(await pollOnce(stream, { ...pollOnly, ack: Object.keys(first) })).toEqual({});
    expect(await pollOnce(stream, { maxEvents: 0, returnImmediately: true, ack: Object.keys(first) })).toEqual({});
  });

  test('that is reported as wrong does not come again (RFC 8936 2.4.4)', async () => {
    const stream = (await create()).body as Stream;
    await verify(stream);
    const [jti] = Object.keys(await pollOnce(stream, pollOnly));
    const setErrs = { [jti as string]: { err: 'invalid_request', description: 'Reported' } };
    expect(await pollOnce(stream, { maxEvents: 0, returnImmediately: true, setErrs }, { 'content-language': 'en' })).toEqual({});
    expect(await pollOnce(stream, pollOnly)).toEqual({});
  });

  test('is waited for (RFC 8936 2.5)', async () => {
    const stream = (await create()).body as Stream;
    const waiting = pollOnce(stream, { maxEvents: 10, returnImmediately: false });
    const state = await verify(stream);
    await checkVerification(Object.values(await waiting)[0], stream, state);
  });
});

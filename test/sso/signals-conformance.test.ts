// What the OpenID Foundation's plans for receivers do to this service (SSF 1.0, CAEP Interoperability Profile 1.0): their transmitter in the order of their
// modules, its wrong tokens too. Nobody does anything here but make the connection, and delete it. docs/how-to/signals.md says how somebody runs them.
import { generateKeyPair } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectionOf, type Connection } from '../../src/domain/connections/connections.js';
import { pollSignals } from '../../src/domain/provider-signals/poll-signals.js';
import { signalPollsPass } from '../../src/jobs/signal-polls.js';
import { manage, startManagedService } from '../support/management.js';
import { isSignedIn, sessionRevoked } from '../support/provider-signals.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { Browser } from '../support/browser.js';
import { loginThrough } from '../support/sso.js';
import { ssfEvent, Transmitter } from '../support/transmitter.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService(() => startManagedService({ ALLOW_PRIVATE_NETWORK: 'on' }));
const ctx = contextOf(service);
const api = shared(() => manage(service.url));
const upstream = ScriptedUpstream.shared();
const transmitter = new Transmitter();
beforeAll(() => transmitter.start());
afterAll(() => transmitter.close());

let paused: Map<string, number>;
let id: string;
let signals_url: string;
let number = 0;
const pass = () => signalPollsPass(service.deps, paused);
const row = () => ctx.db.knex('transmitter_streams').where({ connection_id: id }).first();
/** The steps that are asked of the transmitter meanwhile. */
async function asks(work: () => Promise<unknown> = pass): Promise<string[]> {
  const before = transmitter.asked.length;
  await work();
  return transmitter.asked.slice(before);
}

async function connect(signals: 'push' | 'poll', more: Record<string, unknown> = {}): Promise<void> {
  const attributes = {
    name: `suite-${++number}`,
    display_name: 'Suite',
    strategy: 'oidc',
    issuer: upstream.url,
    provider_client_id: 'the-service',
    provider_client_secret: 'x',
    account_linking: 'ask',
    allow_registration: true,
    signals,
    signals_issuer: transmitter.issuer,
    signals_token: transmitter.token,
    ...more,
  };
  const made = await api.attempt('connections', attributes);
  expect([made.status, made.text]).toEqual([201, expect.not.stringContaining(transmitter.token)]);
  ({ id } = made.body['data'] as { id: string });
  ({ signals_url } = made.body['data'].attributes as { signals_url: string });
}
const change = (attributes: Record<string, unknown>) => api.update('connections', id, attributes);
const disconnect = async () => expect((await api.request('DELETE', `/connections/${id}`)).status).toBe(204);

beforeEach(async () => {
  await ctx.db.knex('connections').delete();
  await ctx.db.knex('transmitter_streams').delete();
  ctx.cache.clear();
  transmitter.reset();
  paused = new Map();
});

describe.each(['push', 'poll'] as const)('a receiver with %s', (mode) => {
  /** Delivers the token; what it came to: `taken`, or the error. Of one that is polled nothing else is asked meanwhile. */
  async function deliver({ jti, jwt }: { jti: string; jwt: string }): Promise<string> {
    if (mode === 'poll') {
      transmitter.waiting[jti] = jwt;
      await pass();
      expect(transmitter.waiting).toEqual({});
      return transmitter.acked.includes(jti) ? 'taken' : (transmitter.errors[jti]?.err ?? 'nothing');
    }
    const answer = await fetch(signals_url, { method: 'POST', headers: { 'content-type': 'application/secevent+jwt' }, body: jwt });
    const text = await answer.text();
    if (answer.status === 202) return text === '' ? 'taken' : text;
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('content-language')]).toEqual([
      400,
      expect.stringMatching(/^application\/json/),
      'en',
    ]);
    const { err, description } = JSON.parse(text) as { err: string; description: unknown };
    expect(description).toEqual(expect.any(String));
    return err;
  }

  async function verified(): Promise<void> {
    await connect(mode);
    await pass();
    await pass();
    expect(await deliver(await transmitter.verification({ state: transmitter.state }))).toBe('taken');
  }

  test('makes a stream, reads it and its status, has it verified, and deletes it (SSF 1.0 8.1.1, 8.1.4)', async () => {
    await connect(mode);
    expect((await asks()).filter((one) => one !== 'POST /events')).toEqual(['POST /streams']);
    const pushed = { method: 'urn:ietf:rfc:8935', endpoint_url: signals_url };
    expect(transmitter.stream).toMatchObject({
      events_requested: expect.arrayContaining([sessionRevoked]),
      delivery: mode === 'push' ? pushed : { method: 'urn:ietf:rfc:8936' },
    });
    expect((await asks()).filter((one) => one !== 'POST /events')).toEqual(['GET /streams', 'GET /status', 'POST /verify']);
    // It isn't asked for again while it may be on its way; one that nobody asked for is taken, and is not the one.
    expect((await asks()).filter((one) => one !== 'POST /events')).toEqual([]);
    expect(await deliver(await transmitter.verification({}))).toBe('taken');
    expect((await row()).verified_at).toBeNull();
    expect(await deliver(await transmitter.verification({ state: transmitter.state }))).toBe('taken');
    expect((await row()).verified_at).toBeInstanceOf(Date);
    await disconnect();
    expect((await asks()).filter((one) => one !== 'POST /events')).toEqual(['DELETE /streams']);
    expect([transmitter.stream, await row()]).toEqual([null, undefined]);
    expect(await asks()).toEqual([]);
  });

  test('takes what a stream tells, behind what waits and again, of whomever (SSF 1.0 8.1.4.2, RFC 8935 2)', async () => {
    await connect(mode);
    await pass();
    const browser = new Browser(service.url);
    upstream.claims = { ...upstream.claims, sub: `ada-${mode}`, email: `ada-${mode}@corp.example` };
    expect((await loginThrough(browser, { id })).status).toBe(303);
    const ada = { format: 'iss_sub', iss: upstream.url, sub: `ada-${mode}` };
    // The profile's transmitter says milliseconds.
    const members = { event_timestamp: Date.now(), initiating_entity: 'policy', reason_admin: { en: 'Policy' } };
    const revoked = await transmitter.set(sessionRevoked, members, ada);
    expect([await deliver(revoked), await deliver(revoked), await isSignedIn(browser)]).toEqual(['taken', 'taken', false]);
    const session = { format: 'opaque', id: 'unknown' };
    for (const sub_id of [
      { format: 'email', email: 'ada@corp.example' },
      { format: 'complex', user: ada, session },
    ])
      expect(await deliver(await transmitter.set(sessionRevoked, members, sub_id))).toBe('taken');
    const risc = 'https://schemas.openid.net/secevent/risc/event-type/account-disabled';
    expect(await deliver(await transmitter.set(risc, { reason: 'hijacking' }, ada))).toBe('taken');
    for (const status of ['paused', 'enabled']) {
      const told = await transmitter.set(ssfEvent('stream-updated'), { status }, { format: 'opaque', id: transmitter.stream?.stream_id });
      expect(await deliver(told)).toBe('taken');
    }
    await pass();
    expect(await deliver(await transmitter.verification({ state: transmitter.state }))).toBe('taken');
  });

  test('refuses what is wrong, and says how (RFC 8935 2.4, RFC 8936 2.4.4)', async () => {
    await verified();
    const ada = { format: 'iss_sub', iss: upstream.url, sub: 'ada' };
    const made = (claims = {}, key?: Parameters<Transmitter['set']>[4]) => transmitter.set(sessionRevoked, {}, ada, claims, key);
    const { jti, jwt } = await made();
    const at = jwt.lastIndexOf('.') + 100;
    const corrupted = { jti, jwt: jwt.slice(0, at) + (jwt[at] === 'A' ? 'B' : 'A') + jwt.slice(at + 1) };
    const { privateKey } = await generateKeyPair('RS256');
    expect([
      await deliver(corrupted),
      await deliver(await made({ iss: 'https://invalid-issuer.example.com' })),
      await deliver(await made({ aud: 'https://invalid-audience.example.com' })),
      await deliver(await made({ aud: signals_url })),
      await deliver(await made({}, privateKey)),
    ]).toEqual(['invalid_key', 'invalid_issuer', 'invalid_audience', 'invalid_audience', 'invalid_key']);
  });

  test('takes no verification of another state or stream, and asks once more (SSF 1.0 8.1.4.1, attack 65.1925)', async () => {
    await connect(mode);
    await pass();
    await pass();
    const { state } = transmitter;
    expect([
      await deliver(await transmitter.verification({ state: 'another' })),
      await deliver(await transmitter.verification({ state }, `not-${String(transmitter.stream?.stream_id)}`)),
    ]).toEqual(['invalid_state', 'invalid_request']);
    expect((await row()).verified_at).toBeNull();
    await ctx.db.knex('transmitter_streams').update({ requested_at: new Date(Date.now() - 61_000) });
    expect(await asks()).toContain('POST /verify');
    expect(transmitter.state).not.toBe(state);
    expect(await deliver(await transmitter.verification({ state: transmitter.state }))).toBe('taken');
  });

  test('does not use a stream of another issuer, and deletes it (SSF 1.0 8.1.1.1, attack 65.1926)', async () => {
    transmitter.created = { iss: `${transmitter.issuer}/not-this-transmitter` };
    await connect(mode);
    expect(await asks()).toEqual(['POST /streams', 'DELETE /streams']);
    expect([await row(), await asks()]).toEqual([undefined, []]);
  });
});

describe('a receiver that gets its tokens by client credentials (CAEP Interoperability Profile 2.7)', () => {
  const provider_client_secret = 'suite secret';
  const byClient = { signals_issuer: null, signals_token: null, provider_client_id: 'suite-client', provider_client_secret };
  const connectAsClient = (more = {}) => connect('poll', { ...byClient, issuer: transmitter.issuer, ...more });

  test.each(['client_secret_basic', 'client_secret_post'])(
    'has a new one before the last one ends, the deletion too (%s)',
    async (method) => {
      transmitter.authMethod = method;
      await connectAsClient();
      expect((await asks()).slice(0, 2)).toEqual(['POST /token', 'POST /streams']);
      const first = transmitter.token;
      expect(await asks()).toContain('POST /verify');
      const { jti, jwt } = await transmitter.verification({ state: transmitter.state });
      transmitter.waiting[jti] = jwt;
      // Only the last token is good: all that is asked bears that.
      await expect.poll(async () => (await pass(), transmitter.acked)).toEqual([jti]);
      expect(transmitter.token).not.toBe(first);
      expect((await row()).verified_at).toBeInstanceOf(Date);
      await disconnect();
      expect(await asks()).toEqual(['DELETE /streams']);
      expect(transmitter.stream).toBeNull();
    },
  );

  test('keeps one that lives on', async () => {
    transmitter.lifetime = 3600;
    await connectAsClient();
    await pass();
    expect(await asks()).not.toContain('POST /token');
    expect((await row()).signals_token_sealed.toString('latin1')).not.toContain(transmitter.token);
  });

  test('has another one at once where the transmitter takes the last no more before its end, to verify and to fetch', async () => {
    transmitter.lifetime = 3600;
    await connectAsClient();
    await pass();
    transmitter.token = 'revoked: good is another one';
    expect(await asks()).toEqual(['GET /streams', 'POST /token', 'GET /streams', 'GET /status', 'POST /verify', 'POST /events']);
    const { jti, jwt } = await transmitter.verification({ state: transmitter.state });
    transmitter.waiting[jti] = jwt;
    transmitter.token = 'revoked once more';
    expect(await asks()).toEqual(['POST /events', 'POST /token', 'POST /events', 'POST /events']);
    expect([transmitter.acked, (await row()).verified_at]).toEqual([[jti], expect.any(Date)]);
  });

  test('asks for one other and no more where the transmitter takes none', async () => {
    transmitter.lifetime = 3600;
    await connectAsClient();
    await pass();
    await pass();
    transmitter.failing.set('POST /events', 401);
    expect(await asks()).toEqual(['POST /events', 'POST /token', 'POST /events']);
    expect(await asks()).toEqual([]);
  });

  test('of whom the provider knows nothing has no stream, and the log says so', async () => {
    await connectAsClient({ provider_client_secret: 'another' });
    expect(await asks()).toEqual(['POST /token']);
    expect(service.log.some((line) => line.includes('signals.poll_failed') && line.includes(id))).toBe(true);
  });

  test('is no client of another transmitter than its provider: the secret goes nowhere else (attack 65.1927)', async () => {
    const attributes = {
      ...byClient,
      name: 'elsewhere',
      display_name: 'Suite',
      strategy: 'oidc',
      issuer: upstream.url,
      account_linking: 'ask',
    };
    const made = await api.attempt('connections', { ...attributes, signals: 'poll', signals_issuer: transmitter.issuer });
    expect([made.status, made.text]).toEqual([422, expect.stringContaining('signals_token')]);
  });
});

describe('the stream of a connection', () => {
  test.each([
    ['signals are off', () => change({ signals: 'off' })],
    ['it is disabled', () => change({ status: 'disabled' })],
    ['they come another way', () => change({ signals: 'poll' })],
    ['the token is another one', () => change({ signals_token: 'another' })],
  ])('is deleted when %s', async (_what, end) => {
    await connect('push');
    await pass();
    expect((await end()).status).toBe(200);
    expect((await asks())[0]).toBe('DELETE /streams');
    expect(transmitter.stream).toBeNull();
  });

  test('that was left behind makes place for the next one; another’s stays', async () => {
    await connect('push');
    await pass();
    await ctx.db.knex('transmitter_streams').delete();
    expect(await asks()).toEqual(['POST /streams', 'GET /streams', 'DELETE /streams', 'POST /streams']);
    await ctx.db.knex('transmitter_streams').delete();
    Object.assign(transmitter.stream as object, { description: 'Another receiver’s' });
    expect(await asks()).toEqual(['POST /streams', 'GET /streams', 'POST /streams']);
    expect(await row()).toBeUndefined();
  });

  test('that is gone at the transmitter is made anew', async () => {
    await connect('push');
    await pass();
    transmitter.stream = null;
    expect(await asks()).toEqual(['GET /streams']);
    expect(await asks()).toEqual(['POST /streams']);
  });

  test('a transmitter that fails is left alone for a minute, and asked for a day to delete', async () => {
    await connect('push');
    await pass();
    await disconnect();
    transmitter.failing.set('DELETE /streams', 503);
    expect([await asks(), await asks()]).toEqual([['DELETE /streams'], []]);
    expect(service.log.some((line) => line.includes('signals.poll_failed') && line.includes(id))).toBe(true);
    expect(await row()).toBeDefined();
    await ctx.db.knex('transmitter_streams').update({ unwanted_at: new Date(Date.now() - 86_500_000) });
    paused.clear();
    await pass();
    expect(await row()).toBeUndefined();
  });

  test.each([
    ['a stream_id', { stream_id: 'a\0b' }],
    ['an aud', { aud: ['a', 'b\0'] }],
    ['no aud', { aud: [] }],
    ['an address', { delivery: { method: 'urn:ietf:rfc:8936', endpoint_url: 'no address' } }],
    ['another delivery', { delivery: { method: 'urn:ietf:rfc:8935' } }],
  ])(
    'a transmitter that says %s which can not be kept or used has none made, and holds nobody up (attack 65.1928)',
    async (_what, created) => {
      transmitter.created = created;
      await connect('poll');
      await pass();
      expect(await row()).toBeUndefined();
      expect(service.log.some((line) => line.includes('signals.poll_failed') && line.includes(id))).toBe(true);
      // What it made all the same makes place a minute later.
      transmitter.created = {};
      paused.clear();
      await pass();
      expect(await row()).toMatchObject({ stream_id: transmitter.stream?.stream_id });
    },
  );

  test('of another issuer by now is not polled, with no token (attack 65.1929)', async () => {
    await connect('poll');
    await pass();
    expect((await change({ signals_issuer: 'http://127.0.0.1:8081/other', signals_token: 'said anew' })).status).toBe(200);
    const connection = (await connectionOf(ctx, id)) as Connection;
    expect(await asks(() => pollSignals(ctx, connection))).toEqual([]);
    expect(await asks()).toEqual(['DELETE /streams']);
  });

  test('the token goes to another transmitter only when it is said anew (attack 65.1927)', async () => {
    await connect('push');
    const refused = await change({ signals_issuer: 'http://127.0.0.1:8081/other' });
    expect([refused.status, refused.body['errors'][0].code]).toEqual([422, 'secret_required']);
    expect((await change({ signals_issuer: 'http://127.0.0.1:8081/other', signals_token: 'said anew' })).status).toBe(200);
    expect(await connectionOf(ctx, id)).toMatchObject({ signals_issuer: 'http://127.0.0.1:8081/other' });
  });
});

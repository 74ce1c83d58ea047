// Signals of providers: what ends with them and what doesn't, and what is refused.
import { beforeAll, describe, expect, test } from 'vitest';
import { deleteExpired, expiringTables } from '../../src/db/tables/expiring.js';
import { pollConnection, signalPollsPass } from '../../src/jobs/signal-polls.js';
import { providerSecretAad } from '../../src/domain/connections/connections.js';
import { flushSecurityTrail } from '../../src/domain/audit/security-trail.js';
import { signedInWith } from '../support/administrators.js';
import { addUser, addClient } from '../support/data.js';
import { addConnection } from '../support/connections.js';
import { manage, startManagedService } from '../support/management.js';
import { oauthPost, tokenRequest } from '../support/oauth.js';
import { changeRow } from '../support/organizations.js';
import { auditRows, lastRow } from '../support/security-events.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { createClientKey, unsignedJwt } from '../support/signed-jwt.js';
import { signedIn } from '../support/signed-in.js';
import { startTestService } from '../support/service.js';
import {
  isSignedIn,
  logoutEvent,
  post,
  postLogout,
  postRevocation,
  postSet,
  sessionRevoked,
  SignallingProvider,
  signalWorld,
} from '../support/provider-signals.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService(() => startTestService({ ALLOW_PRIVATE_NETWORK: 'on' }));
const ctx = contextOf(service);
const upstream = ScriptedUpstream.shared();
const provider = new SignallingProvider(upstream);
beforeAll(() => provider.start());
const world = shared(() => signalWorld(service, ctx, upstream));
const reader = shared(() => addClient(ctx));

const risc = (name: string) => `https://schemas.openid.net/secevent/risc/event-type/${name}`;
const isActive = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', reader, { token })).body['active'];
const errOf = async (answer: Response) => [answer.status, ((await answer.json()) as { err: string }).err];
const bodyOf = (sub = 'ada') => ({ sub_id: { format: 'iss_sub', iss: upstream.url, sub } });
const named = (claims: Record<string, unknown>) => ((upstream.tokenClaims = claims), undefined);

describe('what ends (specification 20.2.5)', () => {
  const forms: [string, number, () => Promise<Response>][] = [
    ['session-revoked', 202, async () => postSet(world.url, await provider.set(world.url))],
    ...['account-disabled', 'account-purged', 'credential-compromise'].map((name): [string, number, () => Promise<Response>] => [
      name,
      202,
      async () => postSet(world.url, await provider.set(world.url, { events: { [risc(name)]: {} } })),
    ]),
    ['a logout token', 200, async () => postLogout(world.url, await provider.logoutToken())],
    ['a logout token without a type', 200, async () => postLogout(world.url, await provider.logoutToken({ typ: undefined }))],
    ['a global token revocation', 204, async () => postRevocation(world.url, await provider.revocationToken(world.url), bodyOf())],
  ];

  test.each(forms)('%s: sessions and grants that began through the connection, and nothing else', async (_what, status, send) => {
    const [browser, user] = [await world.signIn(), await addUser(ctx)];
    const tokens = await world.tokensOf(browser);
    const other = await signedIn(service, user);
    expect([await isSignedIn(browser), await isActive(tokens.access_token)]).toEqual([true, true]);
    const answer = await send();
    expect([answer.status, await answer.text()]).toEqual([status, '']);
    expect([await isSignedIn(browser), await isActive(tokens.access_token), await isSignedIn(other)]).toEqual([false, false, true]);
    const refreshed = await tokenRequest(service.url, world.app, {
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token ?? '',
    });
    expect(refreshed.body.error).toBe('invalid_grant');
    // The account stays, and signs in again.
    expect(await isSignedIn(await world.signIn())).toBe(true);
    expect(await lastRow(service, 'signal.received')).toMatchObject({ target_id: world.connection.id, outcome: 'success' });
  });

  test('its own session there alone, by sid, in both forms that have one', async () => {
    for (const send of [
      async (sid: string) => postLogout(world.url, await provider.logoutToken({ sub: undefined, sid })),
      async (sid: string) =>
        postSet(
          world.url,
          await provider.set(world.url, { sub_id: { format: 'complex', user: bodyOf().sub_id, session: { format: 'opaque', id: sid } } }),
        ),
    ]) {
      named({ sid: 'one' });
      const one = await world.signIn();
      named({ sid: 'two' });
      const two = await world.signIn();
      named({});
      expect((await send('one')).ok).toBe(true);
      expect([await isSignedIn(one), await isSignedIn(two)]).toEqual([false, true]);
      expect((await send('two')).ok).toBe(true);
      expect(await isSignedIn(two)).toBe(false);
    }
  });

  test('the client that the person signed in to is told by back-channel logout, webhooks by session.revoked', async () => {
    await changeRow(ctx, 'clients', { id: world.app.id }, { backchannel_logout_uri: 'https://app.example/logout' });
    const browser = await world.signIn();
    await world.tokensOf(browser, 'openid');
    await postSet(world.url, await provider.set(world.url));
    const [logout] = await ctx.db.knex('backchannel_logouts').where({ client_id: world.app.id });
    expect(logout).toBeDefined();
    await changeRow(ctx, 'clients', { id: world.app.id }, { backchannel_logout_uri: null });
    const session = (await ctx.db.knex('sessions').where({ id: logout.session_id }).first()) as { revoke_reason: string };
    expect(session.revoke_reason).toBe('signal');
  });

  test('an event that is older than the sign-in ends nothing (attack 54.1678)', async () => {
    const browser = await world.signIn();
    const tokens = await world.tokensOf(browser);
    const before = Math.floor(Date.now() / 1000) - 60;
    expect((await postSet(world.url, await provider.set(world.url, { at: new Date(before * 1000) }))).status).toBe(202);
    const events = { [sessionRevoked]: { event_timestamp: before } };
    expect((await postSet(world.url, await provider.set(world.url, { events }))).status).toBe(202);
    expect([await isSignedIn(browser), await isActive(tokens.access_token)]).toEqual([true, true]);
  });

  test('a session in which somebody signed in another way too stands', async () => {
    const browser = await world.signIn();
    const other = await signalWorld(service, ctx, upstream);
    await other.signIn(other.connection, browser);
    await postSet(world.url, await provider.set(world.url));
    expect(await isSignedIn(browser)).toBe(true);
    // Nor by the other one's: it did not begin through that.
    await postSet(other.url, await provider.set(other.url));
    expect(await isSignedIn(browser)).toBe(true);
  });

  test('a grant that outlives its session, whose row has gone, ends too', async () => {
    const browser = await world.signIn();
    const tokens = await world.tokensOf(browser);
    await changeRow(
      ctx,
      'sessions',
      { provider_connection_id: world.connection.id },
      { expires_at: new Date(Date.now() - 9 * 86_400_000) },
    );
    const sessions = expiringTables(ctx.config).find(({ name }) => name === 'sessions');
    await deleteExpired(ctx.db.knex, sessions as never, ctx.clock.now(), { limit: 1000, from: null });
    expect(await isActive(tokens.access_token)).toBe(true);
    await postSet(world.url, await provider.set(world.url));
    expect(await isActive(tokens.access_token)).toBe(false);
  });

  test.each([
    ['somebody unknown', { sub_id: { format: 'iss_sub', iss: 'SELF', sub: 'stranger' } }],
    ['another issuer’s', { sub_id: { format: 'iss_sub', iss: 'https://other.example', sub: 'ada' } }],
    ['a format that names nobody here', { sub_id: { format: 'phone_number', phone_number: '+1' } }],
    ['a complex subject of nothing', { sub_id: { format: 'complex' } }],
    ['another event', { events: { 'https://schemas.openid.net/secevent/caep/event-type/credential-change': {} } }],
    ['a verification', { events: { 'https://schemas.openid.net/secevent/ssf/event-type/verification': {} }, sub_id: undefined }],
  ])('%s is answered alike, and ends nothing (specification 20.2.4)', async (_what, claims) => {
    const browser = await world.signIn();
    const text = JSON.stringify(claims, (_key, value: unknown) => (value === undefined ? null : value)).replace('SELF', upstream.url);
    const sent = Object.fromEntries(
      Object.entries(JSON.parse(text) as object).map(([name, value]): [string, unknown] => [name, value ?? undefined]),
    );
    const answer = await postSet(world.url, await provider.set(world.url, sent));
    expect([answer.status, await answer.text()]).toEqual([202, '']);
    expect(await isSignedIn(browser)).toBe(true);
    expect(await ctx.metrics.registry.metrics()).toContain('signals_received_total');
  });
});

describe('what is refused (specification 20.2.3)', () => {
  const set = async (claims: Record<string, unknown>) => postSet(world.url, await provider.set(world.url, claims));
  const later = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
  const wrong: [string, () => Promise<Response>, [number, string]][] = [
    ['another issuer', () => set({ iss: 'https://other.example' }), [400, 'invalid_issuer']],
    ['another audience (attack 54.1677)', () => set({ aud: 'https://other.example' }), [400, 'invalid_audience']],
    ['no jti', () => set({ jti: undefined }), [400, 'invalid_request']],
    ['a time to come', () => set({ iat: later(300) }), [400, 'invalid_request']],
    ['more than seven days', () => set({ iat: later(-8 * 86_400) }), [400, 'invalid_request']],
    ['an end in the past', () => set({ exp: later(-100) }), [400, 'invalid_request']],
    ['no events', () => set({ events: {} }), [400, 'invalid_request']],
    ['an event that is no object', () => set({ events: { [sessionRevoked]: 'x' } }), [400, 'invalid_request']],
    ['no subject', () => set({ sub_id: undefined }), [400, 'invalid_request']],
    ['a logout token as one (attack 54.1675)', async () => postSet(world.url, await provider.logoutToken()), [400, 'invalid_key']],
    ['an extension', () => set({ header: { crit: ['b64'], b64: true } }), [400, 'invalid_key']],
    [
      'unsigned (attack 54.1676)',
      async () => postSet(world.url, unsignedJwt({}, { alg: 'none', typ: 'secevent+jwt' })),
      [400, 'invalid_key'],
    ],
    ['nothing', () => postSet(world.url, 'x'), [400, 'invalid_key']],
    ['too much', () => postSet(world.url, 'x'.repeat(20_000)), [400, 'invalid_request']],
    ['another type of body', () => post(world.url, 'text/plain', 'x'), [400, 'invalid_request']],
    ['no body', () => fetch(world.url, { method: 'POST' }), [400, 'invalid_request']],
    ['a form without a token', () => post(world.url, 'application/x-www-form-urlencoded', 'a=b'), [400, 'invalid_request']],
  ];
  test.each(wrong)('%s', async (_what, send, [status, err]) => {
    const answer = await send();
    const body = (await answer.json()) as Record<string, string>;
    expect([answer.status, body['err']]).toEqual([status, err]);
    expect(String(body['description'])).not.toContain('other.example');
  });

  test.each<[string, Record<string, unknown>]>([
    ['another client', { aud: 'another' }],
    ['a nonce', { nonce: 'n' }],
    ['no event', { events: {} }],
    ['an event that is no object', { events: { [logoutEvent]: true } }],
    ['neither sub nor sid', { sub: undefined }],
    ['a sub that is no text', { sub: 7 }],
    ['no end', { exp: undefined }],
    ['no iat', { iat: undefined }],
    ['another type', { typ: 'at+jwt' }],
    ['a security event token (attack 54.1675)', { typ: 'secevent+jwt' }],
  ])('a logout token with %s is invalid_request', async (_what, claims) => {
    const answer = await postLogout(world.url, await provider.logoutToken(claims));
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'invalid_request' }]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test.each<[string, Record<string, unknown>]>([
    ['another address', { aud: 'https://other.example' }],
    ['two addresses', { aud: ['URL', 'https://other.example'] }],
    ['another client', { sub: 'another' }],
    ['more than five minutes', { exp: Math.floor(Date.now() / 1000) + 400 }],
    ['an end in the past', { at: new Date(Date.now() - 600_000) }],
    ['another issuer', { iss: 'https://other.example' }],
  ])('a global token revocation for %s is 401', async (_what, claims) => {
    const answer = await postRevocation(world.url, await provider.revocationToken(world.url, claims), bodyOf());
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Bearer')]);
  });

  test('a global token revocation without a token is 401, without a subject 400', async () => {
    expect((await post(world.url, 'application/json', JSON.stringify(bodyOf()))).status).toBe(401);
    for (const body of [{}, [], { sub_id: 'ada' }])
      expect((await postRevocation(world.url, await provider.revocationToken(world.url), body)).status).toBe(400);
  });

  test('a key that the token brings or names the place of, and a shared secret, sign nothing (attack 54.1676)', async () => {
    const key = await createClientKey('RS256', 'signals');
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: upstream.url, aud: world.url, iat: now, jti: 'stolen', ...bodyOf(), events: { [sessionRevoked]: {} } };
    const before = upstream.requests.length;
    for (const header of [{ jwk: key.jwk }, { jku: `${upstream.url}/evil` }, {}])
      expect(await errOf(await postSet(world.url, await key.sign(claims, { typ: 'secevent+jwt', ...header })))).toEqual([
        400,
        'invalid_key',
      ]);
    const hmac = `${Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'secevent+jwt' })).toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.AAAA`;
    expect(await errOf(await postSet(world.url, hmac))).toEqual([400, 'invalid_key']);
    expect(upstream.requests.slice(before).some(({ path }) => path === '/evil')).toBe(false);
  });

  test('another connection’s token is not this one’s, though one provider made both (attack 54.1677)', async () => {
    const other = await signalWorld(service, ctx, upstream, { provider_client_id: 'other' });
    const browser = await world.signIn();
    expect(await errOf(await postSet(other.url, await provider.set(world.url)))).toEqual([400, 'invalid_audience']);
    expect((await postLogout(other.url, await provider.logoutToken())).status).toBe(400);
    expect((await postRevocation(other.url, await provider.revocationToken(world.url), bodyOf())).status).toBe(401);
    expect((await postSet(other.url, await provider.set(other.url))).status).toBe(202);
    expect(await isSignedIn(browser)).toBe(true);
  });

  test('what came before does nothing again, also at another replica at once (attack 54.1679)', async () => {
    const sets = [await provider.set(world.url), await provider.logoutToken(), await provider.revocationToken(world.url)] as const;
    const send = [
      () => postSet(world.url, sets[0]),
      () => postLogout(world.url, sets[1]),
      () => postRevocation(world.url, sets[2], bodyOf()),
    ];
    const statuses = [];
    for (const one of send) statuses.push((await Promise.all([one(), one()])).map(({ status }) => status).toSorted());
    expect(statuses).toEqual([[202, 202], [200, 400], [204, 401]]); // prettier-ignore
    const browser = await world.signIn();
    for (const one of send) await one();
    expect(await isSignedIn(browser)).toBe(true);
  });

  test('of two replicas that get it at once one does what it says (attack 54.1679)', async () => {
    const { databaseUrl: url, secretKey, clock } = service;
    const replica = await startTestService({ ALLOW_PRIVATE_NETWORK: 'on', BASE_URL: service.url }, { database: { url, secretKey }, clock });
    const before = (await auditRows(service, 'signal.received')).length;
    const set = await provider.set(world.url);
    const there = world.url.replace(service.url, `http://127.0.0.1:${replica.config.port}`);
    const answers = await Promise.all([world.url, there].map((at) => postSet(at, set)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    expect((await auditRows(service, 'signal.received')).length - before).toBe(1);
    await replica.stop();
  });

  test('connections that take none, are disabled, or aren’t there are one 404', async () => {
    const at = (id: string) => `${service.url}/auth/sso/${id}/signals`;
    const off = await addConnection(ctx, { issuer: upstream.url });
    const disabled = await addConnection(ctx, { issuer: upstream.url, signals: 'push', status: 'disabled' });
    const polled = await addConnection(ctx, { issuer: upstream.url, signals: 'poll' });
    const answers = await Promise.all([off.id, disabled.id, polled.id, 'x'].map(async (id) => (await postSet(at(id), 'x')).text()));
    expect(new Set(answers).size).toBe(1);
    expect((await postSet(at(off.id), 'x')).status).toBe(404);
  });

  test('a refusal leaves a trace at the connection', async () => {
    await postSet(world.url, await provider.set(world.url, { aud: 'x' }));
    await flushSecurityTrail(service.deps);
    const rows = await auditRows(service, 'signal.refused');
    expect(rows).toContainEqual(expect.objectContaining({ reason: 'signal_not_for_us', target_id: world.connection.id }));
    const page = (connection_id: string, ...permissions: string[]) =>
      signedInWith(service, 'connections:read', ...permissions).then((one) =>
        one.get(`/dashboard/connections/${connection_id}/refused_signals`),
      );
    expect(await (await page(world.connection.id, 'security_events:read')).text()).toContain(
      'Signal of another issuer, or for another receiver',
    );
    const silent = await addConnection(ctx, { issuer: upstream.url });
    for (const refused of [await page(world.connection.id), await page(silent.id, 'security_events:read')])
      expect(refused.status).not.toBe(200);
  });
});

describe('a transmitter of its own', () => {
  test('its keys are where its metadata says, and its audience is what was agreed', async () => {
    upstream.instead.set('/.well-known/ssf-configuration/ssf', (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ issuer: `${upstream.url}/ssf`, jwks_uri: `${upstream.url}/all-keys` }));
    });
    const made = await signalWorld(service, ctx, upstream, {
      signals_issuer: `${upstream.url}/ssf`,
      signals_audience: 'https://agreed.example',
    });
    const browser = await made.signIn();
    expect((await postSet(made.url, await provider.set('https://agreed.example'))).status).toBe(400);
    const set = await provider.set('https://agreed.example', { iss: `${upstream.url}/ssf` });
    expect((await postSet(made.url, set)).status).toBe(202);
    expect(await isSignedIn(browser)).toBe(false);
  });
});

describe('polling (RFC 8936, specification 20.2.6)', () => {
  /** A connection with what polling needs. It is `off`: a pass of another test's leaves it alone. */
  const polled = async () => {
    const made = await signalWorld(service, ctx, upstream, { signals: 'off', signals_poll_url: `${upstream.url}/poll` });
    const sealed = ctx.crypto.sealer.seal('the token', providerSecretAad(made.connection.id));
    await changeRow(ctx, 'connections', { id: made.connection.id }, { signals_token_sealed: sealed });
    return made;
  };
  const poll = ({ connection }: Awaited<ReturnType<typeof polled>>, paused = new Map<string, number>()) =>
    pollConnection(service.deps, connection, paused);

  test('what is fetched acts, and is acknowledged; what is wrong is told, and nothing is asked again at once', async () => {
    const made = await polled();
    const browser = await made.signIn();
    const sets: Record<string, string> = { good: await provider.set(made.url), bad: await provider.set('https://other.example') };
    const keys: (string | undefined)[] = [];
    upstream.instead.set('/poll', async (req, res) => {
      keys.push(req.headers.authorization);
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ sets: keys.length === 1 ? sets : {} }));
    });
    await changeRow(ctx, 'connections', { id: made.connection.id }, { signals: 'poll' });
    // Another test may be at its own pass: one at a time.
    const fetched = async () => {
      await signalPollsPass(service.deps, new Map());
      return keys.length;
    };
    await expect.poll(fetched).toBeGreaterThanOrEqual(2);
    await changeRow(ctx, 'connections', { id: made.connection.id }, { signals: 'off' });
    expect(await isSignedIn(browser)).toBe(false);
    expect(new Set(keys)).toEqual(new Set(['Bearer the token']));
    const bodies = upstream.asked('/poll').map(({ body }) => JSON.parse([...body.keys()].join('')) as Record<string, unknown>);
    expect(bodies.filter((body) => 'ack' in body || 'setErrs' in body)).toEqual([
      expect.objectContaining({ ack: ['good'], setErrs: { bad: expect.objectContaining({ err: 'invalid_audience' }) } }),
    ]);
    expect(bodies.every((body) => body['returnImmediately'] === true)).toBe(true);
  });

  test('a pass reaches every connection, however many a page has', async () => {
    const made = [await polled(), await polled(), await polled()];
    const asked = async () => {
      await signalPollsPass(service.deps, new Map(), undefined, 1);
      return made.map(({ connection }) => upstream.asked(`/poll/${connection.id}`).length > 0);
    };
    for (const { connection } of made) {
      upstream.instead.set(`/poll/${connection.id}`, (_req, res) => void res.writeHead(200).end('{"sets":{}}'));
      await changeRow(
        ctx,
        'connections',
        { id: connection.id },
        { signals: 'poll', signals_poll_url: `${upstream.url}/poll/${connection.id}` },
      );
    }
    await expect.poll(asked).toEqual([true, true, true]);
    for (const { connection } of made) await changeRow(ctx, 'connections', { id: connection.id }, { signals: 'off' });
  });

  test.each([
    ['an answer whose token is no text', '{"sets":{"a":{"toString":1}}}', {}],
    ['a token of ours that does not open', '{}', { signals_token_sealed: Buffer.from('x') }],
  ])('%s keeps no other connection waiting (attack 71.1966)', async (_what, answer, broken) => {
    const [hostile, other] = [await polled(), await polled()];
    for (const [{ connection }, body, changes] of [
      [hostile, answer, broken],
      [other, '{}', {}],
    ] as const) {
      const signals_poll_url = `${upstream.url}/poll/${connection.id}`;
      upstream.instead.set(`/poll/${connection.id}`, (_req, res) => void res.writeHead(200).end(body));
      await changeRow(ctx, 'connections', { id: connection.id }, { signals: 'poll', signals_poll_url, ...changes });
    }
    const asked = async () => {
      await signalPollsPass(service.deps, new Map(), undefined, 1).catch(() => undefined);
      return upstream.asked(`/poll/${other.connection.id}`).length;
    };
    await expect.poll(asked, { timeout: 5_000 }).toBeGreaterThan(0);
    for (const { connection } of [hostile, other]) await changeRow(ctx, 'connections', { id: connection.id }, { signals: 'off' });
  });

  test.each([
    ['a failure', 503, '{}'],
    ['no JSON', 200, 'x'],
    ['too much', 200, `{"sets":"${'x'.repeat(1_100_000)}"}`],
  ])('%s is logged, and the transmitter is left alone for a minute', async (_what, status, body) => {
    const made = await polled();
    const before = upstream.asked('/poll').length;
    upstream.instead.set('/poll', (_req, res) => void res.writeHead(status).end(body));
    const paused = new Map<string, number>();
    expect([await poll(made, paused), await poll(made, paused)]).toEqual([0, 0]);
    expect(upstream.asked('/poll').length - before).toBe(1);
    expect(service.log.some((line) => line.includes('signals.poll_failed') && line.includes(made.connection.id))).toBe(true);
  });

  test('an answer of no tokens, or of what is none, ends the pass', async () => {
    const answers = ['{"sets":{"a":7}}', '{"sets":[]}', '{}'];
    upstream.instead.set('/poll', (_req, res) => void res.writeHead(200).end(answers.shift() ?? '{}'));
    expect(await poll(await polled())).toBe(1);
  });
});

describe('settings', () => {
  const guarded = sharedService(() => startManagedService({ ALLOW_PRIVATE_NETWORK: 'off' }));
  const api = shared(() => manage(guarded.url));
  const plain = {
    display_name: 'Corp',
    strategy: 'oidc',
    issuer: 'https://id.corp.example',
    provider_client_id: 'us',
    account_linking: 'ask',
  };
  const create = (attributes: Record<string, unknown>) => api.attempt('connections', { ...plain, ...attributes });
  const codes = ({ body }: Awaited<ReturnType<typeof create>>) =>
    (body['errors'] as { code: string; detail: string; source: { pointer: string } }[]).map(({ code, detail, source }) => {
      const at = source.pointer.split('/').at(-1);
      return `${code} ${at === 'attributes' ? (detail.match(/signals_\w+/)?.[0] ?? detail) : at}`;
    });

  test('polling needs a token; an address in our network is refused (attack 54.1680)', async () => {
    expect(codes(await create({ name: 'a', signals: 'poll' }))).toEqual(['required signals_token']);
    const at = (signals_poll_url: string) => create({ name: 'b', signals: 'poll', signals_poll_url, signals_token: 't' });
    expect(codes(await at('https://10.0.0.1/poll'))).toEqual(['url_address signals_poll_url']);
    expect(codes(await at('http://id.corp.example/poll'))).toEqual(['url_scheme signals_poll_url']);
    expect(codes(await create({ ...plain, name: 'c', strategy: 'saml', issuer: null, provider_client_id: undefined, signals: 'push', options: { idp_metadata_url: 'https://id.corp.example/m' } }))).toEqual(['required signals_issuer']); // prettier-ignore
  });

  test('a name that leads into our network is not asked when the time comes (attack 54.1680)', async () => {
    const inside = await guarded.context();
    const made = await addConnection(inside, { issuer: upstream.url, signals: 'poll', signals_poll_url: `${upstream.url}/inside` });
    const sealed = inside.crypto.sealer.seal('the token', providerSecretAad(made.id));
    await changeRow(inside, 'connections', { id: made.id }, { signals_token_sealed: sealed });
    expect(await pollConnection(guarded.deps, made, new Map())).toBe(0);
    expect(upstream.asked('/inside')).toEqual([]);
    expect(guarded.log.some((line) => line.includes('signals.poll_failed'))).toBe(true);
  });

  test('the token is never shown, and goes to another server only when it is said anew (attack 54.1681)', async () => {
    const made = await create({
      name: 'd',
      signals: 'poll',
      signals_poll_url: 'https://id.corp.example/poll',
      signals_token: 'very secret',
    });
    expect(made.status).toBe(201);
    const { id, attributes } = made.body['data'];
    expect(attributes).toMatchObject({ has_signals_token: true, signals_url: `${guarded.url}/auth/sso/${id as string}/signals` });
    expect(made.text).not.toContain('very secret');
    const patch = (changes: object) => api.update('connections', id, changes);
    expect((await patch({ signals_poll_url: 'https://id.corp.example/other' })).status).toBe(200);
    expect(codes(await patch({ signals_poll_url: 'https://evil.example/poll' }))).toEqual([expect.stringContaining('secret_required')]);
    expect((await patch({ signals_poll_url: 'https://evil.example/poll', signals_token: 'another' })).status).toBe(200);
    expect(codes(await patch({ signals_token: null }))).toEqual(['required signals_token']);
    expect((await patch({ signals: 'off', signals_token: null })).body['data'].attributes.has_signals_token).toBe(false);
  });
});

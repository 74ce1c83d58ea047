// Devices without a browser (RFC 8628) as they see the service: they start, ask, and get what their person allowed.
import * as oauth from 'oauth4webapi';
import { request as send } from 'undici';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { waitingDeviceCode } from '../../src/domain/device-codes/device-codes.js';
import { endSessions } from '../../src/domain/sessions/sessions.js';
import { withdrawConsent } from '../../src/domain/grants/authorizations.js';
import { transaction } from '../../src/domain/context.js';
import { addClient, addEnvironment, addResource, addUser, type TestClient } from '../support/data.js';
import type { Browser } from '../support/browser.js';
import { answerDevice, deviceCode, pollDevice, startDevice } from '../support/device.js';
import { createProofKey } from '../support/dpop.js';
import { claimsOf, oauthPost, tokenRequest } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const grants = [deviceCode, 'refresh_token'];
let tv: TestClient;
let confidential: TestClient;
let user: UserRow;
let browser: Browser;

beforeAll(async () => {
  const ctx = await service.context();
  const native = { application_type: 'native', token_endpoint_auth_method: 'none', redirect_uris: [] } as const;
  tv = await addClient(ctx, { ...native, redirect_uris: [], name: 'Acme TV', grant_types: grants });
  confidential = await addClient(ctx, { redirect_uris: [], grant_types: grants, first_party: false });
  user = await addUser(ctx);
});
beforeEach(async () => {
  browser = await signedIn(service, user);
});

const start = (client = tv, fields?: Record<string, string>) => startDevice(service.url, client, fields);
const poll = (device_code: string, client = tv, fields: Record<string, string> = {}) =>
  pollDevice(service.url, client, device_code, fields);
const approve = async (user_code: string, by = browser) => expect((await answerDevice(by, user_code)).status).toBe(200);
const errorOf = async (device_code: string, client = tv) => (await poll(device_code, client)).body.error;
const refused = async (client: TestClient, fields: Record<string, string>) =>
  (await oauthPost(service.url, '/oauth/device_authorization', client, fields)).body.error;
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const userinfo = async (token: string) => (await fetch(`${service.url}/oauth/userinfo`, bearer(token))).status;
const refresh = (refresh_token: string, client = tv) => tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token });

describe('the start', () => {
  test('gives two codes, an address to open and one with the code in it, ten minutes and five seconds; never cached (RFC 8628 3.2)', async () => {
    const answer = await oauthPost(service.url, '/oauth/device_authorization', tv, { scope: 'openid' });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const { user_code } = answer.body as { user_code?: string };
    expect(user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(answer.body).toEqual({
      device_code: expect.stringMatching(/^dc_[\w-]{43}$/) as string,
      user_code,
      verification_uri: `${service.url}/device`,
      verification_uri_complete: `${service.url}/device?user_code=${user_code}`,
      expires_in: 600,
      interval: 5,
    });
  });

  test('discovery names the endpoint and the grant type', async () => {
    const metadata = (await (await fetch(`${service.url}/.well-known/oauth-authorization-server`)).json()) as Record<string, unknown>;
    expect(metadata['device_authorization_endpoint']).toBe(`${service.url}/oauth/device_authorization`);
    expect(metadata['grant_types_supported']).toContain(deviceCode);
  });

  test('stores neither code: a digest, and a keyed one of the short code', async () => {
    const { device_code, user_code } = await start();
    const rows = JSON.stringify(await service.deps.db.knex('device_codes'));
    for (const secret of [device_code, user_code, user_code.replace('-', '')]) expect(rows).not.toContain(secret);
  });

  test('a client without the grant type, or without its secret, doesn’t start (attack 28.491)', async () => {
    const plain = await addClient(await service.context());
    expect(await refused(plain, {})).toBe('unauthorized_client');
    expect(await refused({ ...confidential, client_secret: 'wrong' }, {})).toBe('invalid_client');
    expect((await oauthPost(service.url, '/oauth/device_authorization', null, {})).status).toBe(401);
    expect((await poll((await start()).device_code, plain)).body.error).toBe('unauthorized_client');
  });

  test('a client that registers itself doesn’t get the grant type, and is told so by what is left (attack 28.491)', async () => {
    await service.deps.db.knex('environments').update({ dynamic_registration_enabled: true });
    service.deps.cache.clear();
    const register = async (grant_types: string[]) =>
      fetch(`${service.url}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: ['https://app.example/cb'], grant_types }),
      });
    const registered = (await (await register(['authorization_code', deviceCode])).json()) as Record<string, unknown>;
    expect(registered['grant_types']).toEqual(['authorization_code']);
    const nothing = await register([deviceCode]);
    expect([nothing.status, ((await nothing.json()) as { error: string }).error]).toEqual([400, 'invalid_client_metadata']);
  });

  test('a scope or resource beyond what the client may ask people for is refused there (attack 28.494)', async () => {
    const ctx = await service.context();
    const narrow = await addClient(ctx, { grant_types: grants, scopes: ['openid'] });
    expect(await refused(narrow, { scope: 'openid email' })).toBe('invalid_scope');
    expect(await refused(tv, { scope: 'bad"scope' })).toBe('invalid_scope');
    expect(await refused(tv, { resource: 'https://unknown.example' })).toBe('invalid_target');
    expect(await refused(tv, { resource: ctx.environment.management_audience })).toBe('invalid_target');
    expect(await refused(tv, { scope: 'a '.repeat(3000) })).toBe('invalid_request');
    const granted = await addResource(ctx, { identifier: 'https://granted.example', user_access: 'granted' });
    expect(await refused(tv, { resource: granted.identifier })).toBe('invalid_target');
  });

  test('a parameter sent twice is refused', async () => {
    const body = `client_id=${tv.id}&scope=openid&scope=email`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await fetch(`${service.url}/oauth/device_authorization`, { method: 'POST', headers, body });
    expect(await answer.json()).toMatchObject({ error: 'invalid_request', error_description: expect.stringContaining('twice') as string });
  });
});

describe('asking', () => {
  test('waits for the answer, gets the tokens once, and a certified library does all of it unmodified', async () => {
    const issuer = new URL(service.url);
    const insecure = { [oauth.allowInsecureRequests]: true };
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
    const theirs: oauth.Client = { client_id: tv.id };
    const asked = new URLSearchParams({ scope: 'openid profile' });
    const started = await oauth.processDeviceAuthorizationResponse(
      as,
      theirs,
      await oauth.deviceAuthorizationRequest(as, theirs, oauth.None(), asked, insecure),
    );
    const ask = async () =>
      oauth.processDeviceCodeResponse(
        as,
        theirs,
        await oauth.deviceCodeGrantRequest(as, theirs, oauth.None(), started.device_code, insecure),
      );
    await expect(ask()).rejects.toMatchObject({ error: 'authorization_pending', status: 400 });
    await approve(started.user_code);
    const tokens = await ask();
    expect(oauth.getValidatedIdTokenClaims(tokens)?.sub).toBe(user.id);
    expect(tokens.refresh_token).toMatch(/^rt_/);
    expect(await userinfo(tokens.access_token)).toBe(200);
    await expect(ask()).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  test('too soon is slow_down, five seconds more from then on, and kept (attack 28.493)', async () => {
    const { device_code } = await start();
    expect(await errorOf(device_code)).toBe('authorization_pending');
    expect(await errorOf(device_code)).toBe('slow_down');
    service.clock.advance(6_000);
    expect(await errorOf(device_code)).toBe('slow_down');
    service.clock.advance(15_000);
    expect(await errorOf(device_code)).toBe('authorization_pending');
    service.clock.advance(11_000);
    expect(await errorOf(device_code)).toBe('slow_down');
  });

  test('at the interval, to a fraction of a second, is in time', async () => {
    const { device_code } = await start();
    for (const _time of [1, 2, 3]) {
      expect(await errorOf(device_code)).toBe('authorization_pending');
      service.clock.advance(4_700);
    }
  });

  test('of another client is invalid_grant, tells it nothing, and doesn’t slow the device down (attack 28.481)', async () => {
    const { device_code, user_code } = await start();
    expect(await errorOf(device_code)).toBe('authorization_pending');
    for (const _time of [1, 2, 3]) expect(await errorOf(device_code, confidential)).toBe('invalid_grant');
    service.clock.advance(5_000);
    expect(await errorOf(device_code)).toBe('authorization_pending');
    await approve(user_code);
    expect(await errorOf(device_code, confidential)).toBe('invalid_grant');
    expect((await poll(device_code)).status).toBe(200);
  });

  test('with a code that never was, or without one', async () => {
    expect(await errorOf(`dc_${'a'.repeat(43)}`)).toBe('invalid_grant');
    expect((await tokenRequest(service.url, tv, { grant_type: deviceCode })).body.error).toBe('invalid_request');
  });

  test('by many requests at once gives tokens to one (attack 28.482)', async () => {
    const { device_code, user_code } = await start();
    await approve(user_code);
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => poll(device_code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
    expect(answers.filter(({ body }) => body.error === 'invalid_grant')).toHaveLength(4);
    expect(await errorOf(device_code)).toBe('invalid_grant');
  });

  test('after ten minutes is expired_token, answered or not, and the page knows the code no more (attack 28.487)', async () => {
    const [waiting, answered] = [await start(), await start()];
    await approve(answered.user_code);
    service.clock.advance(601_000);
    expect(await errorOf(waiting.device_code)).toBe('expired_token');
    expect(await errorOf(answered.device_code)).toBe('expired_token');
    expect((await browser.submit('/device', { user_code: waiting.user_code })).status).toBe(422);
  });

  test('after a no is access_denied, each time', async () => {
    const { device_code, user_code } = await start();
    await answerDevice(browser, user_code, 'deny');
    expect(await errorOf(device_code)).toBe('access_denied');
    expect(await errorOf(device_code)).toBe('access_denied');
  });

  test('knows the codes of its own environment alone (attack 28.492)', async () => {
    const foreign = await addEnvironment(service.deps, 'elsewhere');
    await addClient(foreign, { id: tv.id, token_endpoint_auth_method: 'none', grant_types: grants });
    const { device_code, user_code } = await start();
    const elsewhere = await send(`${service.url}/oauth/token`, {
      method: 'POST',
      headers: { host: new URL(foreign.environment.issuer).host, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: deviceCode, client_id: tv.id, device_code }).toString(),
    });
    expect([elsewhere.statusCode, await elsewhere.body.json()]).toMatchObject([400, { error: 'invalid_grant' }]);
    const letters = user_code.replace('-', '');
    expect(await waitingDeviceCode(foreign, letters)).toBeNull();
    expect(await waitingDeviceCode(await service.context(), letters)).not.toBeNull();
    expect(await errorOf(device_code)).toBe('authorization_pending');
  });
});

describe('what it gets', () => {
  async function connected(fields: Record<string, string> = { scope: 'openid offline_access' }, client = tv) {
    const { device_code, user_code } = await start(client, fields);
    await approve(user_code);
    return { device_code, tokens: async () => (await poll(device_code, client)).body };
  }

  test('for a resource: a token for that, with the scope that was allowed', async () => {
    const resource = await addResource(await service.context(), { identifier: 'https://api.example/films' });
    const { tokens } = await connected({ scope: 'openid read', resource: resource.identifier });
    // As another spelling of it is taken at the start, so it is with the code (RFC 8707 2.2).
    const spelled = `${resource.identifier}/`;
    const another = await connected({ scope: 'openid read', resource: spelled });
    const redeemed = await poll(another.device_code, tv, { resource: spelled });
    expect(claimsOf(redeemed.body.access_token)['aud']).toBe(resource.identifier);
    const { access_token, scope } = await tokens();
    expect([claimsOf(access_token)['aud'], scope]).toEqual([resource.identifier, 'openid read']);
    const other = await connected({ scope: 'openid' });
    expect((await poll(other.device_code, tv, { resource: resource.identifier })).body.error).toBe('invalid_target');
  });

  test('is a session of its own: signing out of the browser leaves it, revoking it ends all of it, offline_access too (attack 28.488)', async () => {
    const { access_token, refresh_token, id_token } = await (await connected()).tokens();
    const sid = claimsOf(id_token as string)['sid'] as string;
    await browser.submit('/logout', {});
    expect(await userinfo(access_token)).toBe(200);
    const { body } = await refresh(refresh_token as string);
    expect(body.access_token).toBeDefined();
    const ctx = await service.context();
    await transaction(ctx, (tx) => endSessions(tx, { id: sid }, 'revoked'));
    expect(await userinfo(access_token)).toBe(401);
    expect(await userinfo(body.access_token)).toBe(401);
    expect((await refresh(body.refresh_token as string)).body.error).toBe('invalid_grant');
  });

  test('proves what the browser’s sign-in proves, and no more: the same auth_time and amr', async () => {
    service.clock.advance(60_000);
    const { id_token } = await (await connected()).tokens();
    const { auth_time, amr, iat } = claimsOf(id_token as string) as { auth_time: number; amr: string[]; iat: number };
    expect(amr).toEqual(['pwd']);
    expect(iat - auth_time).toBeGreaterThanOrEqual(59);
  });

  test.each(['its session was revoked', 'all sessions were ended', 'the user was blocked', 'the permission was withdrawn'])(
    'is nothing when %s between the yes and the next question (attack 28.488)',
    async (happening) => {
      const { device_code } = await connected();
      const ctx = await service.context();
      const { session_id } = (await ctx.scope.knex('device_codes').orderBy('answered_at', 'desc').whereNotNull('session_id').first()) as {
        session_id: string;
      };
      await transaction(ctx, async (tx) => {
        if (happening === 'its session was revoked') await endSessions(tx, { id: session_id }, 'revoked');
        else if (happening === 'all sessions were ended') await endSessions(tx, { user_id: user.id }, 'password_reset');
        else if (happening === 'the user was blocked') await tx.scope.knex('users').where({ id: user.id }).update({ status: 'blocked' });
        else await withdrawConsent(tx, user.id, tv.id);
      });
      expect(await errorOf(device_code)).toBe('invalid_grant');
      expect(await ctx.scope.knex('refresh_tokens').where({ session_id })).toEqual([]);
      await ctx.scope.knex('users').where({ id: user.id }).update({ status: 'active' });
    },
  );

  test('ends with the permission of the application, the session of the device with it', async () => {
    const { access_token, refresh_token } = await (await connected({ scope: 'openid offline_access' }, confidential)).tokens();
    expect(await (await browser.get('/account')).text()).toContain(`id="application-${confidential.id}"`);
    await browser.submit('/account', {}, `/account/applications/${confidential.id}/revoke`);
    expect(await userinfo(access_token)).toBe(401);
    expect((await refresh(refresh_token as string, confidential)).body.error).toBe('invalid_grant');
    const live = await service.deps.db.knex('sessions').where({ device_client_id: confidential.id }).whereNull('revoked_at');
    expect(live).toEqual([]);
  });

  test('is bound to the key of a DPoP proof, which is good once, also while nobody has answered (attack 28.498)', async () => {
    const key = await createProofKey('ES256', () => service.clock.now().getTime());
    const other = await createProofKey('ES256', () => service.clock.now().getTime());
    const htu = `${service.url}/oauth/token`;
    const { device_code, user_code } = await start(tv, { scope: 'openid' });
    const ask = (dpop: string, fields: Record<string, string> = { grant_type: deviceCode, device_code }) =>
      oauthPost(service.url, '/oauth/token', tv, fields, { dpop });
    const early = await key.proof({ htu });
    expect((await ask(early)).body.error).toBe('authorization_pending');
    await approve(user_code);
    expect((await ask(early)).body.error).toBe('invalid_dpop_proof');
    const { body } = await ask(await key.proof({ htu }));
    expect(body['token_type']).toBe('DPoP');
    expect(await userinfo(body.access_token)).toBe(401);
    const refreshBy = (dpop: string) => ask(dpop, { grant_type: 'refresh_token', refresh_token: body.refresh_token as string });
    expect((await refresh(body.refresh_token as string)).body.error).toBe('invalid_grant');
    expect((await refreshBy(await other.proof({ htu }))).body.error).toBe('invalid_grant');
    expect((await refreshBy(await key.proof({ htu }))).status).toBe(200);
    expect((await ask(await key.proof({ htu }))).body.error).toBe('invalid_grant');
  });

  test('is told to webhooks that want token.issued, under its grant type', async () => {
    const ctx = await service.context();
    const now = ctx.clock.now();
    const id = '01890000-0000-7000-8000-000000000028';
    await ctx.scope.knex('webhooks').insert({
      environment_id: ctx.environment.id,
      id,
      name: 'tokens',
      url: 'http://127.0.0.1:9/never',
      events: ['token.issued'],
      secret_sealed: ctx.crypto.sealer.seal('whsec_AAAA', `webhooks/${id}`),
      secret_hint: 'AAAA',
      created_at: now,
      updated_at: now,
    });
    ctx.cache.invalidate(ctx.environment.id, 'webhooks');
    await (await connected()).tokens();
    const [event] = (await ctx.scope.knex('events').where({ event_type: 'token.issued' })) as { body: string }[];
    expect(JSON.parse(event?.body ?? '{}')).toMatchObject({ data: { grant_type: deviceCode, user_id: user.id } });
    await ctx.scope.knex('webhooks').where({ id }).delete();
    ctx.cache.invalidate(ctx.environment.id, 'webhooks');
  });
});

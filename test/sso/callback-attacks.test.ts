// Sign-in through a provider that misbehaves on purpose (docs/security.md, attacks of section 14).
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { listIdentities } from '../../src/domain/connections/identities.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { addUserRoles, findRoleByName } from '../../src/db/tables/roles.js';
import { findUser, findUserByEmailKey, updateUser } from '../../src/db/tables/users.js';
import { remove, table, update } from '../../src/db/scope.js';
import { updateEnvironment } from '../../src/db/tables/environments.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection, providerSecret } from '../support/connections.js';
import { addEnvironment, addUser, password } from '../support/data.js';
import { mailTo } from '../support/mailbox.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { codeOf, loginThrough, startAt, throughProvider } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService();
const ctx = contextOf(service);
let honest: ScriptedUpstream;
let evil: ScriptedUpstream;
let connection: ConnectionRow;
let browser: Browser;

const person = { sub: 'ada', email: 'ada@corp.example', email_verified: true, given_name: 'Ada', family_name: 'Lovelace' };

beforeAll(async () => {
  [honest, evil] = [await ScriptedUpstream.start(), await ScriptedUpstream.start()];
  connection = await addConnection(ctx, { issuer: honest.url });
});
afterAll(async () => {
  await honest?.close();
  await evil?.close();
});
beforeEach(() => {
  browser = new Browser(service.url);
  for (const upstream of [honest, evil]) {
    Object.assign(upstream, { claims: { ...person }, tokenClaims: {}, metadata: {}, answer: {} });
    upstream.instead.clear();
    upstream.requests.length = 0;
  }
});

/** What a refused login must leave as it was; that it was refused is told within a second, by `login.failed`. */
async function state(): Promise<string> {
  const counts = await Promise.all(
    ['users', 'identities', 'sessions'].map(async (name) => (await table(ctx.scope, name).select('environment_id')).length),
  );
  const events = await table(ctx.scope, 'events').whereNot('event_type', 'login.failed').select('environment_id');
  return [...counts, events.length].join();
}

/** Expects a refusal without any effect: nothing written, nobody signed in. */
async function expectRefused(attempt: () => Promise<Response>, status: number, code: string): Promise<void> {
  const [before, session] = [await state(), browser.cookies.get('idp_session')];
  const response = await attempt();
  expect([response.status, await codeOf(response)]).toEqual([status, code]);
  expect(response.headers.get('location')).toBeNull();
  expect(await state()).toBe(before);
  expect(browser.cookies.get('idp_session')).toBe(session);
}

const callback = (parameters: Record<string, string>, from = browser) => from.get(`/auth/sso/callback?${new URLSearchParams(parameters)}`);
const goBack = (url: URL, from = browser) => from.get(url.pathname + url.search);

describe('state', () => {
  test('no state, an unknown one or a repeated one is 400, and the provider is not asked (attack 14.150)', async () => {
    await startAt(browser, connection);
    await expectRefused(() => callback({ code: 'x' }), 400, 'sso_state_mismatch');
    await expectRefused(() => callback({ code: 'x', state: 'x'.repeat(43) }), 400, 'sso_state_mismatch');
    await expectRefused(() => callback({ code: 'x', state: '\u{1f600}'.repeat(400) }), 400, 'sso_state_mismatch');
    const back = await throughProvider(await startAt(browser, connection));
    await expectRefused(
      () => browser.get(`${back.pathname}${back.search}&state=${back.searchParams.get('state')}`),
      400,
      'sso_state_mismatch',
    );
    expect(honest.asked('/token')).toEqual([]);
  });

  test("another browser's state is 400, and still serves the browser that it belongs to (attack 14.150)", async () => {
    const back = await throughProvider(await startAt(browser, connection));
    const stranger = new Browser(service.url);
    expect((await goBack(back, stranger)).status).toBe(400);
    await startAt(stranger, connection);
    expect((await goBack(back, stranger)).status).toBe(400);
    expect(honest.asked('/token')).toEqual([]);
    expect((await goBack(back)).status).toBe(303);
  });

  test('a state is 400 a second time, also with the cookie of the first, and after ten minutes (attack 14.150)', async () => {
    const start = await startAt(browser, connection);
    const back = await throughProvider(start);
    const cookies = new Map(browser.cookies);
    expect((await goBack(back)).status).toBe(303);
    const again = new Browser(service.url);
    for (const [name, value] of cookies) again.cookies.set(name, value);
    browser = again;
    await expectRefused(() => goBack(back), 400, 'sso_state_mismatch');
    expect(honest.asked('/token')).toHaveLength(1);
    const late = await throughProvider(await startAt(browser, connection));
    service.clock.advance(601_000);
    await expectRefused(() => goBack(late), 400, 'sso_state_mismatch');
    expect(honest.asked('/token')).toHaveLength(1);
  });
});

describe('mix-up', () => {
  test("a malicious provider that sends people to the honest one is told by iss, and the other's code goes nowhere (attack 14.151)", async () => {
    const malicious = await addConnection(ctx, { issuer: evil.url, display_name: 'Malicious' });
    honest.answer = { iss: honest.url };
    const start = await startAt(browser, malicious);
    // The malicious provider forwards the browser to the honest one with the state of its own flow.
    const forwarded = new URL('/authorize', honest.url);
    forwarded.search = new URLSearchParams({ ...Object.fromEntries(start.searchParams), client_id: 'the-service' }).toString();
    const back = await throughProvider(forwarded);
    await expectRefused(() => goBack(back), 400, 'sso_state_mismatch');
    expect(evil.asked('/token')).toEqual([]);
    expect(honest.asked('/token')).toEqual([]);
  });

  test('a mix-up with an oauth2 connection, whose provider has no name, is told by its origin (attack 14.151)', async () => {
    const endpoints = {
      authorization_endpoint: `${evil.url}/authorize`,
      token_endpoint: `${evil.url}/token`,
      userinfo_endpoint: `${evil.url}/userinfo`,
    };
    const malicious = await addConnection(ctx, { strategy: 'oauth2', issuer: null, ...endpoints });
    const start = await startAt(browser, malicious);
    await expectRefused(
      () => callback({ code: 'of-the-other', state: start.searchParams.get('state') as string, iss: honest.url }),
      400,
      'sso_state_mismatch',
    );
    expect(evil.asked('/token')).toEqual([]);
  });

  test('an announced iss that is missing is refused (RFC 9207 2.4), an own one is fine (attack 14.151)', async () => {
    honest.metadata = { authorization_response_iss_parameter_supported: true };
    const announcing = await addConnection(ctx, { issuer: honest.url });
    const back = await throughProvider(await startAt(browser, announcing));
    await expectRefused(() => goBack(back), 400, 'sso_state_mismatch');
    expect(honest.asked('/token')).toEqual([]);
    honest.answer = { iss: honest.url };
    expect((await loginThrough(browser, announcing)).status).toBe(303);
    honest.answer = { iss: `${honest.url}/` };
    browser = new Browser(service.url);
    await expectRefused(() => loginThrough(browser, announcing), 400, 'sso_state_mismatch');
  });

  test("nobody is sent where a discovery document names another connection's authorization endpoint (attack 14.151)", async () => {
    evil.metadata = { authorization_endpoint: `${honest.url}/authorize` };
    const malicious = await addConnection(ctx, { issuer: evil.url });
    const response = await browser.get(`/auth/sso/${malicious.id}`);
    expect([response.status, response.headers.get('location')]).toEqual([502, null]);
  });

  test('a provider that takes codes elsewhere once the browser has left for the other one gets none (attack 14.1086)', async () => {
    const malicious = await addConnection(ctx, { issuer: evil.url });
    const authorization_endpoint = `${honest.url}/authorize`;
    evil.metadata = { authorization_endpoint, token_endpoint: `${honest.url}/token` };
    const victims = await throughProvider(await startAt(browser, malicious));
    // A sign-in that fails makes the service read the metadata anew.
    const accomplice = new Browser(service.url);
    const own = await startAt(accomplice, malicious);
    evil.metadata = { authorization_endpoint };
    await callback({ state: own.searchParams.get('state') as string, error: 'server_error' }, accomplice);
    await expectRefused(() => goBack(victims), 400, 'sso_state_mismatch');
    expect([...evil.asked('/token'), ...honest.asked('/token')]).toEqual([]);
  });

  test('a connection that is led elsewhere while the person is at its provider sends no code there (attack 14.1086)', async () => {
    const endpoints = { authorization_endpoint: `${honest.url}/authorize`, jwks_uri: `${honest.url}/jwks` };
    const led = await addConnection(ctx, { issuer: honest.url, ...endpoints, token_endpoint: `${honest.url}/token` });
    const back = await throughProvider(await startAt(browser, led));
    await update<ConnectionRow>(ctx.scope, 'connections', { id: led.id }, { token_endpoint: `${evil.url}/token` });
    ctx.cache.invalidate(ctx.environment.id, 'connections');
    await expectRefused(() => goBack(back), 400, 'sso_state_mismatch');
    expect([...evil.asked('/token'), ...honest.asked('/token')]).toEqual([]);
  });

  test("a discovery document that claims the other's issuer is refused (attack 14.151)", async () => {
    evil.metadata = { issuer: honest.url };
    const malicious = await addConnection(ctx, { issuer: evil.url });
    expect((await browser.get(`/auth/sso/${malicious.id}`)).status).toBe(502);
  });

  test("the honest code in the malicious flow's token answer signs nobody in: issuer, key and nonce are another's (attack 14.151)", async () => {
    const malicious = await addConnection(ctx, { issuer: evil.url });
    const start = await startAt(browser, malicious);
    const stolen = await honest.idToken(start.searchParams.get('nonce'));
    evil.instead.set(
      '/token',
      (_req, res) =>
        void res
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ access_token: 'a', token_type: 'Bearer', id_token: stolen })),
    );
    await expectRefused(async () => goBack(await throughProvider(start)), 400, 'sso_provider_error');
    evil.tokenClaims = { iss: evil.url };
    evil.instead.set('/jwks', (_req, res) => void res.end('{"keys":[]}'));
    evil.instead.delete('/token');
    await expectRefused(() => loginThrough(browser, malicious), 502, 'sso_provider_error');
  });
});

test("a flow that an attacker began is 400 in the victim's browser, and the reverse: no session is swapped (attack 14.153)", async () => {
  await addUser(ctx, { email: 'victim@example.com' });
  await browser.login('victim@example.com', password);
  const attacker = new Browser(service.url);
  const attackers = await throughProvider(await startAt(attacker, connection));
  await expectRefused(() => goBack(attackers), 400, 'sso_state_mismatch');
  const victims = await throughProvider(await startAt(browser, connection));
  expect((await goBack(victims, attacker)).status).toBe(400);
  expect(attacker.cookies.has('idp_session')).toBe(false);
});

describe('nonce and PKCE', () => {
  test('a nonce that is missing or another is 400, and nobody is signed in (attack 14.154)', async () => {
    honest.tokenClaims = { nonce: undefined };
    await expectRefused(() => loginThrough(browser, connection), 400, 'sso_state_mismatch');
    honest.tokenClaims = { nonce: 'another' };
    await expectRefused(() => loginThrough(browser, connection), 400, 'sso_state_mismatch');
  });

  test('a code that was made for another request of ours is refused, since the verifier does not fit (attack 14.154)', async () => {
    const other = await startAt(new Browser(service.url), connection);
    const injected = honest.issueCode(other.searchParams);
    const start = await startAt(browser, connection);
    await expectRefused(() => callback({ code: injected, state: start.searchParams.get('state') as string }), 502, 'sso_provider_error');
  });

  test('claims that contradict are refused: aud, azp, exp, iat, iss, alg none, HMAC with the secret (attack 14.154)', async () => {
    for (const claims of [{ aud: 'another' }, { aud: ['the-service', 'x'], azp: 'x' }, { exp: 1 }, { iss: evil.url }, { exp: undefined }]) {
      honest.tokenClaims = claims;
      await expectRefused(() => loginThrough(browser, connection), 400, 'sso_provider_error');
    }
    honest.tokenClaims = {};
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    honest.instead.set('/token', (_req, res) => {
      const claims = { iss: honest.url, aud: 'the-service', iat: now, exp: now + 60, ...person };
      res
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ access_token: 'a', token_type: 'Bearer', id_token: `${encode({ alg: 'none' })}.${encode(claims)}.` }));
    });
    await expectRefused(() => loginThrough(browser, connection), 400, 'sso_provider_error');
    honest.instead.clear();
    honest.metadata = { id_token_signing_alg_values_supported: ['RS256', 'HS256'] };
    const symmetric = await addConnection(ctx, { issuer: honest.url });
    const start = await startAt(browser, symmetric);
    const claims = { iss: honest.url, aud: 'the-service', iat: now, exp: now + 60, nonce: start.searchParams.get('nonce'), ...person };
    const forged = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(providerSecret));
    honest.instead.set(
      '/token',
      (_req, res) =>
        void res
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ access_token: 'a', token_type: 'Bearer', id_token: forged })),
    );
    await expectRefused(async () => goBack(await throughProvider(start)), 502, 'sso_provider_error');
  });

  test('an access token or a code that is not the ID token’s own signs nobody in: at_hash and c_hash are checked where they are there (OIDC Core 3.1.3.6, attack 14.1020)', async () => {
    const other = 'LDktKdoQak3Pk0cnXxCltA';
    for (const claims of [{ at_hash: other }, { c_hash: other }, { at_hash: '' }, { at_hash: null }, { c_hash: ['x'] }]) {
      honest.tokenClaims = claims;
      await expectRefused(() => loginThrough(browser, connection), 400, 'sso_provider_error');
    }
    for (const claims of [{}, { at_hash: undefined, c_hash: undefined }]) {
      honest.tokenClaims = claims;
      browser = new Browser(service.url);
      expect((await loginThrough(browser, connection)).status).toBe(303);
    }
  });

  test('a token signed with a key that the provider does not publish is refused (attack 14.154)', async () => {
    honest.instead.set('/jwks', (_req, res) => void res.end(JSON.stringify({ keys: [] })));
    const fresh = await addConnection(ctx, { issuer: honest.url });
    await expectRefused(() => loginThrough(browser, fresh), 502, 'sso_provider_error');
  });
});

describe('unverified addresses', () => {
  test.each([[false], [undefined], ['true'], [1], [null]])(
    'an address with email_verified %j is not linked, not logged in, not registered, in any mode (attack 14.156)',
    async (email_verified) => {
      const user = (await findUserByEmailKey(ctx.scope, 'local@corp.example')) ?? (await addUser(ctx, { email: 'local@corp.example' }));
      for (const account_linking of ['verified_email', 'ask', 'never'] as const) {
        const one = await addConnection(ctx, { issuer: honest.url, account_linking });
        honest.claims = { ...person, sub: 'mallory', email: 'local@corp.example', email_verified };
        await expectRefused(() => loginThrough(browser, one), 403, 'sso_email_unverified');
        honest.claims = { ...person, sub: 'nobody', email: 'nobody@corp.example', email_verified };
        await expectRefused(() => loginThrough(browser, one), 403, 'sso_email_unverified');
      }
      expect(await listIdentities(ctx, user.id)).toEqual([]);
    },
  );

  test('no address, or one that is none, signs nobody in (attack 14.156)', async () => {
    for (const email of [undefined, '', 'no address', 'a@b@corp.example', 7]) {
      honest.claims = { ...person, sub: 'no-address', email };
      await expectRefused(() => loginThrough(browser, connection), 403, 'sso_email_missing');
    }
  });

  test('an address that userinfo verifies does not count for another one in the ID token (attack 14.156)', async () => {
    honest.tokenClaims = { email: 'local@corp.example', email_verified: undefined, given_name: undefined, sub: 'mixed' };
    honest.claims = { sub: 'mixed', email: 'mallory@evil.example', email_verified: true };
    await expectRefused(() => loginThrough(browser, connection), 403, 'sso_email_unverified');
  });

  test('with trust_email an address of the own domains counts as verified when nothing is said, and no other (attack 14.156)', async () => {
    const trusting = await addConnection(ctx, { issuer: honest.url, domains: ['trusted.example'], options: { trust_email: true } });
    honest.claims = { ...person, sub: 'trusted', email: 'new@trusted.example', email_verified: undefined };
    expect((await loginThrough(new Browser(service.url), trusting)).status).toBe(303);
    honest.claims = { ...person, sub: 'trusted-2', email: 'new2@trusted.example', email_verified: false };
    await expectRefused(() => loginThrough(browser, trusting), 403, 'sso_email_unverified');
    honest.claims = { ...person, sub: 'trusted-3', email: 'local@corp.example', email_verified: undefined };
    await expectRefused(() => loginThrough(browser, trusting), 403, 'sso_email_unverified');
    await remove<ConnectionRow>(ctx.scope, 'connections', { id: trusting.id });
    ctx.cache.invalidate(ctx.environment.id, 'connections');
  });
});

describe('linking', () => {
  /** The link page's form, filled in. */
  async function prove(from: Browser, page: Response, typed: string): Promise<Response> {
    const html = await page.text();
    expect(html).toContain('id="link-account"');
    const link = /name="link" value="([^"]+)"/.exec(html)?.[1] as string;
    return from.post('/auth/sso/link', { _csrf: csrfOf(html), link, password: typed });
  }

  test('an address verified on both sides is linked in mode verified_email, once and for the same user (attack 14.157)', async () => {
    const user = await addUser(ctx, { email: 'both@corp.example' });
    honest.claims = { ...person, sub: 'both', email: 'BOTH@corp.example' };
    expect((await loginThrough(browser, connection)).status).toBe(303);
    expect((await loginThrough(new Browser(service.url), connection)).status).toBe(303);
    expect(await listIdentities(ctx, user.id)).toHaveLength(1);
    expect(await findUser(ctx.scope, user.id)).toMatchObject({ first_name: 'Ada', login_count: 2 });
    // The second browser is told of by a mail of its own.
    const mails = (await mailTo(service.url, 'both@corp.example')).filter(({ subject }) => !subject.startsWith('New sign-in'));
    expect(mails.map(({ subject }) => subject)).toEqual([expect.stringContaining('You can now sign in')]);
    expect(mails[0]?.text).toContain(`${service.url}/account`);
  });

  test('an account that may administer is linked only with its own proof, whatever the mode (attack 14.157)', async () => {
    const user = await addUser(ctx, { email: 'root@corp.example' });
    const role = await findRoleByName(ctx.scope, 'administrator');
    await addUserRoles(ctx.scope, user.id, [role?.id as string]);
    honest.claims = { ...person, sub: 'root', email: 'root@corp.example' };
    const own = new Browser(service.url);
    const page = await loginThrough(own, connection);
    expect(page.status).toBe(200);
    expect(await listIdentities(ctx, user.id)).toHaveLength(0);
    expect((await prove(own, page, password)).status).toBe(303);
    expect(await listIdentities(ctx, user.id)).toHaveLength(1);
  });

  test('mode never links nothing and is sso_account_exists (attack 14.157)', async () => {
    const never = await addConnection(ctx, { issuer: honest.url, account_linking: 'never' });
    await addUser(ctx, { email: 'never@corp.example' });
    honest.claims = { ...person, sub: 'never', email: 'never@corp.example' };
    await expectRefused(() => loginThrough(browser, never), 409, 'sso_account_exists');
  });

  test.each([
    ['mode ask', { account_linking: 'ask' as const }, { email_verified: true }],
    ['a local address that was never verified', {}, { email_verified: false }],
  ])('linked only after the local password, and by no wrong one: %s (attack 14.157)', async (name, mode, local) => {
    const asking = await addConnection(ctx, { issuer: honest.url, ...mode });
    const email = `${name.replaceAll(' ', '-')}@corp.example`;
    const user = await addUser(ctx, { email, ...local });
    honest.claims = { ...person, sub: `sub of ${name}`, email };
    const page = await loginThrough(browser, asking);
    expect([page.status, browser.cookies.has('idp_session')]).toEqual([200, false]);
    const again = page.clone();
    const wrong = await prove(browser, page, 'not the password');
    expect([wrong.status, browser.cookies.has('idp_session'), await listIdentities(ctx, user.id)]).toEqual([401, false, []]);
    const right = await prove(browser, again, password);
    expect([right.status, right.headers.get('location'), browser.cookies.has('idp_session')]).toEqual([303, '/account', true]);
    expect(await listIdentities(ctx, user.id)).toMatchObject([{ subject: `sub of ${name}`, connection_id: asking.id }]);
    expect((await loginThrough(new Browser(service.url), asking)).status).toBe(303);
  });

  test("an address whose domain is another connection's is neither linked nor registered by this one (attack 14.157)", async () => {
    const owner = await addConnection(ctx, { issuer: evil.url, domains: ['owned.example'] });
    await addUser(ctx, { email: 'known@owned.example' });
    for (const sub of ['known', 'new']) {
      honest.claims = { ...person, sub, email: `${sub}@owned.example` };
      await expectRefused(() => loginThrough(browser, connection), 403, 'sso_domain_not_allowed');
    }
    await remove<ConnectionRow>(ctx.scope, 'connections', { id: owner.id });
    ctx.cache.invalidate(ctx.environment.id, 'connections');
  });

  test('the proof is bound: another browser, a changed or an old form, a disabled connection are refused (attack 14.157)', async () => {
    const asking = await addConnection(ctx, { issuer: honest.url, account_linking: 'ask' });
    const user = await addUser(ctx, { email: 'bound@corp.example' });
    honest.claims = { ...person, sub: 'bound', email: 'bound@corp.example' };
    const html = await (await loginThrough(browser, asking)).text();
    const link = /name="link" value="([^"]+)"/.exec(html)?.[1] as string;
    const send = (form: string, from = browser, token = csrfOf(html)) =>
      from.post('/auth/sso/link', { _csrf: token, link: form, password });
    const thief = new Browser(service.url);
    const thiefToken = csrfOf(await (await thief.get('/login')).text());
    expect((await send(link, thief, thiefToken)).status).toBe(400);
    await startAt(thief, asking);
    expect((await send(link, thief, thiefToken)).status).toBe(400);
    expect((await send(`${link.slice(0, -4)}AAAA`)).status).toBe(400);
    expect((await send('')).status).toBe(400);
    expect((await browser.post('/auth/sso/link', { link, password })).status).toBe(403);
    await update<ConnectionRow>(ctx.scope, 'connections', { id: asking.id }, { status: 'disabled' });
    ctx.cache.invalidate(ctx.environment.id, 'connections');
    expect((await send(link)).status).toBe(404);
    await update<ConnectionRow>(ctx.scope, 'connections', { id: asking.id }, { status: 'enabled' });
    ctx.cache.invalidate(ctx.environment.id, 'connections');
    service.clock.advance(601_000);
    expect((await send(link)).status).toBe(400);
    expect(await listIdentities(ctx, user.id)).toEqual([]);
  });

  test('guesses on the link page count towards the lock of the account (attack 14.157)', async () => {
    const asking = await addConnection(ctx, { issuer: honest.url, account_linking: 'ask' });
    const user = await addUser(ctx, { email: 'locked@corp.example' });
    honest.claims = { ...person, sub: 'locked', email: 'locked@corp.example' };
    const page = await loginThrough(browser, asking);
    for (let guess = 1; guess <= ctx.environment.lockout_threshold; guess++)
      expect((await prove(browser, page.clone(), `guess ${guess}`)).status).toBe(401);
    expect((await prove(browser, page, password)).status).toBe(401);
    expect(await listIdentities(ctx, user.id)).toEqual([]);
  });

  test('an account without a password has no proof to ask for and is sso_account_exists (attack 14.157)', async () => {
    const asking = await addConnection(ctx, { issuer: honest.url, account_linking: 'ask' });
    await addUser(ctx, { email: 'passwordless@corp.example', password_hash: null });
    honest.claims = { ...person, sub: 'passwordless', email: 'passwordless@corp.example' };
    await expectRefused(() => loginThrough(browser, asking), 409, 'sso_account_exists');
  });
});

describe('subjects', () => {
  test('the same sub from two connections, or in other case, is separate users (attack 14.159)', async () => {
    const other = await addConnection(ctx, { issuer: evil.url });
    const ids = new Set<string>();
    for (const [one, upstream, sub, email] of [
      [connection, honest, 'same', 'one@corp.example'],
      [other, evil, 'same', 'two@corp.example'],
      [connection, honest, 'SAME', 'three@corp.example'],
    ] as const) {
      upstream.claims = { ...person, sub, email };
      expect((await loginThrough(new Browser(service.url), one)).status).toBe(303);
      ids.add((await findUserByEmailKey(ctx.scope, email))?.id as string);
    }
    expect(ids.size).toBe(3);
  });

  test.each<[string, unknown]>([
    ['empty', ''],
    ['a number', 7],
    ['absent', undefined],
    ['null', null],
    ['of 10 kB', 'x'.repeat(10_240)],
    ['a list', ['ada']],
    ['with a NUL', 'a\u0000b'],
  ])('a sub that is %s gets 400 (attack 14.159)', async (_name, sub) => {
    honest.claims = { ...person, sub };
    await expectRefused(() => loginThrough(browser, connection), 400, 'sso_provider_error');
  });
});

describe('connections that are not there', () => {
  test('a connection that is unknown, disabled, malformed or of another environment is one 404 at the start (attack 14.160)', async () => {
    const disabled = await addConnection(ctx, { issuer: honest.url, status: 'disabled' });
    const foreign = await addConnection(await addEnvironment(service.deps, 'foreign'), { issuer: honest.url });
    const before = await state();
    for (const id of [
      disabled.id,
      foreign.id,
      '019a0000-0000-7000-8000-000000000000',
      'x',
      '%00',
      `${connection.id}'`,
      connection.id.toUpperCase(),
    ]) {
      const response = await browser.get(`/auth/sso/${id}`);
      expect([id, response.status, await codeOf(response)]).toEqual([id, 404, 'not_found']);
      expect(response.headers.getSetCookie()).toEqual([]);
    }
    expect(await state()).toBe(before);
    expect(honest.requests).toEqual([]);
  });

  test('a connection disabled or deleted on the way is 404, and the provider is not asked (attack 14.160)', async () => {
    for (const change of [
      (id: string) => update<ConnectionRow>(ctx.scope, 'connections', { id }, { status: 'disabled' }),
      (id: string) => remove<ConnectionRow>(ctx.scope, 'connections', { id }),
    ]) {
      const passing = await addConnection(ctx, { issuer: honest.url });
      const back = await throughProvider(await startAt(browser, passing));
      await change(passing.id);
      ctx.cache.invalidate(ctx.environment.id, 'connections');
      await expectRefused(() => goBack(back), 404, 'not_found');
    }
    expect(honest.asked('/token')).toEqual([]);
  });

  test("a state of one environment is 400 on another one's callback (attack 14.160)", async () => {
    const back = await throughProvider(await startAt(browser, connection));
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { host: new URL(service.url).host.replace('localhost', 'foreign.localhost'), cookie };
      get(`${service.url}${back.pathname}${back.search}`, { headers }, resolve).on('error', reject);
    });
    response.resume();
    expect(response.statusCode).toBe(400);
    expect((await goBack(back)).status).toBe(303);
  });
});

test('a blocked user is refused and stays blocked, also when the account would only be linked now (attack 14.162)', async () => {
  honest.claims = { ...person, sub: 'blocked', email: 'blocked@corp.example' };
  await loginThrough(new Browser(service.url), connection);
  const user = await findUserByEmailKey(ctx.scope, 'blocked@corp.example');
  await updateUser(ctx.scope, user?.id as string, { status: 'blocked' });
  await expectRefused(() => loginThrough(browser, connection), 403, 'account_blocked');
  await addUser(ctx, { email: 'blocked-2@corp.example', status: 'blocked' });
  honest.claims = { ...person, sub: 'blocked-2', email: 'blocked-2@corp.example' };
  await expectRefused(() => loginThrough(browser, connection), 403, 'account_blocked');
  expect(await findUser(ctx.scope, user?.id as string)).toMatchObject({ status: 'blocked', login_count: 1 });
});

test('allowed_email_domains admits exactly those, whatever the spelling (attack 14.163)', async () => {
  await updateEnvironment(ctx.scope, ctx.environment.id, { allowed_email_domains: ['Corp.example', 'bücher.example'] });
  service.deps.cache.clear();
  for (const [email, status, code] of [
    ['u@corp.evil', 403, 'sso_domain_not_allowed'],
    ['u@evilcorp.example', 403, 'sso_domain_not_allowed'],
    ['u@sub.corp.example', 403, 'sso_domain_not_allowed'],
    ['u@corp.example.evil', 403, 'sso_domain_not_allowed'],
    ['U@CORP.EVIL', 403, 'sso_domain_not_allowed'],
    ['u@c\u043erp.example', 403, 'sso_domain_not_allowed'],
    ['u@evil@corp.example', 403, 'sso_email_missing'],
    ['u@corp.example\n@evil', 403, 'sso_email_missing'],
  ] as const) {
    honest.claims = { ...person, sub: `163 ${email}`.replaceAll('\n', ''), email };
    await expectRefused(() => loginThrough(browser, connection), status, code);
  }
  for (const email of ['allowed@CORP.EXAMPLE', 'allowed@bücher.example']) {
    honest.claims = { ...person, sub: `163 ${email}`, email };
    expect((await loginThrough(new Browser(service.url), connection)).status).toBe(303);
  }
  await updateEnvironment(ctx.scope, ctx.environment.id, { allowed_email_domains: [] });
  service.deps.cache.clear();
});

describe('a provider that misbehaves', () => {
  const fill = (size: number) => `{"access_token":"${'x'.repeat(size)}"}`;
  test.each([
    ['50 MB of JSON', '/token', (res: ServerResponse) => void res.end(fill(50_000_000))],
    ['a gzip bomb', '/token', (res: ServerResponse) => void res.setHeader('content-encoding', 'gzip').end(gzipSync(fill(20_000_000)))],
    ['a redirect', '/token', (res: ServerResponse) => void res.writeHead(307, { location: `${evil.url}/token` }).end()],
    ['a closed socket', '/token', (res: ServerResponse) => void res.destroy()],
    ['HTML', '/token', (res: ServerResponse) => void res.end('<h1>hello')],
    ['deep JSON', '/token', (res: ServerResponse) => void res.setHeader('content-type', 'application/json').end('['.repeat(100_000))],
    [
      'an error with markup',
      '/token',
      (res: ServerResponse) => void res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"<script>alert(1)</script>"}'),
    ],
    ['500', '/token', (res: ServerResponse) => void res.writeHead(500).end()],
    ['broken keys', '/jwks', (res: ServerResponse) => void res.end('{"keys":"none"}')],
  ])('502 and a plain page for %s (attack 14.165)', async (_name, path, handler) => {
    const fresh = await addConnection(ctx, { issuer: honest.url });
    honest.instead.set(path, (_req, res) => handler(res));
    await expectRefused(() => loginThrough(browser, fresh), 502, 'sso_provider_error');
    expect(evil.asked('/token')).toEqual([]);
  });

  test('one byte a second, or nothing at all, is 502 within ten seconds, at the callback and at the start; others are served meanwhile (attack 14.165)', async () => {
    const [slow, silent] = [await addConnection(ctx, { issuer: honest.url }), await addConnection(ctx, { issuer: evil.url })];
    honest.instead.set('/token', (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => res.write(' '), 1000);
      res.on('close', () => clearInterval(timer));
    });
    evil.instead.set('/.well-known/openid-configuration', () => {});
    const started = performance.now();
    const [dripping, other] = await Promise.all([
      loginThrough(browser, slow),
      new Browser(service.url).get(`/auth/sso/${silent.id}`),
      new Browser(service.url).get('/login'),
    ]);
    expect([dripping.status, other.status]).toEqual([502, 502]);
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  test('error=<script> and other errors get a plain page, the code of the refusal, nothing echoed (attack 14.165)', async () => {
    for (const [error, status, code] of [
      ['access_denied', 403, 'sso_access_denied'],
      ['<script>alert(1)</script>', 502, 'sso_provider_error'],
      ['server_error', 502, 'sso_provider_error'],
    ] as const) {
      const start = await startAt(browser, connection);
      const response = await callback({ error, error_description: '<img src=x>', state: start.searchParams.get('state') as string });
      const html = await response.text();
      expect([response.status, /id="error-code">([^<]*)</.exec(html)?.[1]]).toEqual([status, code]);
      expect(html).not.toContain('alert(1)');
      expect(html).not.toContain('<img src=x');
    }
    const start = await startAt(browser, connection);
    expect((await callback({ state: start.searchParams.get('state') as string })).status).toBe(400);
  });

  test('a dead provider fails its own login only; it is asked again the next time (attack 14.165)', async () => {
    const port = new URL(evil.url).port;
    const dead = await addConnection(ctx, { issuer: `http://127.0.0.1:${port}/nowhere` });
    expect((await browser.get(`/auth/sso/${dead.id}`)).status).toBe(502);
    expect((await loginThrough(browser, connection)).status).toBe(303);
  });
});

describe('return_to and secrets', () => {
  test.each([
    'https://evil.example', '//evil.example', '/\\evil.example', '/\t/evil.example', '\\\\evil.example', 'javascript:alert(1)',
    '@evil.example', '/..//evil.example', '/%0d%0aSet-Cookie:x=y',
  ])('return_to %j stays on the own origin (attack 14.166)', async (return_to) => {
    const response = await loginThrough(browser, connection, { return_to });
    const location = response.headers.get('location') as string;
    expect([response.status, new URL(location, service.url).origin]).toEqual([303, service.url]);
    expect(location).toMatch(/^\/(account|%0d%0aSet-Cookie:x=y)$/);
    expect(browser.cookies.has('x')).toBe(false);
  }); // prettier-ignore

  test('neither log nor page nor address ever shows a secret (attack 14.166)', async () => {
    expect((await loginThrough(new Browser(service.url), connection)).status).toBe(303);
    const log = service.log.join('\n');
    for (const secret of [
      providerSecret,
      'upstream-access-token-',
      'code_verifier',
      ...honest.asked('/token').map(({ body }) => body.get('code_verifier') as string),
    ]) {
      expect(log.includes(secret)).toBe(false);
    }
    expect(JSON.stringify(await table(ctx.scope, 'identities'))).not.toContain('upstream-access-token-');
  });
});

test('the log says of each refusal above what decided, and nothing of the person (specification 8.2.3)', () => {
  const refused = service.log.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ event }) => event === 'sso.refused');
  const codes = ['sso_email_missing', 'sso_email_unverified', 'sso_account_exists', 'sso_domain_not_allowed'];
  expect([...new Set(refused.map(({ outcome }) => outcome))]).toEqual(expect.arrayContaining(codes));
  expect(refused.filter(({ detail }) => typeof detail !== 'string' || detail === '' || /\w@\w/.test(detail))).toEqual([]);
});

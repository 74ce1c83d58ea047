// A provider's sign-in is a first step; what it says of second factors counts as far as the connection says, and no further.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { shared, sharedService } from '../support/shared-service.js';
import { listIdentities, linkIdentity } from '../../src/domain/connections/identities.js';
import { acrOf } from '../../src/domain/sessions/authentication-context.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { findSession, findSessionByToken } from '../../src/db/tables/sessions.js';
import { findUser, updateUser, type UserRow } from '../../src/db/tables/users.js';
import { digest } from '../../src/lib/digest.js';
import { providerTrust } from '../../src/domain/sign-ins/provider-trust.js';
import { authorizeGet, authorizeQuery } from '../support/authorize.js';
import { Browser, csrfOf, locationParameters, pkcePair } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient, password, type TestClient } from '../support/data.js';
import { claimsOf, redeem } from '../support/oauth.js';
import { addTwoStepUser, totpCode } from '../support/factors.js';
import { addUserWith, setEnvironment } from '../support/signed-in.js';
import { codeOf, loginThrough } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

let upstream: ScriptedUpstream;
let client: TestClient;
const connections: Record<string, ConnectionRow> = {};
const seconds = () => Math.floor(Date.now() / 1000);

const service = sharedService();
const ctx = shared(() => service.context());
beforeAll(async () => {
  upstream = await ScriptedUpstream.start();
  client = await addClient(ctx);
  const trusted_acr_values = ['urn:corp:strong', 'phr'];
  for (const second_factor of ['own', 'asserted', 'provider'] as const)
    connections[second_factor] = await addConnection(ctx, { issuer: upstream.url, second_factor, trusted_acr_values });
});
afterAll(async () => upstream?.close());
beforeEach(async () => {
  upstream.tokenClaims = {};
  await setEnvironment(service, { second_factor_policy: 'optional' });
});

const connection = (second_factor: string) => connections[second_factor] as ConnectionRow;

/** Somebody whose account at the provider is linked through all of them. */
async function linked(...kinds: Parameters<typeof addUserWith>[1]): Promise<UserRow> {
  const user = await addUserWith(ctx, kinds);
  for (const { id } of Object.values(connections))
    await linkIdentity(ctx, user.id, { connection_id: id, subject: user.id, email: user.email, claims: {}, generation: 1 });
  return user;
}

async function comeIn(user: UserRow, through: string, said: Record<string, unknown> = {}): Promise<{ browser: Browser; to: string }> {
  upstream.claims = { sub: user.id, email: user.email, email_verified: true };
  upstream.tokenClaims = { auth_time: seconds(), ...said };
  const browser = new Browser(service.url);
  const to = (await loginThrough(browser, connection(through))).headers.get('location') ?? '';
  return { browser, to: to.split('?')[0] ?? '' };
}

const sessionOf = async (browser: Browser) => {
  const session = await findSessionByToken(ctx.scope, digest(browser.cookies.get('idp_session') ?? ''));
  if (!session) throw new Error('nobody is signed in');
  return session;
};

describe('what a connection makes of the provider’s word', () => {
  const said = (acr: string | null, ...amr: string[]) => ({ acr, amr, auth_time: null });
  const trusted_acr_values = ['urn:corp:strong', 'phr', 'phrh'];
  test.each([
    ['own', said('phr', 'mfa', 'pop'), { asserted: null, suffices: false }],
    ['provider', said('phr', 'mfa'), { asserted: null, suffices: true }],
    ['asserted', said(null, 'pwd'), { asserted: null, suffices: false }],
    ['asserted', said(null, 'pwd', 'mfa'), { asserted: '2', suffices: false }],
    ['asserted', said('urn:corp:strong'), { asserted: '2', suffices: false }],
    ['asserted', said('urn:corp:weak'), { asserted: null, suffices: false }],
    ['asserted', said('phr'), { asserted: 'phr', suffices: false }],
    ['asserted', said('phrh', 'mfa'), { asserted: 'phr', suffices: false }],
    ['asserted', said('2'), { asserted: null, suffices: false }],
  ] as const)('%s, of %j: %j', (second_factor, authentication, trust) => {
    expect(
      providerTrust({ second_factor, trusted_acr_values: [...trusted_acr_values] }, { ...authentication, amr: [...authentication.amr] }),
    ).toEqual(trust);
  });

  test('phr is phr only where that very value is trusted: mfa beside it is class 2 (attack 25.590)', () => {
    expect(providerTrust({ second_factor: 'asserted', trusted_acr_values: [] }, said('phr', 'mfa'))).toEqual({
      asserted: '2',
      suffices: false,
    });
    expect(providerTrust({ second_factor: 'asserted', trusted_acr_values: ['urn:x'] }, said('phr'))).toEqual({
      asserted: null,
      suffices: false,
    });
  });
});

test.each(['asserted', 'provider'] as const)(
  '%s: of somebody whose address is not the provider’s it is a first step alone (attack 25.1088)',
  async (second_factor) => {
    const own = { issuer: upstream.url, second_factor, trusted_acr_values: ['phr'] };
    connections['limited'] = await addConnection(ctx, { ...own, domains: ['customer.example'] });
    connections['any'] = await addConnection(ctx, own);
    const says = { acr: 'phr', amr: ['mfa'] };
    for (const [through, domain, expected] of [
      ['limited', 'example.com', '/login/verify'],
      ['any', 'customer.example', '/login/verify'],
      ['limited', 'customer.example', '/account'],
      ['any', 'example.com', '/account'],
    ] as const) {
      const user = await linked('totp');
      const email = `${user.id}@${domain}`;
      await updateUser(ctx.scope, user.id, { email, email_key: email });
      expect([through, domain, (await comeIn({ ...user, email }, through, says)).to]).toEqual([through, domain, expected]);
    }
    for (const name of ['limited', 'any']) delete connections[name];
    await ctx.db.knex('connections').whereRaw(`domains <> '{}'`).update({ domains: [] });
    ctx.cache.invalidate(ctx.environment.id, 'connections');
  },
);

test('own: whoever has two-step on takes it after the provider too, whatever that says (attack 25.591)', async () => {
  const user = await linked('totp');
  const { browser, to } = await comeIn(user, 'own', { acr: 'phr', amr: ['mfa', 'pop'] });
  expect(to).toBe('/login/verify');
  expect(browser.cookies.has('idp_session')).toBe(false);
  const asked = await authorizeGet(browser, authorizeQuery(client));
  expect(asked.headers.get('location')).toMatch(/^\/login\?/);
});

test('own: the policy wants a factor enrolled after the provider, as after a password', async () => {
  await setEnvironment(service, { second_factor_policy: 'required' });
  const { browser, to } = await comeIn(await linked(), 'own', { amr: ['mfa'] });
  expect([to, browser.cookies.has('idp_session')]).toEqual(['/login/enroll', false]);
});

test('a provider’s phr, mfa and pop are kept for show, and are none of ours (attack 25.592)', async () => {
  const { browser, to } = await comeIn(await linked(), 'own', { acr: 'phr', amr: ['mfa', 'pop', 'user'] });
  expect(to).toBe('/account');
  const session = await sessionOf(browser);
  expect([acrOf(session), session.amr, session.acr]).toEqual(['1', [], null]);
  expect([session.provider_acr, session.provider_amr]).toEqual(['phr', ['mfa', 'pop', 'user']]);
  const { verifier, challenge } = pkcePair();
  const query = { acr_values: 'phr 2', code_challenge: challenge, code_challenge_method: 'S256' };
  const code = locationParameters(await authorizeGet(browser, authorizeQuery(client, query))).get('code') as string;
  const { body } = await redeem(service.url, client, { code, verifier, redirect_uri: 'https://app.example/cb' });
  const claims = claimsOf(body.id_token as string);
  expect(claims['acr']).toBe('1');
  expect(claims).not.toHaveProperty('amr');
});

test('a session of before, whose provider said phr, is of class 1 (attack 25.592)', async () => {
  const { browser } = await comeIn(await linked(), 'own', { acr: 'phr', amr: ['mfa'] });
  const { id } = await sessionOf(browser);
  await ctx.db.knex('sessions').where({ id }).update({ proofs: '[]', acr: 'phr' });
  const before = await findSession(ctx.scope, id);
  expect(before && acrOf(before)).toBe('1');
  const required = await addClient(ctx, { required_acr: 'phr' });
  const asked = await authorizeGet(browser, authorizeQuery(required));
  expect(asked.headers.get('location')).toMatch(/^\/login\/enroll\?acr_values=phr&/);
});

test('asserted: the provider’s second factor counts where it says so, and else ours is asked for', async () => {
  const user = await linked('totp');
  const named = await comeIn(user, 'asserted', { amr: ['pwd', 'mfa'] });
  expect([named.to, acrOf(await sessionOf(named.browser))]).toEqual(['/account', '2']);
  const trusted = await comeIn(user, 'asserted', { acr: 'phr' });
  expect([trusted.to, acrOf(await sessionOf(trusted.browser))]).toEqual(['/account', 'phr']);
  for (const said of [{}, { amr: ['pwd'] }, { acr: 'urn:corp:weak' }])
    expect((await comeIn(user, 'asserted', said)).to).toBe('/login/verify');
});

test('provider: nothing is asked after it, and the class is 1', async () => {
  await setEnvironment(service, { second_factor_policy: 'required' });
  for (const user of [await linked('totp'), await linked()]) {
    const { browser, to } = await comeIn(user, 'provider', { acr: 'phr', amr: ['mfa'] });
    expect([to, acrOf(await sessionOf(browser))]).toEqual(['/account', '1']);
  }
});

test('an account at a provider is used once the sign-in is whole, not before; the profile follows then (specification 4.12.10)', async () => {
  const { id: connection_id } = (connections['synced'] = await addConnection(ctx, { issuer: upstream.url, profile_sync: 'on_login' }));
  const { user, secret } = await addTwoStepUser(service, { first_name: 'Old' });
  const identity = await linkIdentity(ctx, user.id, { connection_id, subject: user.id, email: null, claims: {}, generation: 1 });
  upstream.claims = { sub: user.id, email: user.email, email_verified: true, given_name: 'New' };
  const browser = new Browser(service.url);
  const asked = await loginThrough(browser, connection('synced'));
  expect(asked.headers.get('location')).toBe('/login/verify');
  const kept = async () => {
    const [account] = await listIdentities(ctx, user.id);
    return [account?.last_login_at, account?.email, (await findUser(ctx.scope, user.id))?.first_name];
  };
  expect([identity.last_login_at, await kept()]).toEqual([null, [null, null, 'Old']]);
  const code = totpCode(secret, service.clock.now());
  expect((await browser.postJson('/login/verify', { method: 'totp', code })).status).toBe(200);
  expect(await kept()).toEqual([expect.any(Date), user.email, 'New']);
  delete connections['synced'];
});

describe('linking', () => {
  test('an address that the provider has verified is linked once the sign-in is whole, not before (attack 25.593)', async () => {
    const user = await addUserWith(ctx, ['totp']);
    const { to } = await comeIn(user, 'own');
    expect(to).toBe('/login/verify');
    expect(await listIdentities(ctx, user.id)).toEqual([]);
  });

  test('the password on the link page is a first step: the account is linked after the second (attack 25.593)', async () => {
    const asking = await addConnection(ctx, { issuer: upstream.url, account_linking: 'ask' });
    const user = await addUserWith(ctx, ['totp']);
    upstream.claims = { sub: user.id, email: user.email, email_verified: true };
    const browser = new Browser(service.url);
    const html = await (await loginThrough(browser, asking)).text();
    const link = /name="link" value="([^"]+)"/.exec(html)?.[1] ?? '';
    const answer = await browser.post('/auth/sso/link', { _csrf: csrfOf(html), link, password });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/login/verify']);
    expect(browser.cookies.has('idp_session')).toBe(false);
    expect(await listIdentities(ctx, user.id)).toEqual([]);
  });
});

test('max_authentication_age of the client is asked for at the provider, and an older sign-in there is refused', async () => {
  const strict = await addClient(ctx, { max_authentication_age: 300 });
  const user = await linked();
  upstream.claims = { sub: user.id, email: user.email, email_verified: true };
  upstream.tokenClaims = { auth_time: seconds() - 3600 };
  const browser = new Browser(service.url);
  const asked = await authorizeGet(browser, authorizeQuery(strict));
  const return_to = locationParameters(asked).get('return_to') ?? '';
  const start = await browser.get(`/auth/sso/${connection('own').id}?${new URLSearchParams({ return_to })}`);
  expect(locationParameters(start).get('max_age')).toBe('300');
  service.clock.advance(100_000);
  const refused = await loginThrough(browser, connection('own'), { return_to });
  expect([refused.status, await codeOf(refused)]).toEqual([403, 'sso_access_denied']);
  service.clock.advance(-100_000);
});

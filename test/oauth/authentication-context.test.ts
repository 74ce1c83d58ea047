// Who has to sign in, when, and what the tokens say about it (OIDC Core 3.1.2.1, 5.5.1.1).
import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { authorizeGet, authorizeQuery, expectRedirectError } from '../support/authorize.js';
import { Browser, locationParameters } from '../support/browser.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { authorizeCode, claimsOf, redeem, tokenRequest } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
let client: TestClient;
let user: UserRow;
let other: UserRow;
let browser: Browser;

beforeAll(async () => {
  const ctx = await service.context();
  [client, user, other] = [await addClient(ctx), await addUser(ctx), await addUser(ctx)];
});
beforeEach(async () => {
  browser = await signedIn(service, user);
});

const ask = (extra: Record<string, string | undefined>) => authorizeGet(browser, authorizeQuery(client, extra));
const refused = (error: string, extra: Record<string, string | undefined>) => expectRedirectError(service, client, error, () => ask(extra));
const tokens = async (extra: Record<string, string> = {}) =>
  (await redeem(service.url, client, await authorizeCode(browser, client, extra))).body;
const idTokenOf = async (of: UserRow) => {
  const theirs = await signedIn(service, of);
  return (await redeem(service.url, client, await authorizeCode(theirs, client))).body.id_token as string;
};

/** From the login page back to the application, as this user. */
async function signInAgain(toLogin: Response, as: UserRow): Promise<Response> {
  const location = toLogin.headers.get('location') ?? '';
  expect(location).toMatch(/^\/login\?/);
  const return_to = locationParameters(toLogin).get('return_to') ?? '';
  const back = await browser.submit(location, { email: as.email, password, return_to });
  return browser.get(back.headers.get('location') ?? '');
}

test('prompt=login and select_account ask again, once, and keep the refresh tokens of the session', async () => {
  const first = await tokens();
  for (const prompt of ['login', 'select_account', 'login consent']) {
    service.clock.advance(1_100);
    const answer = await signInAgain(await ask({ prompt }), user);
    if (prompt.includes('consent')) expect(await answer.text()).toContain('id="consent"');
    else expect(locationParameters(answer).get('code')).toMatch(/^ac_/);
  }
  const refreshed = await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token: first.refresh_token as string });
  expect(refreshed.status).toBe(200);
  expect(claimsOf(refreshed.body.id_token as string)['auth_time']).toBe(claimsOf(first.id_token as string)['auth_time']);
});

test('acr is one of the supported values, in the ID token of code and refresh alike', async () => {
  const { acr_values_supported } = (await (await fetch(`${service.url}/.well-known/openid-configuration`)).json()) as Record<
    string,
    string[]
  >;
  const first = await tokens({ acr_values: 'urn:example:unknown 1' });
  expect(acr_values_supported).toContain(claimsOf(first.id_token as string)['acr']);
  const again = await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token: first.refresh_token as string });
  expect(claimsOf(again.body.id_token as string)['acr']).toBe(claimsOf(first.id_token as string)['acr']);
});

test('an essential acr that can not be had is refused; a voluntary one is not (OIDC Core 5.5.1.1)', async () => {
  const claims = (acr: object) => JSON.stringify({ id_token: { acr, auth_time: { essential: true } } });
  await refused('unmet_authentication_requirements', { claims: claims({ essential: true, values: ['9'] }) });
  await refused('unmet_authentication_requirements', { claims: claims({ essential: true, value: '9' }) });
  for (const acr of [{ essential: true, values: ['9', '1'] }, { essential: true }, { values: ['9'] }, {}]) {
    const answer = await tokens({ claims: claims(acr) });
    expect(claimsOf(answer.id_token as string)['auth_time']).toBeTypeOf('number');
  }
});

test('a sub value in claims names who has to be signed in', async () => {
  const claims = (sub: string) => JSON.stringify({ id_token: { sub: { value: sub } } });
  expect(locationParameters(await ask({ claims: claims(user.id), prompt: 'none' })).has('code')).toBe(true);
  await refused('login_required', { claims: claims(other.id), prompt: 'none' });
  const answer = await signInAgain(await ask({ claims: claims(other.id) }), other);
  expect(locationParameters(answer).has('code')).toBe(true);
});

test('malformed claims are refused', async () => {
  for (const claims of ['{', '[]', '"x"', 'null']) await refused('invalid_request', { claims });
});

test("id_token_hint: one's own succeeds silently, expired too; somebody else's asks for a sign-in", async () => {
  const own = await idTokenOf(user);
  expect(locationParameters(await ask({ prompt: 'none', id_token_hint: own })).has('code')).toBe(true);
  const theirs = await idTokenOf(other);
  await refused('login_required', { prompt: 'none', id_token_hint: theirs });
  const answer = await signInAgain(await ask({ id_token_hint: theirs }), other);
  expect(locationParameters(answer).has('code')).toBe(true);
  browser = await signedIn(service, user);
  service.clock.advance(3_700_000);
  expect(locationParameters(await ask({ prompt: 'none', id_token_hint: own })).get('error')).toBeNull();
});

test('who signs in as the wrong person is told so, not asked for ever', async () => {
  const theirs = await idTokenOf(other);
  const toLogin = await ask({ id_token_hint: theirs });
  const answer = await signInAgain(toLogin, user);
  expect(locationParameters(answer).get('error')).toBe('login_required');
});

test('a hint that is not ours: login_required when silent, no obstacle otherwise', async () => {
  await refused('login_required', { prompt: 'none', id_token_hint: 'a.b.c' });
  expect(locationParameters(await ask({ id_token_hint: 'a.b.c' })).has('code')).toBe(true);
});

test('display, ui_locales, claims_locales, login_hint never fail a request, and login_hint fills the field', async () => {
  const extra = { display: 'hologram', ui_locales: 'xx', claims_locales: 'tlh', login_hint: 'nobody@example.com' };
  expect(locationParameters(await ask(extra)).has('code')).toBe(true);
  const toLogin = await authorizeGet(new Browser(service.url), authorizeQuery(client, extra));
  expect(await (await new Browser(service.url).get(toLogin.headers.get('location') ?? '')).text()).toContain('value="nobody@example.com"');
});

test('a form from another site goes round by a GET, so that the session counts (SameSite)', async () => {
  const stranger = new Browser(service.url);
  const fields = Object.fromEntries(new URLSearchParams(authorizeQuery(client)));
  const round = await stranger.post('/oauth/authorize', fields, { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' });
  expect(round.headers.get('location')?.startsWith('/oauth/authorize/resume?request=')).toBe(true);
  const answer = await browser.get(round.headers.get('location') ?? '');
  expect(locationParameters(answer).get('code')).toMatch(/^ac_/);
});

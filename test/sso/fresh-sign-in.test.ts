// A fresh sign-in that somebody demands holds through a provider: asked for there, told by its signed token, never taken for newer than it is.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { findSession, type SessionRow } from '../../src/db/tables/sessions.js';
import { table } from '../../src/db/scope.js';
import type { Actor } from '../../src/domain/actor.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { linkIdentity } from '../../src/domain/connections/identities.js';
import type { Refusal } from '../../src/domain/refusal.js';
import { requireRecentSignIn } from '../../src/domain/sessions/recent-sign-in.js';
import { permit } from '../support/administrators.js';
import { Browser, locationParameters, pkcePair } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient, addUser, type TestClient } from '../support/data.js';
import { authorizeCode, claimsOf, redeem, tokenRequest } from '../support/oauth.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { codeOf, loginThrough, startAt } from '../support/sso.js';
import { startUpstreamOidc, type UpstreamOidc } from '../support/upstream-oidc.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService();
const ctx = contextOf(service);
let upstream: UpstreamOidc;
const scripted = ScriptedUpstream.shared();
let real: ConnectionRow;
let scriptable: ConnectionRow;
let client: TestClient;
let browser: Browser;
let atProvider: Browser;

const ada = { sub: 'ada', email: 'ada@corp.example', email_verified: true, given_name: 'Ada' };
const seconds = () => Math.floor(Date.now() / 1000);

beforeAll(async () => {
  upstream = await startUpstreamOidc({ callback: `${service.url}/auth/sso/callback`, account: ada });
  real = await addConnection(ctx, { issuer: upstream.issuer });
  scriptable = await addConnection(ctx, { issuer: scripted.url, display_name: 'Corp' });
  client = await addClient(ctx, { first_party: true });
});
afterAll(async () => upstream?.close());
beforeEach(() => {
  browser = new Browser(service.url);
  atProvider = new Browser(upstream.issuer);
  scripted.claims = { ...ada, sub: 'scripted', email: 'scripted@corp.example' };
  scripted.tokenClaims = {};
  scripted.requests.length = 0;
});

async function ask(parameters: Record<string, string>): Promise<{ response: Response; verifier: string }> {
  const { verifier, challenge } = pkcePair();
  const query = new URLSearchParams({
    response_type: 'code', client_id: client.id, redirect_uri: 'https://app.example/cb', scope: 'openid', state: 's',
    code_challenge: challenge, code_challenge_method: 'S256', ...parameters,
  }); // prettier-ignore
  return { response: await browser.get(`/oauth/authorize?${query}`), verifier };
}

/** The pending request, which waits for a sign-in. */
async function pending(parameters: Record<string, string>): Promise<{ return_to: string; verifier: string }> {
  const { response, verifier } = await ask(parameters);
  return { return_to: locationParameters(response).get('return_to') as string, verifier };
}

/** A login at the real provider by a browser that keeps its session there; counts the times that it was asked who it is. */
async function throughReal(query: Record<string, string> = {}): Promise<{ answer: Response; asked: number; start: URL }> {
  const start = await startAt(browser, real, query);
  let [url, asked] = [start, 0];
  for (let step = 0; step < 12 && url.origin === start.origin; step++) {
    let response = await atProvider.get(url.href);
    if (response.status === 200 && (await response.clone().text()).includes('<form method="post">')) {
      asked++;
      response = await atProvider.post(url.href, {});
    }
    url = new URL(response.headers.get('location') as string, url);
  }
  return { answer: await browser.get(url.pathname + url.search), asked, start };
}

async function tokens(return_to: string, verifier: string): Promise<Record<string, unknown>> {
  const code = locationParameters(await browser.get(return_to)).get('code') as string;
  const answer = await redeem(service.url, client, { code, verifier, redirect_uri: 'https://app.example/cb' });
  return claimsOf(answer.body.id_token as string);
}

const latest = async (): Promise<SessionRow> =>
  (await table<SessionRow>(ctx.scope, 'sessions').orderBy('signed_in_at', 'desc').first()) as SessionRow;

describe('at a real provider where the person is signed in already', () => {
  test('prompt=login asks there again, and our auth_time is the one of its token (attack 14.250)', async () => {
    expect((await throughReal()).asked).toBe(1);
    expect((await throughReal()).asked).toBe(0);
    const { return_to, verifier } = await pending({ prompt: 'login' });
    const before = seconds();
    const { answer, asked, start } = await throughReal({ return_to });
    expect([start.searchParams.get('prompt'), start.searchParams.get('max_age')]).toEqual(['login', '0']);
    expect([answer.status, asked]).toEqual([303, 1]);
    const claims = await tokens(return_to, verifier);
    expect(claims['auth_time']).toBeGreaterThanOrEqual(before);
    expect(claims['auth_time']).toBeLessThanOrEqual(seconds());
    const session = await findSession(ctx.scope, claims['sid'] as string);
    expect(session).toMatchObject({ auth_time_known: true, amr: [], provider_amr: [] });
    expect(session?.authenticated_at.getTime()).toBe((claims['auth_time'] as number) * 1000);
    expect(session?.authenticated_at.getTime()).toBeLessThanOrEqual(session?.signed_in_at.getTime() as number);
  });

  test('max_age takes a sign-in there that is young enough, and says how old it is', async () => {
    await throughReal();
    const { return_to, verifier } = await pending({ max_age: '600' });
    const { answer, asked, start } = await throughReal({ return_to });
    expect([answer.status, asked, start.searchParams.get('max_age')]).toEqual([303, 0, '600']);
    expect((await tokens(return_to, verifier))['auth_time']).toBeLessThanOrEqual(seconds());
    expect(await latest()).toMatchObject({ auth_time_known: true });
  });

  test('a sign-in that nobody asked the age of counts as fresh for nothing', async () => {
    const user = await addUser(ctx, { email: 'fresh@corp.example', password_hash: null });
    await permit(ctx, user.id, 'clients:read', 'clients:write');
    upstream.account = { ...ada, sub: 'fresh', email: user.email };
    await table(ctx.scope, 'identities').insert({
      environment_id: ctx.environment.id, id: user.id, connection_id: real.id, subject: 'fresh', user_id: user.id, created_at: new Date(), updated_at: new Date(),
    } as never); // prettier-ignore
    await throughReal();
    upstream.account = ada;
    expect(await latest()).toMatchObject({ user_id: user.id, auth_time_known: false });
    const page = await (await browser.get(`/dashboard/clients/${client.id}/rotate_secret`)).text();
    expect(page).toContain('Sign in again with Example Corporation');
    const { response } = await ask({ max_age: '3600' });
    expect(locationParameters(response).get('return_to')).toMatch(/^\/oauth\/authorize\/resume/);
    const silent = await ask({ max_age: '3600', prompt: 'none' });
    expect(locationParameters(silent.response).get('error')).toBe('login_required');
    expect(locationParameters((await ask({})).response).get('code')).not.toBeNull();
  });
});

describe('what a provider says of the time', () => {
  const demanded = async (connection: ConnectionRow, parameters: Record<string, string> = { prompt: 'login' }) => {
    const { return_to } = await pending(parameters);
    return loginThrough(browser, connection, { return_to });
  };

  test.each([
    ['nothing', {}, [403, 'sso_access_denied']],
    ['a text', { auth_time: String(seconds()) }, [502, 'sso_provider_error']],
    ['an hour ago', { auth_time: seconds() - 3600 }, [403, 'sso_access_denied']],
  ])('%s: refused where a fresh sign-in was demanded, nobody is signed in (attack 14.250)', async (_what, claims, expected) => {
    scripted.tokenClaims = claims;
    for (const parameters of [{ prompt: 'login' }, { max_age: '60' }]) {
      browser = new Browser(service.url);
      const refused = await demanded(scriptable, parameters);
      expect([refused.status, await codeOf(refused), browser.cookies.has('idp_session')]).toEqual([...expected, false]);
    }
  });

  test('userinfo says nothing about a sign-in: its auth_time, amr and acr do not count', async () => {
    scripted.claims = { sub: 'scripted', email: 'scripted@corp.example', email_verified: true };
    scripted.instead.set('/userinfo', (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ ...scripted.claims, given_name: 'A', auth_time: seconds(), amr: ['mfa'], acr: 'gold' }));
    });
    expect((await demanded(scriptable)).status).toBe(403);
    expect((await loginThrough(browser, scriptable)).status).toBe(303);
    scripted.instead.clear();
    expect(await latest()).toMatchObject({ auth_time_known: false, provider_amr: [], provider_acr: null });
  });

  test('max_age is for the provider to keep: as old as it allows will do, older not', async () => {
    scripted.tokenClaims = { auth_time: seconds() - 600 };
    expect((await demanded(scriptable, { max_age: '900' })).status).toBe(303);
    expect((await latest()).authenticated_at.getTime()).toBe((scripted.tokenClaims['auth_time'] as number) * 1000);
    browser = new Browser(service.url);
    expect((await demanded(scriptable, { max_age: '300' })).status).toBe(403);
  });

  test('a time to come is not believed (attack 14.251)', async () => {
    scripted.tokenClaims = { auth_time: seconds() + 86_400 };
    expect((await demanded(scriptable)).status).toBe(303);
    const session = await latest();
    expect(session.authenticated_at.getTime()).toBeLessThanOrEqual(session.signed_in_at.getTime());
  });

  test('an old sign-in there does not end the session here: its lifetime counts from the sign-in here', async () => {
    scripted.tokenClaims = { auth_time: seconds() - 90 * 86_400 };
    expect((await loginThrough(browser, scriptable)).status).toBe(303);
    expect((await browser.get('/account')).status).toBe(200);
  });

  test('a request that demands one is not answered by a sign-in that was made beside it', async () => {
    scripted.tokenClaims = { auth_time: seconds() - 3600 };
    const { return_to } = await pending({ prompt: 'login' });
    expect((await loginThrough(browser, scriptable)).status).toBe(303);
    expect(locationParameters(await browser.get(return_to)).get('error')).toBe('login_required');
  });

  test('choosing the account there is no fresh sign-in, and needs none', async () => {
    scripted.tokenClaims = { auth_time: seconds() - 3600 };
    const { return_to, verifier } = await pending({ prompt: 'select_account' });
    expect((await loginThrough(browser, scriptable, { return_to })).status).toBe(303);
    expect((await tokens(return_to, verifier))['auth_time']).toBe(scripted.tokenClaims['auth_time']);
  });
});

test('a provider that does not say when is passed on as no time at all, by refresh too (attack 14.251)', async () => {
  const app = await addClient(ctx, { first_party: true, access_token_format: 'jwt', grant_types: ['authorization_code', 'refresh_token'] });
  expect((await loginThrough(browser, scriptable)).status).toBe(303);
  expect(await latest()).toMatchObject({ auth_time_known: false });
  const { body } = await redeem(service.url, app, await authorizeCode(browser, app));
  const again = await tokenRequest(service.url, app, { grant_type: 'refresh_token', refresh_token: body.refresh_token as string });
  for (const token of [body.id_token, body.access_token, again.body.id_token, again.body.access_token])
    expect(claimsOf(token as string)).not.toHaveProperty('auth_time');
});

test('what needs a recent sign-in refuses one of unknown age (attack 14.251)', async () => {
  const user = await addUser(ctx, { email: 'root@corp.example', password_hash: null });
  await permit(ctx, user.id, ...managementPermissions);
  scripted.claims = { ...ada, sub: 'root', email: user.email };
  await linkIdentity(ctx, user.id, { connection_id: scriptable.id, subject: 'root', email: user.email, claims: {}, generation: 1 });
  for (const [auth_time, outcome] of [
    [undefined, 'insufficient_user_authentication'],
    [seconds(), 'done'],
  ] as const) {
    browser = new Browser(service.url);
    scripted.tokenClaims = auth_time === undefined ? {} : { auth_time };
    expect((await loginThrough(browser, scriptable)).status).toBe(303);
    const session = await latest();
    const actor: Actor = {
      actor_kind: 'user', actor_id: user.id, display: user.email, permissions: new Set(managementPermissions), session_id: session.id,
    }; // prettier-ignore
    const byToken = await requireRecentSignIn(ctx, actor).then(
      () => 'done',
      (refusal: Refusal) => refusal.problems[0]?.code,
    );
    expect([auth_time, byToken]).toEqual([auth_time, outcome]);
  }
});

test.each(['github', 'oauth2'] as const)(
  '%s has no way to say when: the person is told before leaving, and may come in where it does not matter',
  async (strategy) => {
    const plain = await addConnection(ctx, {
      strategy,
      issuer: null,
      authorization_endpoint: `${scripted.url}/authorize`,
      token_endpoint: `${scripted.url}/token`,
      userinfo_endpoint: `${scripted.url}/userinfo`,
      display_name: 'Hub',
    });
    scripted.claims = { ...ada, sub: strategy, email: `${strategy}@corp.example`, auth_time: seconds(), amr: ['mfa'] };
    for (const parameters of [{ prompt: 'login' }, { max_age: '60' }]) {
      const { return_to } = await pending(parameters);
      const refused = await browser.get(`/auth/sso/${plain.id}?${new URLSearchParams({ return_to })}`);
      const html = await refused.clone().text();
      expect([refused.status, await codeOf(refused)]).toEqual([403, 'sso_access_denied']);
      expect(html).toContain('Hub can’t tell us when you signed in there. Sign in another way.');
      expect(html).toContain('href="/login?return_to=');
    }
    expect((await browser.get(`/auth/sso/${plain.id}?prompt=login&return_to=%2Fdashboard`)).status).toBe(403);
    expect(scripted.requests).toEqual([]);
    expect((await loginThrough(browser, plain)).status).toBe(303);
    expect(await latest()).toMatchObject({ auth_time_known: false, amr: [], provider_amr: [] });
  },
);

test('what the provider says of how is kept apart, and none of it is passed on as ours (attack 14.251)', async () => {
  scripted.tokenClaims = { auth_time: seconds(), amr: ['pwd', 'mfa'], acr: '1' };
  const { return_to, verifier } = await pending({});
  await loginThrough(browser, scriptable, { return_to });
  const claims = await tokens(return_to, verifier);
  expect(claims).not.toHaveProperty('amr');
  expect(await findSession(ctx.scope, claims['sid'] as string)).toMatchObject({
    amr: [], acr: null, provider_amr: ['pwd', 'mfa'], provider_acr: '1',
  }); // prettier-ignore
});

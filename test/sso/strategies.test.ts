// GitHub's, Apple's, Microsoft's and Google's shapes, and plain OAuth 2.0.
import type { ServerResponse } from 'node:http';
import { decodeProtectedHeader, exportPKCS8, generateKeyPair, jwtVerify, type CryptoKey } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { connectionStrategies, missingFields, strategyNames } from '../../src/domain/connections/strategies.js';
import { listIdentities } from '../../src/domain/connections/identities.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { createGuardedFetch, type GuardedFetch } from '../../src/platform/fetch/fetch.js';
import { behaviourOf, strategies } from '../../src/sso/strategies/index.js';
import { Browser } from '../support/browser.js';
import { addConnection, providerSecret } from '../support/connections.js';
import { startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { codeOf, loginThrough, startAt, throughProvider } from '../support/sso.js';
import { startUpstreamOidc } from '../support/upstream-oidc.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService(() => startTestService({}, { overrides: { fetch: networkWith(upstream) } }));
const ctx = contextOf(service);
const upstream = ScriptedUpstream.shared();
let browser: Browser;

/** The network: Microsoft's host is the scripted upstream, everything else is what it is. */
function networkWith(scripted: ScriptedUpstream): GuardedFetch {
  const real = createGuardedFetch({ allowPrivateNetwork: true });
  const fetch: GuardedFetch['fetch'] = (url, init) => {
    const asked = new URL(url instanceof Request ? url.url : url);
    return real.fetch(
      asked.host === 'login.microsoftonline.com' ? `${scripted.url}${asked.pathname.replace('/common/v2.0', '')}` : asked,
      init,
    );
  };
  return { ...real, fetch };
}

beforeEach(() => {
  browser = new Browser(service.url);
  Object.assign(upstream, { tokenClaims: {}, metadata: {}, answer: {} });
  upstream.instead.clear();
  upstream.requests.length = 0;
});

test('every strategy has a description and a behaviour, and knows what it needs', () => {
  expect(Object.keys(strategies).toSorted()).toEqual(strategyNames.toSorted());
  expect(missingFields('oidc', () => false)).toEqual(['issuer']);
  expect(missingFields('oidc', (field) => field !== 'issuer' && field !== 'jwks_uri')).toEqual([]);
  expect(missingFields('oauth2', (field) => field === 'token_endpoint')).toEqual(['issuer']);
  expect(missingFields('github', (field) => field === 'provider_client_secret')).toEqual([]);
  expect(behaviourOf({ strategy: 'ldap', issuer: null })).toBeNull();
  expect(behaviourOf({ strategy: 'oidc', issuer: null })).toBe(strategies.oauth2);
  expect(connectionStrategies.apple.response_mode).toBe('form_post');
});

describe('github', () => {
  const addresses = (list: unknown) =>
    upstream.instead.set('/user/emails', (_req, res) => void res.setHeader('content-type', 'application/json').end(JSON.stringify(list)));
  const endpoints = () => ({
    strategy: 'github', issuer: null, display_name: 'GitHub', authorization_endpoint: `${upstream.url}/login/oauth/authorize`,
    token_endpoint: `${upstream.url}/login/oauth/access_token`, userinfo_endpoint: `${upstream.url}/user`,
  }); // prettier-ignore

  test('the numeric id is the subject, the primary verified address the address', async () => {
    const github = await addConnection(ctx, endpoints());
    upstream.claims = {
      id: 4711,
      login: 'octocat',
      name: 'Octo Cat',
      email: 'shown@elsewhere.example',
      avatar_url: 'https://avatars.example/4711',
    };
    addresses([
      { email: 'second@corp.example', primary: false, verified: true },
      { email: 'octo@corp.example', primary: true, verified: true },
    ]);
    const start = await startAt(browser, github);
    expect(start.searchParams.get('scope')).toBe('read:user user:email');
    expect(start.searchParams.has('nonce')).toBe(false);
    expect((await loginThrough(browser, github)).status).toBe(303);
    const user = await findUserByEmailKey(ctx.scope, 'octo@corp.example');
    expect(user).toMatchObject({
      first_name: 'Octo',
      last_name: 'Cat',
      preferred_username: 'octocat',
      picture: 'https://avatars.example/4711',
    });
    expect(await listIdentities(ctx, user?.id as string)).toMatchObject([{ subject: '4711', email: 'octo@corp.example' }]);
    expect(upstream.asked('/login/oauth/access_token')[0]?.body.get('client_secret')).toBe(providerSecret);
    expect(upstream.asked('/user/emails')[0]?.headers).toMatchObject({ 'user-agent': 'identity-provider' });
  });

  test('an address that is not verified, or only shown in the profile: refused', async () => {
    const github = await addConnection(ctx, endpoints());
    upstream.claims = { id: 4712, login: 'mallory', email: 'octo@corp.example' };
    addresses([{ email: 'octo@corp.example', primary: true, verified: false }]);
    expect(await codeOf(await loginThrough(browser, github))).toBe('sso_email_unverified');
    upstream.instead.delete('/user/emails');
    expect(await codeOf(await loginThrough(browser, github))).toBe('sso_email_unverified');
  });

  test('an error in a 200 answer, as GitHub gives it: 502, and the code of the protocol is in the log', async () => {
    const github = await addConnection(ctx, endpoints());
    upstream.instead.set(
      '/login/oauth/access_token',
      (_req, res) => void res.setHeader('content-type', 'application/json').end('{"error":"bad_verification_code"}'),
    );
    const response = await loginThrough(browser, github);
    expect([response.status, await codeOf(response)]).toEqual([502, 'sso_provider_error']);
    expect(service.log.join('\n')).toContain('bad_verification_code');
  });

  test('without endpoints of its own it is github.com', async () => {
    const github = await addConnection(ctx, { strategy: 'github', issuer: null });
    expect((await startAt(browser, github)).origin).toBe('https://github.com');
  });
});

describe('oauth2', () => {
  const endpoints = () => ({
    issuer: null,
    authorization_endpoint: `${upstream.url}/authorize`,
    token_endpoint: `${upstream.url}/token`,
    userinfo_endpoint: `${upstream.url}/userinfo`,
  });

  test('claims of any shape through the claim mapping; an oidc connection without an issuer is the same', async () => {
    for (const strategy of ['oauth2', 'oidc']) {
      const mapped = await addConnection(ctx, {
        strategy,
        ...endpoints(),
        claim_mapping: { sub: 'account.number', email: 'mail', email_verified: 'mail_checked', first_name: 'account.vorname' },
      });
      upstream.claims = { account: { number: 12, vorname: 'Grace' }, mail: `${strategy}@corp.example`, mail_checked: true };
      expect((await loginThrough(new Browser(service.url), mapped)).status).toBe(303);
      const user = await findUserByEmailKey(ctx.scope, `${strategy}@corp.example`);
      expect(user).toMatchObject({ first_name: 'Grace' });
      expect(await listIdentities(ctx, user?.id as string)).toMatchObject([{ subject: '12' }]);
    }
  });

  test('the endpoints of an issuer are discovered; its iss is checked then', async () => {
    const discovering = await addConnection(ctx, { strategy: 'oauth2', issuer: upstream.url });
    upstream.metadata = { authorization_response_iss_parameter_supported: true };
    upstream.claims = { sub: 'd', email: 'discovered@corp.example', email_verified: true };
    expect(await codeOf(await loginThrough(browser, discovering))).toBe('sso_state_mismatch');
    upstream.answer = { iss: upstream.url };
    expect((await loginThrough(browser, discovering)).status).toBe(303);
    const { issuer: _issuer, ...document } = upstream.discovery();
    upstream.instead.set('/.well-known/openid-configuration', (_req, res) => void res.writeHead(404).end());
    const inner = (_req: unknown, res: ServerResponse) =>
      void res.setHeader('content-type', 'application/json').end(JSON.stringify({ issuer: upstream.url, ...document }));
    upstream.instead.set('/.well-known/oauth-authorization-server', inner);
    expect((await loginThrough(browser, await addConnection(ctx, { strategy: 'oauth2', issuer: upstream.url }))).status).toBe(303);
  });

  test('oidc-provider as plain OAuth 2.0: it takes the secret as Basic only', async () => {
    const account = { sub: 'plain', email: 'plain@corp.example', email_verified: true, given_name: 'Plain' };
    const real = await startUpstreamOidc({ callback: `${service.url}/auth/sso/callback`, account });
    const plain = await addConnection(ctx, { strategy: 'oauth2', issuer: real.issuer, scopes: ['openid', 'email', 'profile'] });
    expect((await loginThrough(browser, plain)).status).toBe(303);
    expect(await findUserByEmailKey(ctx.scope, 'plain@corp.example')).toMatchObject({ first_name: 'Plain' });
    await real.close();
  });

  test('a numeric sub, userinfo that is no object, and one that refuses the token', async () => {
    const plain = await addConnection(ctx, { strategy: 'oauth2', ...endpoints() });
    upstream.claims = { sub: 12, email: 'n@corp.example', email_verified: true };
    expect((await loginThrough(browser, plain)).status).toBe(400);
    for (const body of ['[]', 'null', '"x"', '{']) {
      upstream.instead.set('/userinfo', (_req, res) => void res.end(body));
      expect((await loginThrough(browser, plain)).status).toBeGreaterThanOrEqual(400);
    }
    upstream.instead.set('/userinfo', (_req, res) => void res.writeHead(401).end('{}'));
    expect((await loginThrough(browser, plain)).status).toBe(502);
  });
});

describe('apple', () => {
  /** Posts what Apple's page posts, as another site does: without any cookie of ours. */
  async function post(fields: Record<string, string>): Promise<URL> {
    const response = await fetch(`${service.url}/auth/sso/callback`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://appleid.apple.com' },
      body: new URLSearchParams(fields).toString(),
    });
    expect(response.status).toBe(303);
    return new URL(response.headers.get('location') as string, service.url);
  }

  async function addApple(): Promise<{ apple: ConnectionRow; publicKey: CryptoKey }> {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const secret = await exportPKCS8(privateKey);
    upstream.metadata = {
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      id_token_signing_alg_values_supported: ['RS256'],
      userinfo_endpoint: undefined,
    };
    const apple = await addConnection(ctx, {
      strategy: 'apple',
      issuer: upstream.url,
      secret,
      options: { team_id: 'TEAM000001', key_id: 'KEY0000001' },
    });
    return { apple, publicKey };
  }

  test('the answer is posted, the secret a JWT, the name comes once, email_verified may be a text', async () => {
    const { apple, publicKey } = await addApple();
    upstream.claims = { sub: '001.apple', email: 'relay@privaterelay.example', email_verified: 'true' };
    const start = await startAt(browser, apple);
    expect(start.searchParams.get('response_mode')).toBe('form_post');
    const code = upstream.issueCode(start.searchParams);
    const user = JSON.stringify({ name: { firstName: 'Ada', lastName: 'Löve' }, email: 'else@evil.example' });
    const again = await post({ code, state: start.searchParams.get('state') as string, user });
    expect(again.search).not.toMatch(/Ada|evil|code=/);
    const back = await browser.get(again.pathname + again.search);
    expect([back.status, back.headers.get('location')]).toEqual([303, '/account']);
    expect(await findUserByEmailKey(ctx.scope, 'relay@privaterelay.example')).toMatchObject({
      first_name: 'Ada',
      last_name: 'Löve',
      email_verified: true,
    });
    const secret = upstream.asked('/token')[0]?.body.get('client_secret') as string;
    expect(decodeProtectedHeader(secret)).toMatchObject({ alg: 'ES256', kid: 'KEY0000001' });
    const { payload } = await jwtVerify(secret, publicKey, { issuer: 'TEAM000001', subject: 'the-service', audience: upstream.url });
    expect((payload.exp as number) - (payload.iat as number)).toBeLessThanOrEqual(300);
    // The second login brings no name, and takes none away.
    const second = await startAt(browser, apple);
    const next = await post({ code: upstream.issueCode(second.searchParams), state: second.searchParams.get('state') as string });
    expect((await browser.get(next.pathname + next.search)).status).toBe(303);
    expect(await findUserByEmailKey(ctx.scope, 'relay@privaterelay.example')).toMatchObject({ first_name: 'Ada' });
  });

  test('email_verified "false", and a user parameter that is no JSON', async () => {
    const { apple } = await addApple();
    upstream.claims = { sub: '002.apple', email: 'x@privaterelay.example', email_verified: 'false' };
    const start = await startAt(browser, apple);
    const again = await post({ code: upstream.issueCode(start.searchParams), state: start.searchParams.get('state') as string, user: '{' });
    expect(await codeOf(await browser.get(again.pathname + again.search))).toBe('sso_email_unverified');
  });

  test('a posted answer is good for a minute and as it is; another browser can do nothing with it', async () => {
    const { apple } = await addApple();
    upstream.claims = { sub: '003.apple', email: 'y@privaterelay.example', email_verified: true };
    const start = await startAt(browser, apple);
    const answer = { code: upstream.issueCode(start.searchParams), state: start.searchParams.get('state') as string };
    const again = await post(answer);
    expect((await new Browser(service.url).get(again.pathname + again.search)).status).toBe(400);
    expect((await browser.get(`${again.pathname}${again.search.slice(0, -3)}AAA`)).status).toBe(400);
    service.clock.advance(61_000);
    expect((await browser.get(again.pathname + again.search)).status).toBe(400);
    expect(upstream.asked('/token')).toEqual([]);
    const tooLong = await fetch(`${service.url}/auth/sso/callback`, {
      method: 'POST',
      body: new URLSearchParams({ ...answer, user: 'x'.repeat(7000) }),
      redirect: 'manual',
    });
    expect(tooLong.status).toBe(400);
  });

  test('cancelled at Apple', async () => {
    const { apple } = await addApple();
    const start = await startAt(browser, apple);
    const again = await post({ error: 'user_cancelled_authorize', state: start.searchParams.get('state') as string });
    const response = await browser.get(again.pathname + again.search);
    expect([response.status, await codeOf(response)]).toEqual([403, 'sso_access_denied']);
  });
});

describe('microsoft', () => {
  const directory = '11111111-2222-3333-4444-555555555555';
  const issuer = 'https://login.microsoftonline.com';
  const document = () => ({
    issuer: `${issuer}/{tenantid}/v2.0`, authorization_endpoint: `${issuer}/common/oauth2/v2.0/authorize`, token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`, userinfo_endpoint: undefined,
  }); // prettier-ignore

  async function login(connection: ConnectionRow, claims: Record<string, unknown>): Promise<Response> {
    upstream.metadata = document();
    upstream.claims = { iss: `${issuer}/${String(claims['tid'])}/v2.0`, given_name: 'M', ...claims };
    const start = await startAt(browser, connection);
    expect(start.origin + start.pathname).toBe(`${issuer}/common/oauth2/v2.0/authorize`);
    const query = new URLSearchParams({ code: upstream.issueCode(start.searchParams), state: start.searchParams.get('state') as string });
    return browser.get(`/auth/sso/callback?${query}`);
  }

  test('the shared issuer stands for every directory; the same sub of two directories is two people', async () => {
    const microsoft = await addConnection(ctx, { strategy: 'microsoft', issuer: null });
    expect((await login(microsoft, { sub: 's', tid: directory, email: 'one@corp.example', xms_edov: true })).status).toBe(303);
    browser = new Browser(service.url);
    expect((await login(microsoft, { sub: 's', tid: '9188040d-6c67-4c5b-b112-36a304b66dad', email: 'two@outlook.example' })).status).toBe(
      303,
    );
    const user = await findUserByEmailKey(ctx.scope, 'one@corp.example');
    expect(await listIdentities(ctx, user?.id as string)).toMatchObject([{ subject: `${directory}:s` }]);
    expect(await findUserByEmailKey(ctx.scope, 'two@outlook.example')).not.toBeNull();
  });

  test('an address that a directory only claims (nOAuth), and an issuer of another directory: refused', async () => {
    const microsoft = await addConnection(ctx, { strategy: 'microsoft', issuer: null });
    for (const extra of [{}, { email_verified: true }, { xms_edov: false }]) {
      expect(await codeOf(await login(microsoft, { sub: 'm', tid: directory, email: 'one@corp.example', ...extra }))).toBe(
        'sso_email_unverified',
      );
    }
    expect(
      (await login(microsoft, { sub: 'm', tid: directory, iss: `${issuer}/other/v2.0`, email: 'one@corp.example', xms_edov: true })).status,
    ).toBe(400);
  });
});

describe('google', () => {
  test('hosted_domain keeps everybody else out, by the signed claim', async () => {
    const google = await addConnection(ctx, { strategy: 'google', issuer: upstream.url, options: { hosted_domain: 'Corp.example' } });
    upstream.claims = { sub: 'g', email: 'g@corp.example', email_verified: true, hd: 'corp.example', given_name: 'G' };
    const start = await startAt(browser, google);
    expect(start.searchParams.get('hd')).toBe('corp.example');
    expect((await browser.get((await throughProvider(start)).href.replace(service.url, ''))).status).toBe(303);
    upstream.claims = { sub: 'h', email: 'h@gmail.example', email_verified: true, given_name: 'H' };
    expect(await codeOf(await loginThrough(browser, google))).toBe('sso_domain_not_allowed');
  });
});

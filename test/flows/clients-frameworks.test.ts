// Auth.js and Passport, unmodified, in a listening application: sign in, refresh, sign out.
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { Auth, type AuthConfig } from '@auth/core';
import express, { type NextFunction, type Request, type RequestHandler, type Response as ExpressResponse } from 'express';
import { expect, test } from 'vitest';
import { Browser } from '../support/browser.js';
import { shared, sharedService } from '../support/shared-service.js';
import { UserAgent } from '../support/conformance/user-agent.js';
import { addClient, addUser, type TestClient } from '../support/data.js';
import { claimsOf, tokenRequest } from '../support/oauth.js';

const service = sharedService();
const user = shared(async () => addUser(await service.context()));

/** The person at the provider, who ends up at the application. */
const personAt = (rpOrigin: string) => new UserAgent({ origin: service.url, rpOrigin, email: user.email, fetch });

async function arrive(agent: UserAgent, address: string): Promise<URL> {
  const answer = await agent.visit(address);
  if (answer.kind === 'page') throw new Error(`${answer.status} ${answer.html}`);
  return answer.url;
}

const register = async (origin: string, callback: string): Promise<TestClient> =>
  addClient(await service.context(), { redirect_uris: [origin + callback], post_logout_redirect_uris: [`${origin}/bye`] });

/** Refresh with what the library was given, and sign out at the provider with its ID token. */
async function refreshAndSignOut(
  agent: UserAgent,
  client: TestClient,
  origin: string,
  tokens: { refresh_token: string; id_token: string },
): Promise<void> {
  const refreshed = await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token });
  expect([refreshed.status, claimsOf(refreshed.body.id_token ?? '')['sub']]).toEqual([200, user.id]);
  const logout = new URLSearchParams({ id_token_hint: tokens.id_token, post_logout_redirect_uri: `${origin}/bye` });
  expect((await arrive(agent, `${service.url}/oauth/logout?${logout.toString()}`)).href).toBe(`${origin}/bye`);
}

test('@auth/core: sign in with PKCE, state and nonce; session; refresh; sign out', async () => {
  const origin = 'http://app.localhost:4000';
  const client = await register(origin, '/auth/callback/idp');
  let account: Record<string, unknown> = {};
  const config: AuthConfig = {
    secret: 'a secret of the application',
    trustHost: true,
    basePath: '/auth',
    providers: [
      {
        id: 'idp',
        name: 'Identity provider',
        type: 'oidc',
        // The person's claims are at userinfo; ID tokens hold protocol claims only.
        idToken: false,
        issuer: service.url,
        clientId: client.id,
        clientSecret: client.client_secret,
        checks: ['pkce', 'state', 'nonce'],
        authorization: { params: { scope: 'openid profile email' } },
      },
    ],
    callbacks: {
      jwt({ token, account: given }) {
        if (given) account = given;
        return token;
      },
    },
  };
  const cookies = new Map<string, string>();
  const call = async (path: string, fields?: Record<string, string>): Promise<Response> => {
    const headers: Record<string, string> = { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') };
    if (fields) headers['content-type'] = 'application/x-www-form-urlencoded';
    const body = fields ? new URLSearchParams(fields).toString() : null;
    const response = await Auth(new Request(origin + path, { method: fields ? 'POST' : 'GET', headers, body }), config);
    for (const cookie of response.headers.getSetCookie()) {
      const pair = cookie.split('; ')[0] ?? '';
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    return response;
  };

  const { csrfToken } = (await (await call('/auth/csrf')).json()) as { csrfToken: string };
  const start = await call('/auth/signin/idp', { csrfToken, callbackUrl: `${origin}/home` });
  const agent = personAt(origin);
  const callback = await arrive(agent, start.headers.get('location') ?? '');
  const done = await call(callback.pathname + callback.search);
  expect(done.headers.get('location')).toBe(`${origin}/home`);
  const session = (await (await call('/auth/session')).json()) as { user: Record<string, string> };
  expect(session.user).toMatchObject({ email: user.email, name: 'Ada Lovelace' });
  await refreshAndSignOut(agent, client, origin, account as { refresh_token: string; id_token: string });
  await call('/auth/signout', { csrfToken });
  expect(await (await call('/auth/session')).json()).toBeNull();
});

type Verified = { id: string; displayName?: string; refresh_token: string; id_token: string };
type Passport = { use(strategy: unknown): void; authenticate(name: string, options: object): RequestHandler };
type Done = (error: Error | null, user: Verified) => void;

/** Both have no type declarations of their own. */
const load = createRequire(import.meta.url);

test('passport-openidconnect: sign in, refresh, sign out', async () => {
  const { Passport: PassportClass } = load('passport') as { Passport: new () => Passport };
  const Strategy = load('passport-openidconnect') as new (options: object, verify: (...given: never[]) => void) => unknown;
  const passport = new PassportClass();
  const app = express();
  const server: Server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = await register(origin, '/cb');
  const options = {
    issuer: service.url,
    authorizationURL: `${service.url}/oauth/authorize`,
    tokenURL: `${service.url}/oauth/token`,
    userInfoURL: `${service.url}/oauth/userinfo`,
    clientID: client.id,
    clientSecret: client.client_secret,
    callbackURL: `${origin}/cb`,
    scope: ['profile', 'email'],
    nonce: true,
  };
  const verify = (...given: unknown[]) => {
    const [, profile, , id_token, , refresh_token, done] = given as [
      string,
      { id: string; displayName?: string },
      object,
      string,
      string,
      string,
      Done,
    ];
    done(null, {
      id: profile.id,
      ...(profile.displayName === undefined ? {} : { displayName: profile.displayName }),
      refresh_token,
      id_token,
    });
  };
  // Passport tells by the number of parameters what it hands over.
  Object.defineProperty(verify, 'length', { value: 7 });
  passport.use(new Strategy({ ...options, skipUserProfile: false }, verify as never));
  const session: Record<string, unknown> = {};
  app.use((req: Request, _res: ExpressResponse, next: NextFunction) => {
    Object.assign(req, { session });
    next();
  });
  const authenticate = passport.authenticate('openidconnect', { session: false });
  app.get('/login', authenticate);
  app.get('/cb', authenticate, (req: Request, res: ExpressResponse) => void res.json((req as Request & { user: Verified }).user));

  const browser = new Browser(origin);
  const start = await browser.get('/login');
  const agent = personAt(origin);
  const callback = await arrive(agent, start.headers.get('location') ?? '');
  const answer = await browser.get(callback.pathname + callback.search);
  const verified = (await answer.json()) as Verified;
  expect(verified).toMatchObject({ id: user.id, displayName: 'Ada Lovelace' });
  await refreshAndSignOut(agent, client, origin, verified);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import type { Context } from '../../src/domain/context.js';
import { randomToken } from '../../src/lib/random.js';
import { Browser } from './browser.js';
import { addConnection } from './connections.js';
import { addClient, addResource, type TestClient } from './data.js';
import { authorizeCode, redeem } from './oauth.js';
import type { TestService } from './service.js';
import { loginThrough } from './sso.js';
import type { ScriptedUpstream } from './upstream-scripted.js';

export const sessionRevoked = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked';
export const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** A provider whose signals are signed with a key of ours: its key set has it beside that of its ID tokens. */
export class SignallingProvider {
  #key!: { privateKey: CryptoKey; jwk: JWK };

  constructor(readonly upstream: ScriptedUpstream) {}

  async start(): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair('RS256');
    this.#key = { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: 'signals', alg: 'RS256', use: 'sig' } };
    this.upstream.metadata = { jwks_uri: `${this.upstream.url}/all-keys` };
    this.upstream.instead.set('/all-keys', async (_req, res) => {
      const own = (await (await fetch(`${this.upstream.url}/jwks`)).json()) as { keys: JWK[] };
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: [...own.keys, this.#key.jwk] }));
    });
  }

  sign(typ: string | undefined, claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'signals', ...(typ && { typ }), ...header })
      .sign(this.#key.privateKey);
  }

  #stamps = (at: Date) => ({ iss: this.upstream.url, iat: Math.floor(at.getTime() / 1000), jti: randomToken('') });

  /** A security event token; undefined leaves a claim out. */
  set(
    audience: string,
    { at = new Date(), header = {}, ...claims }: Record<string, unknown> & { at?: Date; header?: Record<string, unknown> } = {},
  ) {
    const sub_id = { format: 'iss_sub', iss: this.upstream.url, sub: 'ada' };
    return this.sign('secevent+jwt', { ...this.#stamps(at), aud: audience, sub_id, events: { [sessionRevoked]: {} }, ...claims }, header);
  }

  logoutToken({ at = new Date(), typ = 'logout+jwt', ...claims }: Record<string, unknown> & { at?: Date; typ?: string | undefined } = {}) {
    const stamps = this.#stamps(at);
    const content = { ...stamps, exp: stamps.iat + 120, aud: 'the-service', sub: 'ada', events: { [logoutEvent]: {} }, ...claims };
    return this.sign(typ, content);
  }

  revocationToken(audience: string, { at = new Date(), ...claims }: Record<string, unknown> & { at?: Date } = {}) {
    const stamps = this.#stamps(at);
    return this.sign('global-token-revocation+jwt', { ...stamps, exp: stamps.iat + 300, aud: audience, sub: 'the-service', ...claims });
  }
}

/** A connection of the provider, an application and its API; `signIn` brings whom the provider names. */
export async function signalWorld(service: TestService, ctx: Context, upstream: ScriptedUpstream, row: Partial<ConnectionRow> = {}) {
  const connection = await addConnection(ctx, { issuer: upstream.url, signals: 'push', allow_registration: true, ...row });
  const resource = await addResource(ctx, { identifier: `https://${connection.id}.example` });
  const app: TestClient = await addClient(ctx);
  const url = `${ctx.environment.issuer}/auth/sso/${connection.id}/signals`;
  const signIn = async (through: Pick<ConnectionRow, 'id'> = connection, browser = new Browser(service.url)) => {
    const answer = await loginThrough(browser, through);
    if (answer.status !== 303) throw new Error(`not signed in: ${answer.status} ${await answer.text()}`);
    return browser;
  };
  const tokensOf = async (browser: Browser, scope = 'openid offline_access read') =>
    (await redeem(service.url, app, await authorizeCode(browser, app, { scope, resource: resource.identifier }))).body;
  return { connection, resource, app, url, signIn, tokensOf };
}

export const isSignedIn = async (browser: Browser) => (await browser.get('/account')).status === 200;

export const post = (url: string, type: string, body: string, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', headers: { 'content-type': type, ...headers }, body });
export const postSet = (url: string, set: string) => post(url, 'application/secevent+jwt', set);
export const postLogout = (url: string, logout_token: string) =>
  post(url, 'application/x-www-form-urlencoded', new URLSearchParams({ logout_token }).toString());
export const postRevocation = (url: string, token: string, body: unknown) =>
  post(url, 'application/json', JSON.stringify(body), { authorization: `Bearer ${token}` });

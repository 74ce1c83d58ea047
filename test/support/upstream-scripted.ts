/** A provider that does what the test tells it to: OpenID Connect, GitHub's and Apple's shape, and every misbehaviour. */
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { afterAll, beforeAll } from 'vitest';

type Handler = (req: IncomingMessage, res: ServerResponse) => void | Promise<void>;

export type ScriptedRequest = { path: string; query: URLSearchParams; body: URLSearchParams; headers: IncomingMessage['headers'] };

type Pending = { nonce: string | null; challenge: string | null; redirect_uri: string };

export class ScriptedUpstream {
  url = '';
  /** What the ID token and userinfo say of the person. */
  claims: Record<string, unknown> = {
    sub: 'ada',
    email: 'ada@corp.example',
    email_verified: true,
    given_name: 'Ada',
    family_name: 'Lovelace',
  };
  /** Claims that go into the ID token instead of what is right; `undefined` leaves one out. */
  tokenClaims: Record<string, unknown> = {};
  /** Members added to the discovery document. */
  metadata: Record<string, unknown> = {};
  /** Sent back beside code and state. */
  answer: Record<string, string> = {};
  /** Takes the place of an endpoint. */
  readonly instead = new Map<string, Handler>();
  readonly requests: ScriptedRequest[] = [];
  #codes = new Map<string, Pending>();
  #key!: { privateKey: CryptoKey; jwk: JWK };
  #server!: Server;

  static async start(): Promise<ScriptedUpstream> {
    const upstream = new ScriptedUpstream();
    await upstream.#listen();
    return upstream;
  }

  /** One provider for all tests of a file, listening from the first hook that comes after this on. */
  static shared(): ScriptedUpstream {
    const upstream = new ScriptedUpstream();
    beforeAll(() => upstream.#listen());
    afterAll(() => upstream.close());
    return upstream;
  }

  async #listen(): Promise<void> {
    await this.rotate();
    this.#server = createServer((req, res) => {
      this.#handle(req, res).catch((error: unknown) => {
        res.statusCode = 500;
        res.end(String(error));
      });
    });
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** Another signing key, and only that one; `kid` keeps the old name when it is given. */
  async rotate(kid = randomBytes(4).toString('hex')): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair('RS256');
    this.#key = { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' } };
  }

  get kid(): string {
    return this.#key.jwk.kid as string;
  }

  asked(path: string): ScriptedRequest[] {
    return this.requests.filter((request) => request.path === path);
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(req.url ?? '/', this.url);
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = new URLSearchParams(Buffer.concat(chunks).toString());
    const request = { path: pathname, query: searchParams, body, headers: req.headers };
    this.requests.push(request);
    const instead = this.instead.get(pathname);
    if (instead) return instead(req, res);
    const json = (value: unknown, status = 200) => {
      res.writeHead(status, { 'content-type': 'application/json' });
      res.end(JSON.stringify(value));
    };
    switch (pathname) {
      case '/.well-known/openid-configuration':
        return json(this.discovery());
      case '/jwks':
        return json({ keys: [this.#key.jwk] });
      case '/authorize':
      case '/login/oauth/authorize':
        return this.#authorize(request, res);
      case '/token':
      case '/login/oauth/access_token':
        return this.#token(request, json);
      case '/userinfo':
      case '/user':
        return json(this.claims);
      default:
        return json({ error: 'not_found' }, 404);
    }
  }

  discovery(): Record<string, unknown> {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      jwks_uri: `${this.url}/jwks`,
      userinfo_endpoint: `${this.url}/userinfo`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      ...this.metadata,
    };
  }

  /** A code as this provider would give it out for a request. */
  issueCode(query: URLSearchParams): string {
    const code = `code-${randomBytes(8).toString('hex')}`;
    this.#codes.set(code, {
      nonce: query.get('nonce'),
      challenge: query.get('code_challenge'),
      redirect_uri: query.get('redirect_uri') ?? '',
    });
    return code;
  }

  #authorize({ query }: ScriptedRequest, res: ServerResponse): void {
    const parameters = { code: this.issueCode(query), state: query.get('state') ?? '', ...this.answer };
    const redirect_uri = query.get('redirect_uri') ?? '';
    if (query.get('response_mode') !== 'form_post') {
      res.writeHead(302, { location: `${redirect_uri}?${new URLSearchParams(parameters)}` });
      return void res.end();
    }
    const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
    const inputs = Object.entries(parameters).map(([name, value]) => `<input type="hidden" name="${name}" value="${escape(value)}">`);
    res.writeHead(200, { 'content-type': 'text/html' });
    res.end(
      `<!doctype html><body><form method="post" action="${redirect_uri}">${inputs.join('')}</form><script>document.forms[0].submit()</script>`,
    );
  }

  async #token({ body }: ScriptedRequest, json: (value: unknown, status?: number) => void): Promise<void> {
    const pending = this.#codes.get(body.get('code') ?? '');
    this.#codes.delete(body.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(body.get('code_verifier') ?? '')
      .digest('base64url');
    if (!pending || pending.challenge !== challenge || pending.redirect_uri !== body.get('redirect_uri'))
      return json({ error: 'invalid_grant' }, 400);
    const access_token = `upstream-access-token-${randomBytes(8).toString('hex')}`;
    const half = (text: string) => createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url');
    const hashes = { at_hash: half(access_token), c_hash: half(body.get('code') ?? '') };
    json({ access_token, token_type: 'Bearer', expires_in: 60, id_token: await this.idToken(pending.nonce, hashes) });
  }

  async idToken(nonce: string | null, hashes: Record<string, string> = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.url,
      aud: 'the-service',
      iat: now,
      exp: now + 60,
      nonce: nonce ?? undefined,
      ...hashes,
      ...this.claims,
      ...this.tokenClaims,
    };
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: this.kid }).sign(this.#key.privateKey);
  }
}

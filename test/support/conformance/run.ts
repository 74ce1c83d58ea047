import { randomBytes } from 'node:crypto';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet, type JWTPayload } from 'jose';
import { checkErrorText, checkIdToken, checkMetadata, checkStandardClaims, entropyOf } from './checks.js';
import { Findings } from './findings.js';
import type { Provider, Variant } from './provider.js';
import { UserAgent, type Callback, type Page } from './user-agent.js';

export type RegisteredClient = { client_id: string; client_secret: string; redirect_uri: string };
export type Tokens = { access_token: string; id_token: string; refresh_token?: string; claims: JWTPayload; body: Record<string, unknown> };
type TokenAnswer = { status: number; headers: Headers; body: Record<string, unknown> };

export const rpOrigin = 'https://rp.example';

const formEncode = (text: string) => encodeURIComponent(text).replaceAll('%20', '+');

/** One run of one module: the provider, one person's browser, and what was found. */
export class Run {
  readonly findings = new Findings();
  readonly agent: UserAgent;
  metadata: Record<string, unknown> = {};
  jwks: JSONWebKeySet = { keys: [] };
  private registrations: { uri: string; token: string }[] = [];

  constructor(
    readonly provider: Provider,
    readonly variant: Variant,
  ) {
    this.agent = this.newAgent();
  }

  newAgent(decision: 'allow' | 'deny' = 'allow'): UserAgent {
    const { origin, fetch, user } = this.provider;
    return new UserAgent({ origin, rpOrigin, email: user.email, fetch, decision });
  }

  endpoint(name: string): string {
    return this.metadata[`${name}_endpoint`] as string;
  }

  /** What every module does first: discovery and keys. */
  async setUp(): Promise<void> {
    const { origin, fetch } = this.provider;
    const response = await fetch(`${origin}/.well-known/openid-configuration`);
    this.findings.must(response.status === 200, 'discovery answers 200');
    this.metadata = (await response.json()) as Record<string, unknown>;
    const keys = await fetch(this.metadata['jwks_uri'] as string);
    this.jwks = (await keys.json()) as JSONWebKeySet;
    checkMetadata(this.findings, this.metadata, this.jwks, origin);
  }

  /** Registers a client as the suite does (RFC 7591); `tearDown` deletes it. */
  async registerClient(extra: Record<string, unknown> = {}): Promise<RegisteredClient> {
    const redirect_uri = `${rpOrigin}/${randomBytes(4).toString('hex')}/callback`;
    const response = await this.provider.fetch(this.endpoint('registration'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'Certification client',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        redirect_uris: [redirect_uri],
        contacts: ['certification@rp.example'],
        token_endpoint_auth_method: 'client_secret_basic',
        jwks: { keys: [this.provider.signingKey.jwk] },
        ...extra,
      }),
    });
    const body = (await response.json()) as Record<string, unknown>;
    this.findings.must(response.status === 201, `registration answers 201, not ${response.status}: ${JSON.stringify(body)}`);
    this.findings.must(response.headers.get('content-type')?.startsWith('application/json') === true, 'registration answers JSON');
    this.findings.must('client_secret' in body === 'client_secret_expires_at' in body, 'client_secret_expires_at comes with client_secret');
    this.registrations.push({ uri: body['registration_client_uri'] as string, token: body['registration_access_token'] as string });
    return { client_id: body['client_id'] as string, client_secret: body['client_secret'] as string, redirect_uri };
  }

  async tearDown(): Promise<void> {
    for (const { uri, token } of this.registrations) {
      const response = await this.provider.fetch(uri, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } });
      this.findings.should(response.status === 204, 'deleting a registration answers 204');
    }
  }

  request(client: RegisteredClient, extra: Record<string, string | undefined> = {}): Record<string, string> {
    const parameters: Record<string, string | undefined> = {
      client_id: client.client_id,
      redirect_uri: client.redirect_uri,
      scope: 'openid',
      state: randomBytes(8).toString('hex'),
      nonce: randomBytes(8).toString('hex'),
      response_type: 'code',
      response_mode: this.variant.response_mode === 'form_post' ? 'form_post' : undefined,
      ...extra,
    };
    return Object.fromEntries(Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  authorizationUrl(parameters: Record<string, string>): string {
    return `${this.endpoint('authorization')}?${new URLSearchParams(parameters).toString()}`;
  }

  /** Checks how an answer came back: by the right way, with `state` and `iss`. */
  checkCallback(callback: Callback | Page, parameters: Record<string, string>): Callback {
    if (callback.kind === 'page')
      throw new Error(`a page instead of an answer: ${callback.status} ${callback.url.pathname} ${callback.html}`);
    const posted = this.variant.response_mode === 'form_post';
    this.findings.must(callback.method === (posted ? 'POST' : 'GET'), 'the answer comes by the response mode');
    if (posted) {
      const inQuery = callback.url.searchParams.has('code') || callback.url.searchParams.has('error');
      this.findings.must(!inQuery, 'the query is empty in form_post');
    }
    this.findings.must(callback.parameters.get('state') === (parameters['state'] ?? null), 'state is echoed exactly');
    this.findings.must(callback.parameters.get('iss') === this.metadata['issuer'], 'iss equals the issuer');
    return callback;
  }

  /** One authorization request that is to succeed; answers with the code. */
  async authorize(parameters: Record<string, string>, agent = this.agent, post = false): Promise<string> {
    const callback = this.checkCallback(
      post ? await agent.visit(this.endpoint('authorization'), parameters) : await agent.visit(this.authorizationUrl(parameters)),
      parameters,
    );
    const code = callback.parameters.get('code');
    if (code === null) throw new Error(`no code: ${callback.parameters.toString()}`);
    this.findings.must(code.length >= 16 && entropyOf(code) > 96, 'the code has more than 96 bits');
    return code;
  }

  /** One authorization request that is to be refused, by an answer to the client. */
  async refusal(parameters: Record<string, string>, allowed: readonly string[], agent = this.agent): Promise<Callback> {
    const callback = this.checkCallback(await agent.visit(this.authorizationUrl(parameters)), parameters);
    const known = new Set(['error', 'error_description', 'error_uri', 'state', 'session_state', 'iss']);
    this.findings.must(!callback.parameters.has('code'), 'no code beside an error');
    this.findings.must(
      allowed.includes(callback.parameters.get('error') ?? ''),
      `error is one of ${allowed.join(', ')}, not ${callback.parameters.get('error')}`,
    );
    this.findings.should([...callback.parameters.keys()].every((name) => known.has(name)), 'an error has known parameters only'); // prettier-ignore
    checkErrorText(this.findings, callback.parameters.get('error_description'));
    return callback;
  }

  async tokenRequest(client: RegisteredClient, fields: Record<string, string>, method: 'basic' | 'post' = 'basic'): Promise<TokenAnswer> {
    const credentials = Buffer.from(`${formEncode(client.client_id)}:${formEncode(client.client_secret)}`).toString('base64');
    const secret = { client_id: client.client_id, client_secret: client.client_secret };
    const response = await this.provider.fetch(this.endpoint('token'), {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(method === 'basic' ? { authorization: `Basic ${credentials}` } : {}),
      },
      body: new URLSearchParams(method === 'basic' ? fields : { ...fields, ...secret }).toString(),
    });
    this.findings.must(response.headers.get('content-type')?.startsWith('application/json') === true, 'the token endpoint answers JSON');
    return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
  }

  mustBeRefused(answer: TokenAnswer, error: string): void {
    this.findings.must(
      answer.status === 400 && answer.body['error'] === error,
      `400 ${error}, not ${answer.status} ${String(answer.body['error'])}`,
    );
    checkErrorText(this.findings, (answer.body['error_description'] as string | undefined) ?? null);
  }

  /** Redeems the code, checks the answer and the ID token, and asks userinfo, as every module does. */
  async exchange(
    client: RegisteredClient,
    code: string,
    parameters: Record<string, string>,
    extra: Record<string, string> = {},
    method: 'basic' | 'post' = 'basic',
  ): Promise<Tokens> {
    const fields = { grant_type: 'authorization_code', code, redirect_uri: client.redirect_uri, ...extra };
    const { status, headers, body } = await this.tokenRequest(client, fields, method);
    if (status !== 200) throw new Error(`token endpoint: ${status} ${JSON.stringify(body)}`);
    const { expires_in } = body;
    this.findings.should(expires_in !== undefined, 'expires_in is there');
    this.findings.must(typeof expires_in === 'number' && expires_in >= 1 && expires_in <= 31_536_000, 'expires_in is a number of seconds');
    this.findings.must(/^bearer$/i.test(String(body['token_type'])), 'token_type is Bearer');
    this.findings.must(headers.get('cache-control')?.includes('no-store') === true, 'tokens are not cached');
    const claims = await this.verifyIdToken(client, body['id_token'] as string, parameters);
    const tokens = { ...body, body, claims } as unknown as Tokens;
    await this.userinfo(tokens);
    return tokens;
  }

  async verifyIdToken(client: RegisteredClient, id_token: string, parameters: Record<string, string>): Promise<JWTPayload> {
    const { kid } = decodeProtectedHeader(id_token);
    this.findings.must(this.jwks.keys.filter((key) => key['kid'] === kid).length === 1, 'exactly one published key fits the ID token');
    // The clock of the service runs ahead of the machine's in modules that wait.
    const currentDate = this.provider.service.clock.now();
    const { payload } = await jwtVerify(id_token, createLocalJWKSet(this.jwks), {
      issuer: this.metadata['issuer'] as string,
      audience: client.client_id,
      algorithms: ['RS256'],
      currentDate,
    });
    checkIdToken(this.findings, payload, parameters, currentDate);
    return payload;
  }

  /** Userinfo, by one of the three ways; 200 with the subject of the ID token. */
  async userinfo(
    tokens: Pick<Tokens, 'access_token' | 'claims'>,
    way: 'get' | 'post-header' | 'post-body' = 'get',
  ): Promise<Record<string, unknown>> {
    const authorization = `Bearer ${tokens.access_token}`;
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const init: Record<typeof way, RequestInit> = {
      get: { headers: { authorization } },
      'post-header': { method: 'POST', headers: { authorization } },
      'post-body': { method: 'POST', headers: form, body: new URLSearchParams({ access_token: tokens.access_token }).toString() },
    };
    const response = await this.provider.fetch(this.endpoint('userinfo'), init[way]);
    this.findings.must(response.status === 200, `userinfo answers 200, not ${response.status}`);
    this.findings.must(response.headers.get('content-type')?.startsWith('application/json') === true, 'userinfo answers JSON');
    const claims = (await response.json()) as Record<string, unknown>;
    this.findings.must(claims['sub'] === tokens.claims.sub, 'sub at userinfo equals that of the ID token');
    checkStandardClaims(this.findings, claims);
    return claims;
  }

  /** Authorization and exchange in one: the happy flow. */
  async signIn(client: RegisteredClient, extra: Record<string, string | undefined> = {}): Promise<Tokens> {
    const parameters = this.request(client, extra);
    return this.exchange(client, await this.authorize(parameters), parameters);
  }
}

/** Runs a module and returns what it found; what it throws counts as a failure. */
export async function runModule(provider: Provider, variant: Variant, module: (run: Run) => Promise<void>): Promise<Findings> {
  const run = new Run(provider, variant);
  try {
    await run.setUp();
    await module(run);
    await run.tearDown();
  } catch (error) {
    run.findings.failures.push(String(error instanceof Error ? error.message : error).slice(0, 2_000));
  }
  return run.findings;
}

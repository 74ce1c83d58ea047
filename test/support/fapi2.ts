import { randomUUID } from 'node:crypto';
import { transaction } from '../../src/domain/context.js';
import { addSigningAlgorithm } from '../../src/domain/signing-keys/algorithms.js';
import { generateSigningKey } from '../../src/domain/signing-keys/signing-keys.js';
import { locationParameters, pkcePair, type Browser } from './browser.js';
import { addClient, type TestClient } from './data.js';
import { createProofKey, type ProofKey } from './dpop.js';
import { oauthPost, type TokenAnswer } from './oauth.js';
import type { TestService } from './service.js';
import { createClientKey, type ClientKey } from './signed-jwt.js';

export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Lets the environment sign with ES256 too, as giving a client the profile does. */
export async function signWithEs256(service: TestService): Promise<void> {
  const ctx = await service.context();
  const key = await generateSigningKey(ctx, 'ES256');
  await transaction(ctx, (tx) => addSigningAlgorithm(tx, key));
}

/** Columns of a client that is held to FAPI 2.0, beside its keys. */
export const fapi2Columns = {
  profile: 'fapi2',
  token_endpoint_auth_method: 'private_key_jwt',
  secret_digest: null,
  secret_hint: null,
  require_pkce: true,
  require_pushed_authorization_requests: true,
  dpop_bound_access_tokens: true,
  id_token_signed_response_alg: 'ES256',
  grant_types: ['authorization_code', 'refresh_token'],
} as const;

type Fields = Readonly<Record<string, string>>;
/** How a request differs from a good one. `proof` null: without one. */
export type Differences = { readonly assertion?: string; readonly proof?: string | null; readonly nonce?: string };
export type Granted = { readonly code: string; readonly verifier: string };

/** A client that does all that FAPI 2.0 asks for, unless it is told otherwise. */
export class Fapi2Client {
  private constructor(
    private readonly service: TestService,
    readonly client: TestClient,
    readonly key: ClientKey,
    public proofKey: ProofKey,
  ) {}

  static async add(service: TestService, row: Parameters<typeof addClient>[1] = {}, alg: 'PS256' | 'ES256' | 'EdDSA' = 'PS256') {
    const key = await createClientKey(alg);
    const columns = { ...fapi2Columns, grant_types: [...fapi2Columns.grant_types], redirect_uris: ['https://bank.example/cb'] };
    const client = await addClient(await service.context(), { ...columns, jwks: { keys: [key.jwk] }, ...row });
    return new Fapi2Client(service, client, key, await createProofKey('ES256', () => service.clock.now().getTime()));
  }

  get now(): number {
    return Math.floor(this.service.clock.now().getTime() / 1000);
  }

  get redirect_uri(): string {
    return this.client.redirect_uris[0] as string;
  }

  claims(changes: Record<string, unknown> = {}): Record<string, unknown> {
    const { id } = this.client;
    return { iss: id, sub: id, aud: this.service.url, jti: randomUUID(), iat: this.now, exp: this.now + 60, ...changes };
  }

  /** A client assertion; a claim that is undefined is left out. */
  assertion(changes: Record<string, unknown> = {}): Promise<string> {
    return this.key.sign(this.claims(changes));
  }

  /** POST as the client, with an assertion and, at the token endpoint and where it is asked for, a proof. */
  async post(path: string, fields: Fields, { assertion, proof, nonce }: Differences = {}): Promise<TokenAnswer> {
    const made = proof === undefined ? await this.proofKey.proof({ htu: this.service.url + path, nonce }) : proof;
    const credentials = { client_assertion_type: assertionType, client_assertion: assertion ?? (await this.assertion()) };
    const body = { client_id: this.client.id, ...credentials, ...fields };
    return oauthPost(this.service.url, path, null, body, made === null ? {} : { dpop: made });
  }

  request(changes: Record<string, string | undefined> = {}): { fields: Fields; verifier: string } {
    const { verifier, challenge } = pkcePair();
    const all = {
      response_type: 'code',
      redirect_uri: this.redirect_uri,
      scope: 'openid offline_access',
      state: 'st-1',
      nonce: 'n-1',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...changes,
    };
    return { fields: Object.fromEntries(Object.entries(all).filter((one): one is [string, string] => one[1] !== undefined)), verifier };
  }

  push(fields: Fields, how: Differences = { proof: null }): Promise<TokenAnswer> {
    return this.post('/oauth/par', fields, how);
  }

  open(browser: Browser, request_uri: string): Promise<Response> {
    return browser.get(`/oauth/authorize?${new URLSearchParams({ client_id: this.client.id, request_uri })}`);
  }

  /** A code, as the person in the browser gives it. @throws when there is none */
  async code(browser: Browser, changes: Record<string, string | undefined> = {}): Promise<Granted> {
    const { fields, verifier } = this.request(changes);
    const pushed = await this.push(fields);
    if (pushed.status !== 201) throw new Error(`not pushed: ${JSON.stringify(pushed.body)}`);
    const answer = await this.open(browser, pushed.body['request_uri'] as string);
    const code = locationParameters(answer).get('code');
    if (code === null) throw new Error(`no code: ${answer.headers.get('location')}`);
    return { code, verifier };
  }

  redeem({ code, verifier }: Granted, how: Differences = {}, fields: Fields = {}): Promise<TokenAnswer> {
    const { redirect_uri } = this;
    return this.post('/oauth/token', { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier, ...fields }, how);
  }

  refresh(refresh_token: string, how: Differences = {}, fields: Fields = {}): Promise<TokenAnswer> {
    return this.post('/oauth/token', { grant_type: 'refresh_token', refresh_token, ...fields }, how);
  }

  /** Userinfo with the token; `proof` null: as Bearer. */
  async userinfo(token: string, how: Differences & { readonly scheme?: string } = {}): Promise<Response> {
    const { url } = this.service;
    const htu = `${url}/oauth/userinfo`;
    const proof = how.proof === undefined ? await this.proofKey.proof({ htu, htm: 'GET', token, nonce: how.nonce }) : how.proof;
    const authorization = `${how.scheme ?? (proof === null ? 'Bearer' : 'DPoP')} ${token}`;
    return fetch(htu, { headers: { authorization, ...(proof === null ? {} : { dpop: proof }) } });
  }
}

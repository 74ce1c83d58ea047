import { compactVerify, createRemoteJWKSet, decodeProtectedHeader, customFetch as joseFetch, errors as jose } from 'jose';
import * as client from 'openid-client';
import { halfHash } from '../../lib/half-hash.js';
import { isAdjustable } from '../../platform/clock.js';
import { ProviderFailure } from '../provider-failure.js';
import { ssoRefusal } from '../refusal.js';
import { readTokens, type GivenTokens } from '../../domain/provider-tokens/tokens.js';
import type { KeptAccess } from '../flow.js';
import type { Claims, Provider, ProviderAnswer, ProviderServer, Strategy } from './strategy.js';

export type OidcQuirks = {
  /** The parameters that ask for offline access in the place of the scope `offline_access` (OIDC Core 11). */
  readonly offline?: Readonly<Record<string, string>>;
  /** More parameters of the authorization request. */
  readonly parameters?: (provider: Provider) => Record<string, string>;
  /** How the client proves itself at the token endpoint, when it isn't by the connection's secret. */
  readonly authentication?: (provider: Provider) => client.ClientAuth;
  /** Changes the claims to the standard's form, or refuses them. */
  readonly claims?: (provider: Provider, claims: Claims, answer: ProviderAnswer) => Claims;
};

type Jwks = ReturnType<typeof createRemoteJWKSet>;
type Remembered = { readonly config: client.Configuration; readonly jwks: Jwks };

/** Only signatures that the provider alone can make: no `none`, no HMAC with a secret that others hold. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
const timeoutSeconds = 5;

/** What the connection says itself; without an authorization, token and key address it has to be discovered (OIDC Discovery 4). */
function configuredServer({ connection, description }: Provider): client.ServerMetadata | null {
  const of = (field: 'authorization_endpoint' | 'token_endpoint' | 'userinfo_endpoint' | 'jwks_uri') =>
    connection[field] ?? description.endpoints[field];
  const [authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint] = [
    of('authorization_endpoint'), of('token_endpoint'), of('jwks_uri'), of('userinfo_endpoint'),
  ]; // prettier-ignore
  if (!authorization_endpoint || !token_endpoint || !jwks_uri) return null;
  return {
    issuer: issuerOf({ connection, description } as Provider),
    authorization_endpoint,
    token_endpoint,
    jwks_uri,
    ...(userinfo_endpoint && { userinfo_endpoint }),
    id_token_signing_alg_values_supported: algorithms,
  };
}

function issuerOf({ connection, description }: Provider): string {
  const issuer = connection.issuer ?? description.issuer;
  if (issuer === null) throw new Error('the connection has no issuer');
  return issuer;
}

const postsSecret = ({ token_endpoint_auth_methods_supported: methods }: client.ServerMetadata): boolean =>
  methods !== undefined && !methods.includes('client_secret_basic') && methods.includes('client_secret_post');

/** RFC 6749 2.3.1 wants Basic; a provider that lists only the body gets it there. */
function secretAuthentication({ client_secret }: Provider, server: client.ServerMetadata): client.ClientAuth {
  if (client_secret === null) return client.None();
  return postsSecret(server) ? client.ClientSecretPost(client_secret) : client.ClientSecretBasic(client_secret);
}

async function open(provider: Provider, quirks: OidcQuirks): Promise<Remembered> {
  const { connection, fetch } = provider;
  const known = configuredServer(provider);
  // The method may depend on what is about to be discovered, and is chosen when it is needed.
  const authenticate: client.ClientAuth = (server, ...rest) =>
    (quirks.authentication?.(provider) ?? secretAuthentication(provider, server))(server, ...rest);
  const options = { [client.customFetch]: fetch as client.CustomFetch, timeout: timeoutSeconds, execute: [client.allowInsecureRequests] };
  // The library reads the machine's clock; what the database's differs by is its to add.
  const metadata = { [client.clockSkew]: isAdjustable(provider.clock) ? Math.round(provider.clock.offset / 1000) : 0 };
  const config = known
    ? new client.Configuration(known, connection.provider_client_id, metadata, authenticate)
    : await client.discovery(new URL(issuerOf(provider)), connection.provider_client_id, metadata, authenticate, options);
  // Plain http is the guarded fetch's decision: allowed where private networks are.
  client.allowInsecureRequests(config);
  config[client.customFetch] = fetch as client.CustomFetch;
  config.timeout = timeoutSeconds;
  const { jwks_uri } = config.serverMetadata();
  if (jwks_uri === undefined) throw new Error('the provider names no jwks_uri');
  // No cool-down: tokens come from the token endpoint itself, so an unknown key costs one look per login and finds a rotated one.
  const jwks = createRemoteJWKSet(new URL(jwks_uri), {
    [joseFetch]: fetch as typeof globalThis.fetch,
    timeoutDuration: timeoutSeconds * 1000,
    cooldownDuration: 0,
  });
  return { config, jwks };
}

/** Checks the signature against the provider's keys, which are fetched anew when the key is unknown or was replaced under its name. */
async function verifySignature(id_token: string, jwks: Jwks): Promise<void> {
  try {
    await compactVerify(id_token, jwks, { algorithms });
  } catch (error) {
    if (error instanceof jose.JWKSMultipleMatchingKeys) {
      for await (const key of error) {
        const verified = await compactVerify(id_token, key, { algorithms }).catch(() => null);
        if (verified) return;
      }
      throw new jose.JWSSignatureVerificationFailed(undefined, { cause: error });
    }
    if (!(error instanceof jose.JWSSignatureVerificationFailed)) throw error;
    await jwks.reload();
    await compactVerify(id_token, jwks, { algorithms });
  }
}

/** The hash of `at_hash` and `c_hash`: that of the signature (OIDC Core 3.1.3.6); Ed25519 uses SHA-512 (RFC 8032 5.1). */
const hashOf = (id_token: string) => {
  const [, size] = /(256|384|512)$/.exec(decodeProtectedHeader(id_token).alg ?? '') ?? [];
  return `sha${(size ?? '512') as '256' | '384' | '512'}` as const;
};

/** Checks that the access token and the code are those that the ID token was made with, where it says so (OIDC Core 3.1.3.6, 3.3.2.11). */
function verifyHashes(id_token: string, { at_hash, c_hash }: Claims, access_token: string, code: string): void {
  const hash = hashOf(id_token);
  const checked = [['at_hash', at_hash, access_token], ['c_hash', c_hash, code]] as const; // prettier-ignore
  for (const [name, claimed, value] of checked)
    if (claimed !== undefined && claimed !== halfHash(hash, value))
      throw ssoRefusal('sso_provider_error', { status: 400, cause: new ProviderFailure(`the ID token: ${name} does not fit`) });
}

const text = (value: unknown) => typeof value === 'string' && value !== '';

/** Whether the ID token leaves out what userinfo may have. */
const lacksPerson = (claims: Claims) => !text(claims['email']) || !(text(claims['given_name']) || text(claims['name']));

/** Adds what userinfo knows. An address is verified only by the word of the document that it stands in. */
async function withUserinfo(config: client.Configuration, access_token: string, claims: Claims & { sub: string }): Promise<Claims> {
  if (config.serverMetadata().userinfo_endpoint === undefined || !lacksPerson(claims)) return claims;
  const addressed = text(claims['email']);
  const userinfo: Claims | null = await client.fetchUserInfo(config, access_token, claims.sub).catch((error: unknown) => {
    // A failing userinfo isn't fatal when only the name is missing.
    if (addressed) return null;
    throw error;
  });
  // `auth_time`, `amr` and `acr` are taken from the signed ID token only.
  const { email, email_verified, auth_time: _when, amr: _how, acr: _level, ...rest } = userinfo ?? {};
  return { ...rest, ...(!addressed && { email, email_verified }), ...claims };
}

const scopesAsked = ({ connection, description }: Provider, keeps: KeptAccess | null, { offline }: OidcQuirks): readonly string[] => [
  ...(connection.scopes.length > 0 ? connection.scopes : description.scopes),
  ...(keeps?.scopes ?? []),
  ...(keeps && !offline ? ['offline_access'] : []),
];

/** What is kept of the answer. */
function given(provider: Provider, config: client.Configuration, tokens: client.TokenEndpointResponse, keeps: KeptAccess): GivenTokens {
  const server = config.serverMetadata();
  const { connection, description, client_secret } = provider;
  return readTokens(tokens, {
    asked: [...(connection.scopes.length > 0 ? connection.scopes : description.scopes), ...keeps.scopes],
    token_endpoint: server.token_endpoint ?? '',
    revocation_endpoint: server.revocation_endpoint ?? null,
    auth_method: client_secret === null ? 'none' : postsSecret(server) ? 'client_secret_post' : 'client_secret_basic',
  });
}

/** A strategy for providers with ID tokens (OIDC Core 3.1): discovery, PKCE, nonce, checks by openid-client, keys by jose. */
export function createOidcStrategy(quirks: OidcQuirks = {}): Strategy {
  const remembered = (provider: Provider) => provider.memory.get(provider.connection, provider.clock, () => open(provider, quirks));

  return {
    async server(provider): Promise<ProviderServer> {
      const server = (await remembered(provider)).config.serverMetadata();
      const { issuer, authorization_endpoint = '', token_endpoint = '' } = server;
      return {
        issuer,
        authorization_endpoint,
        token_endpoint,
        announces_iss: server.authorization_response_iss_parameter_supported === true,
      };
    },

    async authorizationUrl(provider, { state, nonce, code_challenge, wishes, keeps }) {
      const { config } = await remembered(provider);
      return client.buildAuthorizationUrl(config, {
        ...wishes,
        ...quirks.parameters?.(provider),
        ...(keeps && quirks.offline),
        ...(keeps?.asked && { prompt: 'consent' }),
        response_type: 'code',
        redirect_uri: provider.redirect_uri,
        scope: oidcScope(scopesAsked(provider, keeps, quirks)),
        state,
        nonce,
        code_challenge,
        code_challenge_method: 'S256',
      });
    },

    async redeem(provider, answer) {
      const { config, jwks } = await remembered(provider);
      const url = new URL(provider.redirect_uri);
      url.searchParams.set('code', answer.code);
      url.searchParams.set('state', answer.state);
      // The iss parameter was checked before (callback.ts); the library would look for it once more.
      const { issuer, announces_iss } = await this.server(provider);
      if (announces_iss) url.searchParams.set('iss', issuer ?? '');
      const tokens = await client.authorizationCodeGrant(config, url, {
        pkceCodeVerifier: answer.verifier,
        expectedNonce: answer.nonce,
        expectedState: answer.state,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims || tokens.id_token === undefined) throw new Error('the provider sent no ID token');
      await verifySignature(tokens.id_token, jwks);
      verifyHashes(tokens.id_token, claims, tokens.access_token, answer.code);
      const person = await withUserinfo(config, tokens.access_token, claims);
      return {
        claims: quirks.claims?.(provider, person, answer) ?? person,
        tokens: answer.keeps && given(provider, config, tokens, answer.keeps),
      };
    },
  };
}

/** `openid` is what makes it OpenID Connect (OIDC Core 3.1.2.1). */
const oidcScope = (scopes: readonly string[]): string => [...new Set(['openid', ...scopes])].join(' ');

export const oidc = createOidcStrategy();

import * as client from 'openid-client';
import { ProviderFailure } from '../provider-failure.js';
import type { ProviderAuthMethod } from '../../db/tables/provider_tokens.js';
import { basicCredentials } from '../../domain/provider-tokens/provider-endpoint.js';
import { readTokens } from '../../domain/provider-tokens/tokens.js';
import type { KeptAccess } from '../flow.js';
import type { Claims, Provider, ProviderAnswer, ProviderServer, Strategy } from './strategy.js';

export type OAuth2Quirks = {
  /** Fetches claims that userinfo doesn't have, such as GitHub's addresses. */
  readonly complete?: (provider: Provider, access_token: string, claims: Claims) => Promise<Claims>;
};

type Json = Readonly<Record<string, unknown>>;

type EndpointName = (typeof endpoints)[number];

const endpoints = ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint'] as const;

type Endpoints = Readonly<Partial<Record<EndpointName | 'revocation_endpoint', string>>> & { readonly announces_iss: boolean };

/** Asks the issuer where its endpoints are (OIDC Discovery 4, else RFC 8414 3). */
async function discover({ connection, fetch }: Provider, issuer: string): Promise<Endpoints> {
  const options = { [client.customFetch]: fetch as client.CustomFetch, timeout: 5, execute: [client.allowInsecureRequests] };
  const ask = (algorithm: 'oidc' | 'oauth2') =>
    client.discovery(new URL(issuer), connection.provider_client_id, undefined, client.None(), { ...options, algorithm });
  const server = (await ask('oidc').catch(() => ask('oauth2'))).serverMetadata();
  const names = [...endpoints, 'revocation_endpoint'] as const;
  const found = Object.fromEntries(names.flatMap((name) => (server[name] === undefined ? [] : [[name, server[name]]])));
  return { ...found, announces_iss: server.authorization_response_iss_parameter_supported === true };
}

/** Where the provider is: as the connection says, as the strategy knows, or as the issuer says. */
async function endpointsOf(
  provider: Provider,
): Promise<Record<EndpointName, string> & Pick<Endpoints, 'announces_iss' | 'revocation_endpoint'>> {
  const { connection, description, memory, clock } = provider;
  const given = Object.fromEntries(endpoints.map((name) => [name, connection[name] ?? description.endpoints[name]]));
  const { issuer } = connection;
  const complete = endpoints.every((name) => given[name]);
  const found = complete || issuer === null ? null : await memory.get(connection, clock, () => discover(provider, issuer));
  for (const endpoint of endpoints) {
    given[endpoint] ??= found?.[endpoint];
    if (!given[endpoint]) throw new ProviderFailure(`neither the connection nor its provider names a ${endpoint}`);
  }
  const { announces_iss = false, revocation_endpoint } = found ?? {};
  return { ...(given as Record<EndpointName, string>), announces_iss, ...(revocation_endpoint && { revocation_endpoint }) };
}

/** Asks and reads JSON, whatever its media type says. @throws {ProviderFailure} for anything else than a good answer */
export async function askJson(provider: Provider, url: string, init: RequestInit, what: string): Promise<unknown> {
  const headers = { accept: 'application/json', 'user-agent': 'identity-provider', ...(init.headers as Record<string, string>) };
  const response = await provider.fetch(url, { redirect: 'manual', ...init, headers });
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new ProviderFailure(`${what} answered ${response.status} without JSON`, response.status);
  }
  if (!response.ok) throw new ProviderFailure(`${what} answered ${response.status}${errorOf(body)}`, response.status);
  return body;
}

const errorOf = (body: unknown) => {
  const error = (body as { error?: unknown } | null)?.error;
  return typeof error === 'string' ? ` (${error.slice(0, 64)})` : '';
};

const scopesAsked = ({ connection, description }: Provider, keeps: KeptAccess | null): string[] => [
  ...new Set([...(connection.scopes.length > 0 ? connection.scopes : description.scopes), ...(keeps?.scopes ?? [])]),
];

/** RFC 6749 4.1.3 with PKCE; the client's secret in the body, and as Basic for a provider that answers 401 to that. */
async function redeemCode(provider: Provider, answer: ProviderAnswer): Promise<{ json: Json | null; auth_method: ProviderAuthMethod }> {
  const { connection, client_secret } = provider;
  const { token_endpoint } = await endpointsOf(provider);
  const id = connection.provider_client_id;
  const ask = (secret: Record<string, string>, headers: Record<string, string>) =>
    askJson(
      provider,
      token_endpoint,
      {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code: answer.code,
          redirect_uri: provider.redirect_uri,
          client_id: id,
          code_verifier: answer.verifier,
          ...secret,
        }).toString(),
      },
      'the token endpoint',
    ) as Promise<Json | null>;
  if (client_secret === null) return { json: await ask({}, {}), auth_method: 'none' };
  try {
    return { json: await ask({ client_secret }, {}), auth_method: 'client_secret_post' };
  } catch (error) {
    if (!(error instanceof ProviderFailure && error.status === 401)) throw error;
    return { json: await ask({}, { authorization: basicCredentials(id, client_secret) }), auth_method: 'client_secret_basic' };
  }
}

async function redeemedCode(provider: Provider, answer: ProviderAnswer) {
  const { json, auth_method } = await redeemCode(provider, answer);
  const token = json?.['access_token'];
  // GitHub refuses with 200 and an `error` member.
  if (typeof token !== 'string' || token === '') throw new ProviderFailure(`the token endpoint gave no access token${errorOf(json)}`);
  return { json: { ...json, access_token: token }, auth_method };
}

/** A strategy for providers without ID tokens: the person is whoever userinfo names for the access token. */
export const createOAuth2Strategy = (quirks: OAuth2Quirks = {}): Strategy => ({
  async server(provider): Promise<ProviderServer> {
    return { issuer: provider.connection.issuer, ...(await endpointsOf(provider)) };
  },

  async authorizationUrl(provider, { state, code_challenge, wishes, keeps }) {
    const { connection } = provider;
    const url = new URL((await endpointsOf(provider)).authorization_endpoint);
    const scopes = scopesAsked(provider, keeps);
    const parameters = {
      ...wishes,
      response_type: 'code',
      client_id: connection.provider_client_id,
      redirect_uri: provider.redirect_uri,
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      state,
      code_challenge,
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url;
  },

  async redeem(provider, answer) {
    const { json, auth_method } = await redeemedCode(provider, answer);
    const { access_token } = json;
    const headers = { authorization: `Bearer ${access_token}` };
    const { userinfo_endpoint, token_endpoint, revocation_endpoint = null } = await endpointsOf(provider);
    const claims = await askJson(provider, userinfo_endpoint, { headers }, 'the userinfo endpoint');
    if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) throw new ProviderFailure('userinfo is not a JSON object');
    const { keeps } = answer;
    const rest = { asked: scopesAsked(provider, keeps), token_endpoint, revocation_endpoint, auth_method };
    return {
      claims: quirks.complete ? await quirks.complete(provider, access_token, claims as Claims) : (claims as Claims),
      tokens: keeps && readTokens(json, rest),
    };
  },
});

export const oauth2 = createOAuth2Strategy();

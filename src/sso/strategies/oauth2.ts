import type { EndpointField } from '../../core/connection-strategies.js';
import { ProviderFailure } from '../provider-failure.js';
import type { Claims, Provider, ProviderAnswer, ProviderServer, Strategy } from './strategy.js';

/** What a provider does in its own way. */
export type OAuth2Quirks = {
  /** Asks for what userinfo left out. */
  readonly complete?: (provider: Provider, access_token: string, claims: Claims) => Promise<Claims>;
};

type Json = Readonly<Record<string, unknown>>;

function endpoint({ connection, description }: Provider, field: EndpointField): string {
  const url = connection[field] ?? description.endpoints[field];
  if (!url) throw new ProviderFailure(`the connection names no ${field}`);
  return url;
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
    throw new ProviderFailure(`${what} answered ${response.status} without JSON`);
  }
  if (!response.ok) throw new ProviderFailure(`${what} answered ${response.status}${errorOf(body)}`);
  return body;
}

const errorOf = (body: unknown) => {
  const error = (body as { error?: unknown } | null)?.error;
  return typeof error === 'string' ? ` (${error.slice(0, 64)})` : '';
};

/** RFC 6749 4.1.3 with PKCE; the client's secret in the body, which every provider without ID tokens takes. */
async function accessToken(provider: Provider, answer: ProviderAnswer): Promise<string> {
  const { connection, client_secret } = provider;
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code: answer.code,
    redirect_uri: provider.redirect_uri,
    client_id: connection.provider_client_id,
    code_verifier: answer.verifier,
    ...(client_secret !== null && { client_secret }),
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const json = (await askJson(
    provider,
    endpoint(provider, 'token_endpoint'),
    { method: 'POST', headers, body: body.toString() },
    'the token endpoint',
  )) as Json | null;
  const token = json?.['access_token'];
  // GitHub refuses with 200 and an `error` member.
  if (typeof token !== 'string' || token === '') throw new ProviderFailure(`the token endpoint gave no access token${errorOf(json)}`);
  return token;
}

/** A strategy for providers without ID tokens: the person is whoever userinfo names for the access token. */
export function createOAuth2Strategy(quirks: OAuth2Quirks = {}): Strategy {
  return {
    server(provider): Promise<ProviderServer> {
      return Promise.resolve({
        issuer: provider.connection.issuer,
        authorization_endpoint: endpoint(provider, 'authorization_endpoint'),
        token_endpoint: endpoint(provider, 'token_endpoint'),
        announces_iss: false,
      });
    },

    authorizationUrl(provider, { state, code_challenge, wishes }) {
      const { connection, description } = provider;
      const url = new URL(endpoint(provider, 'authorization_endpoint'));
      const scopes = connection.scopes.length > 0 ? connection.scopes : description.scopes;
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
      return Promise.resolve(url);
    },

    async redeem(provider, answer) {
      const access_token = await accessToken(provider, answer);
      const headers = { authorization: `Bearer ${access_token}` };
      const claims = await askJson(provider, endpoint(provider, 'userinfo_endpoint'), { headers }, 'the userinfo endpoint');
      if (typeof claims !== 'object' || claims === null || Array.isArray(claims))
        throw new ProviderFailure('userinfo is not a JSON object');
      return quirks.complete ? quirks.complete(provider, access_token, claims as Claims) : (claims as Claims);
    },
  };
}

export const oauth2 = createOAuth2Strategy();

import { csrfOf, locationParameters, pkcePair, type Browser } from './browser.js';
import type { TestClient } from './data.js';

export type TokenAnswer = {
  status: number;
  headers: Headers;
  body: Record<string, unknown> & { access_token: string; refresh_token?: string; id_token?: string; error?: string };
};

/** HTTP Basic with form-encoded parts (RFC 6749 2.3.1). */
export function basic(client: { id: string; client_secret: string }): string {
  const encode = (text: string) => encodeURIComponent(text).replaceAll('%20', '+');
  return `Basic ${Buffer.from(`${encode(client.id)}:${encode(client.client_secret)}`).toString('base64')}`;
}

export async function oauthPost(
  origin: string,
  path: string,
  client: (Pick<TestClient, 'id' | 'client_secret'> & Partial<TestClient>) | null,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<TokenAnswer> {
  const isPublic = client?.token_endpoint_auth_method === 'none';
  const response = await fetch(new URL(path, origin), {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(client && !isPublic ? { authorization: basic(client) } : {}),
      ...headers,
    },
    body: new URLSearchParams(isPublic ? { client_id: client.id, ...fields } : fields).toString(),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: (text === '' ? {} : JSON.parse(text)) as TokenAnswer['body'] };
}

export const tokenRequest = (origin: string, client: Parameters<typeof oauthPost>[2], fields: Record<string, string>) =>
  oauthPost(origin, '/oauth/token', client, fields);

export type CodeGrant = { code: string; verifier: string; redirect_uri: string };

/** Asks for a code in a browser that is signed in. */
export async function authorizeCode(browser: Browser, client: TestClient, parameters: Record<string, string> = {}): Promise<CodeGrant> {
  const { verifier, challenge } = pkcePair();
  const redirect_uri = parameters['redirect_uri'] ?? client.redirect_uris[0] ?? '';
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri,
    scope: 'openid profile email',
    state: 'some state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...parameters,
  });
  const response = await browser.get(`/oauth/authorize?${query.toString()}`);
  const code = locationParameters(response).get('code');
  if (code === null) throw new Error(`no code: ${response.status} ${response.headers.get('location') ?? (await response.text())}`);
  return { code, verifier, redirect_uri };
}

/** Asks for a code and says yes on the consent page, as everybody is asked about the Management API. */
export async function allowCode(
  browser: Browser,
  client: TestClient,
  parameters: Record<string, string> = {},
): Promise<CodeGrant & { html: string }> {
  const { verifier, challenge } = pkcePair();
  const redirect_uri = client.redirect_uris[0] ?? '';
  const fixed = { response_type: 'code', client_id: client.id, redirect_uri, code_challenge: challenge, code_challenge_method: 'S256' };
  const html = await (await browser.get(`/oauth/authorize?${new URLSearchParams({ ...fixed, ...parameters })}`)).text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1];
  if (request === undefined) throw new Error(`no consent page: ${html}`);
  const answer = await browser.post('/oauth/consent', { _csrf: csrfOf(html), request, decision: 'allow' });
  return { code: locationParameters(answer).get('code') ?? '', verifier, redirect_uri, html };
}

export const redeem = (origin: string, client: TestClient, grant: CodeGrant, fields: Record<string, string> = {}): Promise<TokenAnswer> =>
  tokenRequest(origin, client, {
    grant_type: 'authorization_code',
    code: grant.code,
    redirect_uri: grant.redirect_uri,
    code_verifier: grant.verifier,
    ...fields,
  });

/** The claims of a JWT, unverified. */
export const claimsOf = (jwt: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

import { expect } from 'vitest';
import type { Browser } from './browser.js';
import type { TestClient } from './data.js';
import type { TestService } from './service.js';

/** What a request says of PKCE; the challenge is of no verifier where none is redeemed. */
export const s256 = (code_challenge = 'x'.repeat(43)) => ({ code_challenge, code_challenge_method: 'S256' });

/** An authorization request as text; values of undefined leave a parameter out. */
export function authorizeQuery(client: Pick<TestClient, 'id' | 'redirect_uris'>, extra: Record<string, string | undefined> = {}): string {
  const parameters: Record<string, string | undefined> = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: client.redirect_uris[0],
    scope: 'openid',
    state: 'st-1',
    ...extra,
  };
  const entries = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams(entries).toString();
}

/** Counts what a refused request must not have left behind. */
export async function sideEffects(service: TestService): Promise<number[]> {
  const tables = ['authorization_codes', 'access_tokens', 'refresh_tokens', 'consents', 'webhook_deliveries', 'mails'];
  const counts = tables.map((name) => `(select count(*)::int from ${name})`).join(', ');
  const { rows } = await service.deps.db.knex.raw<{ rows: { counts: number[] }[] }>(`select array[${counts}] as counts`);
  return rows[0]?.counts ?? [];
}

/** `P400`: the service's own page, no Location, nothing stored. */
export async function expectPage400(service: TestService, send: () => Promise<Response>): Promise<string> {
  const before = await sideEffects(service);
  const response = await send();
  expect(response.status).toBe(400);
  expect(response.headers.get('location')).toBeNull();
  expect(await sideEffects(service)).toEqual(before);
  return response.text();
}

/** `R(error)`: a redirect to the registered address with the error, the same state and the issuer; nothing stored. */
export async function expectRedirectError(
  service: TestService,
  client: TestClient,
  error: string,
  send: () => Promise<Response>,
  state: string | null = 'st-1',
): Promise<URLSearchParams> {
  const before = await sideEffects(service);
  const response = await send();
  const location = response.headers.get('location') ?? '';
  expect(response.status).toBe(303);
  expect(location.slice(0, location.indexOf('?'))).toBe(client.redirect_uris[0]);
  const parameters = new URL(location).searchParams;
  expect([parameters.get('error'), parameters.get('state'), parameters.get('iss')]).toEqual([error, state, service.url]);
  expect(parameters.has('code')).toBe(false);
  expect(parameters.get('error_description')).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  expect(await sideEffects(service)).toEqual(before);
  return parameters;
}

export const authorizeGet = (browser: Browser, query: string) => browser.get(`/oauth/authorize?${query}`);

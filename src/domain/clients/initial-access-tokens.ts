import { newStamps } from '../../db/records.js';
import { findInitialAccessToken, insertInitialAccessToken, type InitialAccessTokenRow } from '../../db/tables/registration_tokens.js';
import { digest } from '../../lib/digest.js';
import { randomToken } from '../../lib/random.js';
import type { Context } from '../context.js';
import { invalidValue, refuseIfAny } from '../refusal.js';

export type InitialAccessTokenInput = {
  name: string;
  expires_at?: string;
  max_uses?: number | null;
  grant_types?: string[];
  scopes?: string[] | null;
  verified?: boolean;
};

const dayMs = 86_400_000;
const defaultLifetimeMs = 30 * dayMs;
const longestLifetimeMs = 365 * dayMs;

/** What everybody may have who registers. */
export const openGrants: readonly string[] = ['authorization_code', 'refresh_token'];

/** Makes an initial access token (RFC 7591 1.2); its text is known to nobody afterwards. @throws {Refusal} 422 */
export async function createInitialAccessToken(
  tx: Context,
  input: InitialAccessTokenInput,
): Promise<{ row: InitialAccessTokenRow; token: string }> {
  const now = tx.clock.now();
  const expires_at = input.expires_at === undefined ? new Date(now.getTime() + defaultLifetimeMs) : new Date(input.expires_at);
  const life = expires_at.getTime() - now.getTime();
  const detail = 'must be in the future, and at most a year from now.';
  refuseIfAny(life > 0 && life <= longestLifetimeMs ? [] : [invalidValue('expires_at', detail)]);
  const token = randomToken('it_');
  const row = await insertInitialAccessToken(tx.scope, {
    name: input.name,
    digest: digest(token),
    expires_at,
    max_uses: input.max_uses === undefined ? 1 : input.max_uses,
    grant_types: input.grant_types ?? [...openGrants],
    scopes: input.scopes ?? null,
    verified: input.verified ?? false,
    ...newStamps(now),
  });
  return { row, token };
}

/** The token if it can be used now; null for one that is unknown, has expired or was used up. It is not spent by that. */
export async function usableInitialAccessToken(ctx: Context, token: string): Promise<InitialAccessTokenRow | null> {
  const row = token.startsWith('it_') ? await findInitialAccessToken(ctx.scope, digest(token)) : null;
  const spent = row?.max_uses != null && row.use_count >= row.max_uses;
  return row && row.expires_at > ctx.clock.now() && !spent ? row : null;
}

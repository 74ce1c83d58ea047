import { randomUUID } from 'node:crypto';
import { queueProviderRevocation } from '../../db/tables/provider_token_revocations.js';
import {
  leaseProviderToken,
  loseProviderToken,
  releaseProviderToken,
  storeRefreshedToken,
  type ProviderTokenRow,
} from '../../db/tables/provider_tokens.js';
import type { CountedAuditLogRow } from '../../db/tables/audit_logs.js';
import { isSubset } from '../../lib/scope-set.js';
import { jsonObject } from '../../lib/json-object.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';
import { providerSecret, type Connection } from '../connections/connections.js';
import { requireTime, transaction, type Context } from '../context.js';
import { askProvider } from './provider-endpoint.js';
import { announceLoss } from './loss.js';
import { expiryOf, openTokens, readTokens, sealTokens, type GivenTokens } from './tokens.js';

/** The token that is to be refreshed, as it was found. */
export type StaleToken = Pick<ProviderTokenRow, 'id' | 'expires_at' | 'token_endpoint' | 'auth_method'>;

/** What came of it; `busy`: another process refreshes it, or has; `away`: the provider gave no answer that tells. */
export type Refreshed =
  | { readonly outcome: 'fresh'; readonly tokens: GivenTokens; readonly expires_at: Date | null }
  | { readonly outcome: 'busy' | 'lost' | 'ended' | 'away' };

const requestMs = 8_000;
/** Longer than a request may take: nobody else uses the refresh token meanwhile. */
const leaseSeconds = 20;

/** Codes with which a provider says that the refresh token is good no more (RFC 6749 5.2; GitHub). */
const refusals: ReadonlySet<unknown> = new Set(['invalid_grant', 'bad_refresh_token']);

type Answer = Readonly<Record<string, unknown>>;

/** The answer of the token endpoint that the token came from (RFC 6749 6); null for one that isn't JSON of the protocol. */
async function ask(ctx: Context, connection: Connection, token: StaleToken, refresh_token: string): Promise<Answer | null> {
  requireTime(ctx);
  const as = { id: connection.provider_client_id, secret: providerSecret(ctx, connection), auth_method: token.auth_method };
  const body = { grant_type: 'refresh_token', refresh_token };
  try {
    const { body: text } = await askProvider(ctx, { url: token.token_endpoint, as, body }, Math.min(requestMs, ctx.scope.deadline.left()));
    return jsonObject(JSON.parse(text.toString('utf8')));
  } catch (error) {
    if (error instanceof OutboundError || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Notes that the provider takes it no more, and tells the person, once. */
async function lose(ctx: Context, connection: Connection, { id }: StaleToken, lease_id: string): Promise<Refreshed> {
  await transaction(ctx, async (tx) => {
    const lost = await loseProviderToken(tx.scope, id, lease_id, tx.clock.now());
    if (lost) await announceLoss(tx, connection, lost);
  });
  return { outcome: 'lost' };
}

/**
 * Refreshes it: one process at a time, by a lease. What comes is stored before anybody gets it; what nobody waits for any more, as the token has ended
 * meanwhile, is revoked. Two statements.
 */
export async function refreshProviderToken(
  ctx: Context,
  connection: Connection,
  token: StaleToken,
  { needs, audit }: { readonly needs: readonly string[]; readonly audit: CountedAuditLogRow },
): Promise<Refreshed> {
  const lease_id = randomUUID();
  const leased = await leaseProviderToken(ctx.scope, { id: token.id, expires_at: token.expires_at, lease_id, seconds: leaseSeconds });
  if (!leased?.tokens_sealed) return { outcome: 'busy' };
  const before = openTokens(ctx, token.id, leased.tokens_sealed);
  if (before.refresh_token === null) return lose(ctx, connection, token, lease_id);
  const answer = await ask(ctx, connection, token, before.refresh_token).catch(async (error: unknown) => {
    await releaseProviderToken(ctx.scope, token.id, lease_id);
    throw error;
  });
  if (answer && refusals.has(answer['error'])) return lose(ctx, connection, token, lease_id);
  const given = answer && readTokens(answer, { asked: leased.scopes, ...token, revocation_endpoint: leased.revocation_endpoint });
  if (!given || given.access_token === '') {
    await releaseProviderToken(ctx.scope, token.id, lease_id);
    return { outcome: 'away' };
  }
  // One that isn't rotated stays (RFC 6749 6).
  const tokens = { ...given, refresh_token: given.refresh_token ?? before.refresh_token };
  const { id } = token;
  const tokens_sealed = sealTokens(ctx, id, tokens);
  const expires_at = expiryOf(ctx, tokens.expires_in);
  const now = ctx.clock.now();
  // A provider may give less than before.
  const isEnough = isSubset(needs, tokens.scopes);
  if (
    await storeRefreshedToken(ctx.scope, {
      id,
      lease_id,
      tokens_sealed,
      scopes: tokens.scopes,
      expires_at,
      now,
      audit: isEnough ? audit : null,
    })
  )
    return isEnough ? { outcome: 'fresh', tokens, expires_at } : { outcome: 'ended' };
  const { revocation_endpoint, auth_method } = tokens;
  if (revocation_endpoint !== null)
    await queueProviderRevocation(ctx.scope, {
      connection_id: connection.id,
      token_id: id,
      revocation_endpoint,
      auth_method,
      provider_client_id: connection.provider_client_id,
      provider_client_secret_sealed: connection.provider_client_secret_sealed,
      tokens_sealed,
    });
  return { outcome: 'ended' };
}

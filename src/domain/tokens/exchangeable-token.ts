import type { Client } from '../clients/clients.js';
import type { Context } from '../context.js';
import { activate, type ActiveToken, type InactiveToken } from './active-token.js';
import { isOwnAudience, lookUpToken } from './token-look-up.js';
import { quoted, whyUnknown } from './unusable-token.js';

/** A good access token that the client may bring to an exchange (RFC 8693 2.1). */
export type ExchangeableToken = {
  readonly token: ActiveToken;
  /** The session whose end ends what is exchanged for it; null when the token outlives its session, or has none. */
  readonly session_id: string | null;
};

/** Whether the client may bring it: what it got itself always, others' tokens of the audiences that its policy names. */
function isBringable(ctx: Context, client: Client, audiences: readonly string[], token: ActiveToken): boolean {
  if (token.client.id === client.id) return true;
  return !isOwnAudience(ctx, token.audience) && audiences.includes(token.audience);
}

/**
 * The token that a client brings, if it is good right now; or what is wrong with it. One statement.
 * @param audiences identifiers of the API resources whose tokens it may bring beside its own
 */
export async function findExchangeableToken(
  ctx: Context,
  client: Client,
  presented: string,
  audiences: readonly string[],
): Promise<ExchangeableToken | InactiveToken> {
  const found = await lookUpToken(ctx, ctx.scope, presented, 'nothing');
  if (!found) return { inactive: await whyUnknown(ctx, presented) };
  const active = await activate(ctx, found);
  if ('inactive' in active) return active;
  const { token } = active;
  if (!isBringable(ctx, client, audiences, token))
    return {
      inactive: `this token was issued to another client for ${quoted(token.audience)}, which the policy of the grant does not name`,
    };
  const { claims } = found;
  return {
    token,
    session_id: claims.scope.split(' ').includes('offline_access') ? null : claims.session_id,
  };
}

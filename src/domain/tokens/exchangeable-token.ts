import type { Client } from '../clients/clients.js';
import type { Context } from '../context.js';
import { activate, type ActiveToken, type InactiveToken } from './active-token.js';
import { isOwnAudience, lookUpTokens, type FoundToken } from './token-look-up.js';
import { quotedValue, whyUnknown } from './unusable-token.js';

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

/** The token, if it is good right now and the client's to bring; or what is wrong with it. */
async function judged(
  ctx: Context,
  client: Client,
  presented: string,
  found: FoundToken | null,
  audiences: readonly string[],
): Promise<ExchangeableToken | InactiveToken> {
  if (!found) return { inactive: await whyUnknown(ctx, presented) };
  const active = await activate(ctx, found);
  if ('inactive' in active) return active;
  const { token } = active;
  if (!isBringable(ctx, client, audiences, token))
    return {
      inactive: `this token was issued to another client for ${quotedValue(token.audience)}, which the policy of the grant does not name`,
    };
  const { scope, session_id } = found.claims;
  return { token, session_id: scope.split(' ').includes('offline_access') ? null : session_id };
}

/**
 * The tokens that a client brings, each if it is good right now, else what is wrong with it. One statement for both.
 * @param audiences identifiers of the API resources whose tokens it may bring beside its own
 */
export async function findExchangeableTokens(
  ctx: Context,
  client: Client,
  { subject, actor }: { readonly subject: string; readonly actor: string | undefined },
  audiences: readonly string[],
): Promise<{ subject: ExchangeableToken | InactiveToken; actor: ExchangeableToken | InactiveToken | null }> {
  const [one = null, other = null] = await lookUpTokens(ctx, actor === undefined ? [subject] : [subject, actor]);
  return {
    subject: await judged(ctx, client, subject, one, audiences),
    actor: actor === undefined ? null : await judged(ctx, client, actor, other, audiences),
  };
}

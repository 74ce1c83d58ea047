import { revokeGrant, revokeId } from '../../db/tables/revocations.js';
import type { Client } from '../clients/clients.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { recordSecurityEvent } from '../audit/security-trail.js';

const dayMs = 86_400_000;

/** Until when a revoked grant must be remembered: nothing it issued lives longer. Client lifetimes are at most 400 days. */
export const grantRevocationEnd = (ctx: Pick<Context, 'clock' | 'environment'>): Date =>
  new Date(ctx.clock.now().getTime() + Math.max(ctx.environment.refresh_token_lifetime * 1000, 400 * dayMs));

/** Revokes a grant with every token issued under it (RFC 6749 4.1.2, RFC 7009 2.1). */
export async function endGrant(ctx: Context, grant_id: string): Promise<void> {
  await revokeId(ctx.scope, grant_id, grantRevocationEnd(ctx));
}

/** {@link endGrant} of a person's grant, which the client's signal streams hear of. */
export async function endGrantOf(ctx: Context, grant: Parameters<typeof revokeGrant>[1]): Promise<void> {
  await revokeGrant(ctx.scope, grant, grantRevocationEnd(ctx));
}

/** A reused code or refresh token: the client, the grant and user, and the request's origin. */
export type Reuse = {
  readonly client: Client;
  readonly grant_id: string;
  readonly user_id: string;
  readonly session_id?: string;
  readonly origin: Origin;
};

/** Ends the grant of a code or refresh token that was presented a second time, and records it (RFC 6749 4.1.2, RFC 9700 4.14.2). */
export async function endReusedGrant(
  ctx: Context,
  event: 'authorization_code.reused' | 'refresh_token.reused',
  { client, grant_id, user_id, session_id, origin }: Reuse,
): Promise<void> {
  await transaction(ctx, async (tx) => {
    await endGrantOf(tx, { grant_id, user_id, client_id: client.id, session_id: session_id ?? null });
    const actor = { actor_kind: 'client', actor_id: client.id, display: client.name } as const;
    await recordSecurityEvent(tx, event, { actor, target: { target_type: 'user', target_id: user_id }, origin, detail: { grant_id } });
  });
}

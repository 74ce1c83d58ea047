import { revokeId } from '../../db/tables/revocations.js';
import type { Context } from '../context.js';

const dayMs = 86_400_000;

/** Until when a revoked grant must be remembered: nothing it issued lives longer. Client lifetimes are at most 400 days. */
export function grantRevocationEnd(ctx: Pick<Context, 'clock' | 'environment'>): Date {
  return new Date(ctx.clock.now().getTime() + Math.max(ctx.environment.refresh_token_lifetime * 1000, 400 * dayMs));
}

/** Ends everything that one authorization gave out (RFC 6749 4.1.2, RFC 7009 2.1). */
export async function endGrant(ctx: Context, grant_id: string): Promise<void> {
  await revokeId(ctx.scope, grant_id, grantRevocationEnd(ctx));
}

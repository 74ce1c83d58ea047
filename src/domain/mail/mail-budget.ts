import { createHash } from 'node:crypto';
import { takeRateLimit } from '../../db/tables/rate_limits.js';
import { RateLimitedError } from '../../errors.js';
import type { Context } from '../context.js';

/** So many mails of one purpose in ten minutes, for one person. */
const budget = { limit: 10, window_ms: 600_000 } as const;

/**
 * Counts a mail that an administrator has sent, so that a token of theirs fills nobody's mailbox. Call it outside the transaction of the mail.
 * @param id of the person for whom the mails are counted
 * @throws {RateLimitedError}
 */
export async function countMail(ctx: Context, purpose: string, id: string): Promise<void> {
  const key = createHash('sha256').update(`${purpose} ${ctx.environment.id} ${id}`).digest();
  const demand = { ...budget, cost: 1, wanted: 1, lease_ms: 0, refund: 0, refund_at: 0 };
  const { granted, retry_ms } = await takeRateLimit(ctx.scope.knex, key, demand);
  if (granted === 0) throw new RateLimitedError(Math.max(1, Math.ceil(retry_ms / 1000)));
}

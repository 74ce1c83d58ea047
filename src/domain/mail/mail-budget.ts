import { createHash } from 'node:crypto';
import { countRequests } from '../../db/tables/rate_limits.js';
import { RateLimitedError } from '../../errors.js';
import type { Context } from '../context.js';

/** Mails of one purpose to one person in ten minutes. */
const budget = { limit: 10, window_ms: 600_000 } as const;

/**
 * Counts a mail that an administrator has sent, so that a token of theirs fills nobody's mailbox. Call it outside the transaction of the mail.
 * @param id of the person for whom the mails are counted
 * @throws {RateLimitedError}
 */
export async function countMail(ctx: Context, purpose: string, id: string): Promise<void> {
  const key = createHash('sha256').update(`${purpose} ${ctx.environment.id} ${id}`).digest();
  const { hits, reset_ms } = await countRequests(ctx.scope.knex, key, { count: 1, window_ms: budget.window_ms });
  if (hits > budget.limit) throw new RateLimitedError(Math.max(1, Math.ceil(reset_ms / 1000)));
}

import type { Context } from '../context.js';

/**
 * Whether something may be done now that strangers can cause: true at most once in `pauseMs` for the same `what`, in this process, lest made-up values become
 * requests or statements. Who is told so does it.
 */
export async function mayAgain(
  { cache, clock, environment }: Pick<Context, 'cache' | 'clock' | 'environment'>,
  what: string,
  pauseMs: number,
): Promise<boolean> {
  const pause = await cache.get(environment.id, 'pauses', what, async () => ({ allowedAt: 0 }));
  const now = clock.elapsed();
  if (!pause || now < pause.allowedAt) return false;
  pause.allowedAt = now + pauseMs;
  return true;
}

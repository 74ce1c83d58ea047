import type { TestService } from './service.js';

/** Moves the service's clock and, because the database's clock counts limits, what is left of their windows. */
export async function passTime({ clock, deps }: TestService, ms: number): Promise<void> {
  clock.advance(ms);
  await deps.db.knex.raw(`update rate_limits set expires_at = expires_at - ? * interval '1 millisecond'`, [ms]);
}

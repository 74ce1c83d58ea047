import { isLive, type SessionBounds } from './sessions.js';

type SessionStatus = 'active' | 'expired' | 'revoked';

/**
 * SQL with `?` and its values: sessions that are live (`active`), have run out, or were ended before they did so. What ran out is bounded by when it can have
 * begun too: of a list with the newest first PostgreSQL then skips the live ones. A session that began later has run out only if its own expiry came sooner,
 * as it does after a lifetime was lengthened.
 */
export function hasSessionStatus(environment_id: string, status: SessionStatus, bounds: SessionBounds): { sql: string; values: unknown[] } {
  if (status === 'revoked') return { sql: 'sessions.revoked_at is not null', values: [] };
  const live = isLive(bounds);
  if (status === 'active') return live;
  const shortest = `(select min(s.expires_at - s.created_at) from sessions s where s.environment_id = ?)`;
  return {
    sql: `(sessions.revoked_at is null and not ${live.sql} and sessions.created_at <= greatest(?::timestamptz, ?::timestamptz, ?::timestamptz - ${shortest}))`,
    values: [...live.values, bounds.signed_in_after, bounds.active_after, bounds.now, environment_id],
  };
}

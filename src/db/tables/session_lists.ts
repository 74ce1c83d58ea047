import { hasSessionStatus, type SessionBounds, type SessionStatus } from './sessions.js';

/**
 * SQL with `?` and its values: sessions of that status, as several conditions of which a session of the environment fulfils at most one, so that a list in the
 * order in which they began doesn't read all live ones to find those that have run out, or the other way round.
 */
export function sessionsOfStatus(
  environment_id: string,
  status: SessionStatus,
  bounds: SessionBounds,
): { sql: string; values: readonly unknown[] }[] {
  const { sql, values } = hasSessionStatus(status, bounds);
  if (status === 'revoked') return [{ sql, values }];
  if (status === 'active') {
    const { signed_in_after } = bounds;
    return [
      { sql: `sessions.created_at > ? and ${sql}`, values: [signed_in_after, ...values] },
      // As old as that, a session lives on through another sign-in alone.
      { sql: `sessions.created_at <= ? and sessions.signed_in_at > sessions.created_at and ${sql}`, values: [signed_in_after, ...values] },
    ];
  }
  // What began later has neither been idle for long nor signed in long ago: it has run out only if its own expiry came sooner, as it does after a
  // lifetime was lengthened. While the shortest of all isn't that short, PostgreSQL looks for none of these.
  const after = new Date(Math.max(bounds.signed_in_after.getTime(), bounds.active_after.getTime()));
  const shortest = `(select min(s.expires_at - s.created_at) from sessions s where s.environment_id = ?)`;
  return [
    { sql: `sessions.created_at <= ? and ${sql}`, values: [after, ...values] },
    {
      sql: `sessions.created_at > ? and ${sql} and ${shortest} < ?::timestamptz - ?::timestamptz`,
      values: [after, ...values, environment_id, bounds.now, after],
    },
  ];
}

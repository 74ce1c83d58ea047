import { run, type Scope } from '../scope.js';
import { isLiveSql, type SessionBounds } from './sessions.js';

/**
 * Counted one by one up to here: of millions the overview says that there are more, rather than read them all each time that it is looked at. People are
 * counted in an index; of who was active, and of sessions, the rows are looked at.
 */
export const maxOverviewCounted = { people: 100_000, active: 10_000 } as const;

/** What the overview of an environment counts. People and sessions up to `mostCounted`, and one more where there are more. */
export type OverviewCounts = {
  readonly users: number;
  readonly new_users: number;
  readonly active_users: number;
  readonly sessions: number;
  readonly clients: number;
  /** Without those that came with the service, as with clients. */
  readonly api_resources: number;
  /** Whether any of those clients ever proved itself at the token endpoint. */
  readonly client_used: boolean;
  /** Whether anybody was ever signed in to a client. */
  readonly signed_in: boolean;
};

/** SQL: how many rows there are, at most one beyond `most`. */
const upTo = (most: number, from: string): string => `(select count(*)::int from (select from ${from} limit ${most + 1}) found)`;

/** Counts of an environment; `new_users` and `active_users` since the given time, `sessions` those that are live. @throws what the database throws */
export async function countOverview(scope: Scope, since: Date, bounds: SessionBounds): Promise<OverviewCounts> {
  const { people, active } = maxOverviewCounted;
  // The latest ones, by the order of an index: nothing is sorted, and where there are too many most of them count.
  const text = `select
      ${upTo(people, `users where environment_id = $1`)} as users,
      ${upTo(people, `users where environment_id = $1 and created_at >= $2 order by created_at desc`)} as new_users,
      ${upTo(
        active,
        `users where environment_id = $1 and coalesce(last_login_at, '-infinity'::timestamptz) >= $2
              order by coalesce(last_login_at, '-infinity'::timestamptz) desc`,
      )} as active_users,
      ${upTo(
        active,
        `sessions s where s.environment_id = $1 and ${isLiveSql('s', { now: '$3', signed_in_after: '$4', active_after: '$5' })}
              order by s.created_at desc`,
      )} as sessions,
      (select count(*) from clients where environment_id = $1 and not is_system)::int as clients,
      (select count(*) from api_resources where environment_id = $1 and not is_system)::int as api_resources,
      exists (select from clients where environment_id = $1 and not is_system and last_used_at is not null) as client_used,
      exists (select from session_clients where environment_id = $1) as signed_in`;
  const values = [since, bounds.now, bounds.signed_in_after, bounds.active_after];
  const [row] = await run<OverviewCounts & Record<string, unknown>>(scope, { name: 'overview.count', text }, values);
  if (!row) throw new Error('the overview has no row');
  return row;
}

/** How many users were made on each day (`YYYY-MM-DD` in UTC) from a time on; days without any are left out. */
export async function listNewUsersByDay(scope: Scope, since: Date): Promise<{ day: string; count: number }[]> {
  // Days are written out after the counting: to_char for every user is most of the work otherwise.
  const text = `select to_char(made.day, 'YYYY-MM-DD') as day, made.count
      from (select (created_at at time zone 'UTC')::date as day, count(*)::int as count
            from users where environment_id = $1 and created_at >= $2 group by 1) made
      order by 1`;
  return run<{ day: string; count: number }>(scope, { name: 'overview.new_users_by_day', text }, [since]);
}

import type { Knex } from 'knex';
import type { NamedQuery } from '../connection/statements/named.js';

/** A position in the primary's log. Those of another timeline, as after a failover, can't be compared with it. */
export type WalPosition = { readonly timeline: number; readonly lsn: string };

/** Where the primary's log ended some time after `at` (monotonic milliseconds): whatever was committed before lies before it. */
export type NotedPosition = WalPosition & { readonly at: number; readonly system: string };

// The insert position: with synchronous_commit=off a commit is visible, and answered, before it is written. The timeline comes from the name
// of the log file, since the control file of a server that was just promoted still has the one before.
const position = `
  select pg_current_wal_insert_lsn()::text as lsn, ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int as timeline,
    system_identifier::text as system
  from pg_control_system()`;

/** Where the primary's log ends now. @throws what the database throws */
export async function walPositionOf(primary: Knex): Promise<NotedPosition> {
  const at = performance.now();
  const { rows } = await primary.raw<{ rows: Omit<NotedPosition, 'at'>[] }>(position);
  return { at, ...(rows[0] as Omit<NotedPosition, 'at'>) };
}

// Positions of another cluster, or of another timeline after a failover, can't be compared.
const reached = {
  name: 'replica.reached',
  text: `select count(*)::int as reached
         from unnest($1::pg_lsn[]) as noted, pg_control_checkpoint() as checkpoint, pg_control_system() as cluster
         where pg_is_in_recovery() and noted <= pg_last_wal_replay_lsn()
           and checkpoint.timeline_id = $2::int and cluster.system_identifier = $3::bigint`,
};

/** The primary's positions of the last `keepMs`, to be compared with what replicas have replayed. */
export function createWalPositions(primary: Knex, keepMs: number) {
  let positions: NotedPosition[] = [];
  return {
    /** Reads the primary's position. @throws what the database throws */
    async note(): Promise<void> {
      const noted = await walPositionOf(primary);
      positions = positions.filter((one) => one.timeline === noted.timeline && one.system === noted.system && noted.at - one.at < keepMs);
      positions.push(noted);
    },
    /** The latest position that the server has replayed which `ask` leads to; null when it lacks all, or follows another primary. */
    async replayedBy(ask: (query: NamedQuery) => Promise<{ reached: number }[]>): Promise<NotedPosition | null> {
      const latest = positions.at(-1) as NotedPosition;
      const [row] = await ask({ ...reached, values: [positions.map(({ lsn }) => lsn), latest.timeline, latest.system] });
      return positions[(row?.reached ?? 0) - 1] ?? null;
    },
  };
}

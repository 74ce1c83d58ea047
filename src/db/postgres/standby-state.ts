import pg from 'pg';
import type { WalPosition } from './wal-positions.js';

/** A server that is configured as a standby, by what it says of itself. */
export type StandbyState = {
  readonly in_recovery: boolean;
  /** How old its last replayed commit is, in milliseconds; 0 once it has replayed the position that was asked about. */
  readonly behind_ms: number;
  /** How long statements of readers hold replay up, in milliseconds; -1 without an end. */
  readonly replay_waits_ms: number;
  /** Whether the primary keeps the rows that readers here still see. */
  readonly feedback: boolean;
};

const timeoutMs = 2_000;

const text = `select pg_is_in_recovery() as in_recovery,
  case when pg_last_wal_replay_lsn() >= $1::pg_lsn then 0
    else coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000, 1e9) end::float8 as behind_ms,
  (select setting::integer from pg_settings where name = 'max_standby_streaming_delay') as replay_waits_ms,
  current_setting('hot_standby_feedback')::boolean as feedback`;

/** Asks the server over a connection of its own. @throws what the database throws */
export async function standbyStateOf(url: string, { lsn }: Pick<WalPosition, 'lsn'>): Promise<StandbyState> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<StandbyState>(text, [lsn]);
    return rows[0] as StandbyState;
  } finally {
    await client.end().catch(() => undefined);
  }
}

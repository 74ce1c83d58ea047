import type { Knex } from 'knex';

export type ServerState = {
  /** As `15`. */
  readonly major: number;
  readonly fsync: boolean;
  /** Connections of clients that are open, of all databases. */
  readonly connections: number;
  /** How many ordinary roles may open. */
  readonly connections_max: number;
  readonly in_recovery: boolean;
};

export async function serverStateOf(knex: Knex): Promise<ServerState> {
  const { rows } = await knex.raw<{ rows: ServerState[] }>(
    `select current_setting('server_version_num')::integer / 10000 as major, current_setting('fsync')::boolean as fsync,
       (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as connections,
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer as connections_max,
       pg_is_in_recovery() as in_recovery`,
  );
  return rows[0] as ServerState;
}

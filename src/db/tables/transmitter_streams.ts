import type { Knex } from 'knex';
import { insert, remove, run, table, type Scope } from '../scope.js';
import { servedSql } from '../served.js';
import { runSystem } from '../system.js';

/** A row of `transmitter_streams`: the stream that the service keeps at a transmitter, for the signals of a connection. */
export type TransmitterStreamRow = {
  environment_id: string;
  connection_id: string;
  stream_id: string;
  issuer: string;
  receiver_url: string;
  audience: string[];
  poll_url: string | null;
  configuration_endpoint: string;
  signals_token_sealed: Buffer;
  token_expires_at: Date | null;
  state: string | null;
  requested_at: Date | null;
  verified_at: Date | null;
  unwanted_at: Date | null;
  created_at: Date;
};

/** The connections of all environments that should have a stream, and those that have one, up to `limit` in the order of their ids, which come after `after`. */
export function listKeptStreams(knex: Knex, after: string, limit: number): Promise<{ environment_id: string; id: string }[]> {
  const text = `select environment_id, id from connections where status = 'enabled'
      and (signals = 'push' and signals_token_sealed is not null or signals = 'poll' and signals_poll_url is null) and id > $1 and ${servedSql('environment_id')}
    union select environment_id, connection_id from transmitter_streams where connection_id > $1 and ${servedSql('environment_id')} order by 2 limit $2`;
  return runSystem(knex, { name: 'transmitter_streams.kept', text }, [after, limit]);
}

export const findTransmitterStream = async (scope: Scope, connection_id: string): Promise<TransmitterStreamRow | null> =>
  (await table<TransmitterStreamRow>(scope, 'transmitter_streams').where({ connection_id }).first()) ?? null;

export const insertTransmitterStream = (scope: Scope, row: Partial<TransmitterStreamRow>): Promise<TransmitterStreamRow> =>
  insert<TransmitterStreamRow>(scope, 'transmitter_streams', row);

export async function renewStreamToken(
  scope: Scope,
  connection_id: string,
  { signals_token_sealed, token_expires_at }: Pick<TransmitterStreamRow, 'signals_token_sealed' | 'token_expires_at'>,
): Promise<void> {
  await table<TransmitterStreamRow>(scope, 'transmitter_streams')
    .where({ connection_id })
    .update({ signals_token_sealed, token_expires_at });
}

/** Notes that a verification with this state is asked for. */
export async function noteVerificationRequest(scope: Scope, connection_id: string, state: string, at: Date): Promise<void> {
  await table<TransmitterStreamRow>(scope, 'transmitter_streams').where({ connection_id }).update({ state, requested_at: at });
}

/** Notes that the stream was verified, as was asked with this state; null: that there is nothing to ask. */
export async function noteStreamVerified(scope: Scope, connection_id: string, state: string | null, at: Date): Promise<void> {
  const text = `update transmitter_streams set verified_at = $4 where environment_id = $1 and connection_id = $2 and state is not distinct from $3::text`;
  await run(scope, { name: 'transmitter_streams.verified', text }, [connection_id, state, at]);
}

/** Notes since when the stream should be gone. @returns that moment */
export async function noteStreamUnwanted(scope: Scope, connection_id: string, at: Date): Promise<Date> {
  const text = `update transmitter_streams set unwanted_at = coalesce(unwanted_at, $3) where environment_id = $1 and connection_id = $2 returning unwanted_at`;
  const [row] = await run<{ unwanted_at: Date }>(scope, { name: 'transmitter_streams.unwanted', text }, [connection_id, at]);
  return row?.unwanted_at ?? at;
}

export const removeTransmitterStream = (scope: Scope, connection_id: string): Promise<number> =>
  remove<TransmitterStreamRow>(scope, 'transmitter_streams', { connection_id });

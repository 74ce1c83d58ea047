import type pg from 'pg';
import { DeadlineClient, type ConnectionSettings } from './deadline-client.js';
import { plansByKey, types } from './knex.js';

/** How long a replica may take to let us in or to answer; after that the primary is asked. */
const replicaTimeoutMs = 500;

/** A connection to a read replica, not yet open, that many look-ups share at once: pipelined. */
export const openReplicaConnection = (url: string): pg.Client =>
  new DeadlineClient({
    connectionString: url,
    application_name: 'identity-provider',
    connectionTimeoutMillis: replicaTimeoutMs,
    statementLimitMs: replicaTimeoutMs,
    statement_timeout: replicaTimeoutMs,
    keepAlive: true,
    types,
    pipeline: true,
    ...plansByKey,
  } as ConnectionSettings);

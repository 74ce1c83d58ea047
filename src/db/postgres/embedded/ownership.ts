import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { superuser } from './cluster.js';
import { EmbeddedPostgresError } from './error.js';

/** Names the lock among all advisory locks of the cluster ("owner" in ASCII). */
const lockKey = '478560413042';

const label = 'identity-provider owner';

/** Temporary conditions: connection refused or reset, server starting up or shutting down. */
const passing = new Set(['ECONNREFUSED', 'ECONNRESET', '57P03', '57P01', '57P02']);

/**
 * A session whose advisory lock says: this process looks after the cluster. PostgreSQL itself drops it when the process dies,
 * however it dies, which no file could promise.
 */
export type Claim = { readonly lost: Promise<void> };

/** A superuser's session in the maintenance database. */
export async function openSession(port: number, password: string): Promise<pg.Client> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: superuser,
    password,
    database: 'postgres',
    application_name: `${label} ${process.pid}`,
    connectionTimeoutMillis: 5000,
    keepAlive: true,
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/**
 * Claims the cluster whose server listens on `port`.
 *
 * Nobody but its `launcher` may claim a server in its first two seconds: of services that start together, none ends a
 * server that another has just started and is about to claim.
 * @returns null when the server can't be claimed at the moment.
 * @throws {EmbeddedPostgresError} when another live process holds the claim, or the secret isn't the cluster's.
 */
export async function claim(port: number, password: string, options: { dataDir: string; launcher: boolean }): Promise<Claim | null> {
  const { dataDir, launcher } = options;
  const session = await openSession(port, password).catch((error: Error & { code?: string }) => {
    const { code } = error;
    if (code === '28P01') {
      throw new EmbeddedPostgresError(`${dataDir}/postgres-secret isn't that of the database beside it: restore both from one backup.`);
    }
    // What pg itself says has no code: the connection ended, or wasn't there in time.
    if (code !== undefined && !passing.has(code)) throw error;
    return null;
  });
  if (session === null) return null;
  let ended = false;
  const lost = new Promise<void>((resolve) => {
    session.once('end', () => {
      ended = true;
      resolve();
    });
  });
  try {
    if (!launcher && (await isYoung(session))) return await session.end().then(() => null);
    if (await lock(session)) {
      (session as pg.Client & { unref(): void }).unref();
      return { lost };
    }
    const owner = await ownerOf(session);
    await session.end();
    throw new EmbeddedPostgresError(
      `the database in ${dataDir} is in use by another running service${owner === null ? '' : ` (process ${owner})`}: stop that one, ` +
        `or name another directory in DATA_DIR for this one.`,
    );
  } catch (error) {
    if (error instanceof EmbeddedPostgresError || !(ended || isHangUp(error))) throw error;
    return null;
  }
}

/** The server ended the session, or broke off, while a statement was under way. */
function isHangUp(error: unknown): boolean {
  const { code, message } = error as Error & { code?: string };
  return passing.has(code ?? '') || /terminated|not queryable|was closed/.test(message);
}

async function isYoung(session: pg.Client): Promise<boolean> {
  const { rows } = await session.query<{ young: boolean }>(
    `select clock_timestamp() between pg_postmaster_start_time() and pg_postmaster_start_time() + interval '2 seconds' as young`,
  );
  return rows[0]?.young === true;
}

/** Tries for a second: a killed owner's session is noticed at once, but not in the same instant. */
async function lock(session: pg.Client): Promise<boolean> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const { rows } = await session.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [lockKey]);
    if (rows[0]?.locked) return true;
    await delay(100);
  }
  return false;
}

async function ownerOf(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query<{ application_name: string }>(
    `select application_name from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and granted and application_name like $1`,
    [`${label} %`],
  );
  return rows[0]?.application_name.slice(label.length + 1) ?? null;
}

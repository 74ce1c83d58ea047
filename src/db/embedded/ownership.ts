import pg from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { superuser } from './cluster.js';
import { EmbeddedPostgresError } from './error.js';

/** Names the lock among all advisory locks of the cluster ("owner" in ASCII). */
const lockKey = '478560413042';

const label = 'identity-provider owner';

/** Passes by itself: refused, starting up, shutting down, reset. */
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
 * @returns null when the server doesn't take connections at the moment.
 * @throws {EmbeddedPostgresError} when another live process holds the claim, or the secret isn't the cluster's.
 */
export async function claim(port: number, password: string, dataDir: string): Promise<Claim | null> {
  try {
    const client = await openSession(port, password);
    const lost = new Promise<void>((resolve) => client.once('end', resolve));
    // A killed owner's session is noticed at once, but not in the same instant.
    for (let attempt = 0; attempt < 20; attempt++) {
      const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [lockKey]);
      if (rows[0]?.locked) {
        (client as pg.Client & { unref(): void }).unref();
        return { lost };
      }
      await delay(100);
    }
    const owner = await ownerOf(client);
    await client.end();
    throw new EmbeddedPostgresError(
      `the database in ${dataDir} is in use by another running service${owner === null ? '' : ` (process ${owner})`}: stop that one, ` +
        `or name another directory in DATA_DIR for this one.`,
    );
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== undefined && passing.has(code)) return null;
    if (code === '28P01')
      throw new EmbeddedPostgresError(`${dataDir}/postgres-secret isn't that of the database beside it: restore both from one backup.`);
    throw error;
  }
}

async function ownerOf(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query<{ application_name: string }>(
    `select application_name from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and granted and application_name like $1`,
    [`${label} %`],
  );
  return rows[0]?.application_name.slice(label.length + 1) ?? null;
}

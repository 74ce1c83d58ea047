import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { startEmbeddedPostgres } from '../src/db/postgres/embedded/embedded-postgres.js';

/** A PostgreSQL server for one run. */
export type BenchServer = {
  readonly version: string;
  /** The postmaster's process id; 0 when the server is on another machine. */
  readonly pid: number;
  /** Makes an empty database and answers its address. */
  create(name: string): Promise<string>;
  stop(): Promise<void>;
};

/** Durable as in production, with memory for a large table. */
const settings = { shared_buffers: '512MB', max_connections: '100', max_wal_size: '4GB' };

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client
    .query<Row>(text)
    .then((result) => result.rows)
    .finally(() => client.end());
}

/** The process id of the postmaster at an address of this machine; 0 when it is on another. */
export async function postmasterOf(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const stat = await readFile(`/proc/${rows[0]?.pid ?? 0}/stat`, 'utf8');
    return /\(postgres\)/.test(stat) ? Number((stat.split(') ').at(-1) ?? '').split(' ')[1]) : 0;
  } catch {
    return 0;
  } finally {
    await client.end();
  }
}

/** For tables of gigabytes: a quarter of a machine's 16 GB, as PostgreSQL's manual has it, and room to fill them quickly. */
const large = { shared_buffers: '4GB', max_wal_size: '12GB', maintenance_work_mem: '512MB', wal_compression: 'on' };

/** The server of `url`, or without one a throw-away server on a temporary directory, with fsync on. */
export async function openServer(url: string | null, grown = false): Promise<BenchServer> {
  const dataDir = url === null ? await mkdtemp(join(tmpdir(), 'identity-provider-bench-')) : null;
  const own =
    dataDir === null
      ? null
      : await startEmbeddedPostgres({ dataDir, logger: pino({ level: 'warn' }), settings: { ...settings, ...(grown && large) } });
  const address = own?.url ?? (url as string);
  const made: string[] = [];
  const [version] = await query<{ server_version: string }>(address, 'show server_version');
  return {
    version: version?.server_version ?? '',
    pid: await postmasterOf(address),
    async create(name) {
      await query(address, `drop database if exists ${name} with (force)`);
      await query(address, `create database ${name}`);
      made.push(name);
      const database = new URL(address);
      database.pathname = `/${name}`;
      return database.href;
    },
    async stop() {
      if (own === null) for (const name of made) await query(address, `drop database if exists ${name} with (force)`);
      await own?.stop();
      if (dataDir !== null) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

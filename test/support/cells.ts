import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { startEmbeddedPostgres } from '../../src/db/postgres/embedded/embedded-postgres.js';
import { runProgram, startProgram, type Ended } from './program.js';
import { startTestService, type TestService } from './service.js';
import { superuserAddress } from './superuser.js';

/** A cell: a PostgreSQL of its own, and a service on it. */
export type Cell = {
  readonly name: string;
  readonly service: TestService;
  /** Where it listens, whatever BASE_URL says. */
  readonly address: string;
  /** Its database, as a superuser. */
  readonly database: string;
  stop(): Promise<void>;
};

/** The address that proxies lead to the cells. */
export const baseUrl = 'http://id.localhost:4000';

const settings = {
  fsync: 'off',
  wal_level: 'logical',
  max_slot_wal_keep_size: '1GB',
  max_wal_senders: '10',
  max_replication_slots: '20',
  max_worker_processes: '24',
  max_logical_replication_workers: '16',
  max_sync_workers_per_subscription: '6',
};

export async function startCell(
  name: string,
  secretKey: string,
  { changed = {}, environment = {} }: { readonly changed?: Record<string, string>; readonly environment?: Record<string, string> } = {},
): Promise<Cell> {
  const dataDir = await mkdtemp(join(tmpdir(), `identity-provider-cell-${name}-`));
  const postgres = await startEmbeddedPostgres({ dataDir, logger: pino({ level: 'warn' }), settings: { ...settings, ...changed } });
  const database = new URL(await superuserAddress(postgres.url, dataDir));
  database.pathname = new URL(postgres.url).pathname;
  const service = await startTestService({ CELL: name, BASE_URL: baseUrl, ...environment }, { database: { url: postgres.url, secretKey } });
  return {
    name,
    service,
    address: `http://127.0.0.1:${service.config.port}`,
    database: database.href,
    async stop() {
      await service.stop();
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export const newSecretKey = () => randomBytes(32).toString('base64');

const variablesOf = ({ database, service }: Cell) => ({
  DATABASE_URL: database,
  SECRET_KEY: service.secretKey,
  BASE_URL: service.config.baseUrl,
});

const moveArguments = (slug: string, to: Cell, rest: readonly string[]) => [
  'environments', 'move', slug, '--to', to.database, '--cell', to.name, ...rest,
]; // prettier-ignore

/** `idp environments move`, to its end. */
export const move = (slug: string, from: Cell, to: Cell, ...rest: string[]): Promise<Ended> =>
  runProgram('programs/cli', moveArguments(slug, to, rest), variablesOf(from));

/** The same, under way. */
export const beginMove = (slug: string, from: Cell, to: Cell) =>
  startProgram('programs/cli', moveArguments(slug, to, []), variablesOf(from));

export const purge = (slug: string, from: Cell): Promise<Ended> =>
  runProgram('programs/cli', ['environments', 'purge', slug], variablesOf(from));

import { chmod, chown, cp, lchown, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { startEmbeddedPostgres, usualSystemDirs } from '../../src/db/postgres/embedded/embedded-postgres.js';
import { locateBinaries } from '../../src/db/postgres/embedded/binaries.js';
import { superuser } from '../../src/db/postgres/embedded/cluster.js';
import { freePort, launch, stopPostmaster, type OwnPostmaster } from '../../src/db/postgres/embedded/postmaster.js';
import { chooseSystemUser, type SystemUser } from '../../src/db/postgres/embedded/system-user.js';
import { superuserAddress } from './superuser.js';

/** A PostgreSQL of its own and standbys that stream from it. */
export type PrimaryWithStandby = {
  /** The service's role in a new, empty database. */
  readonly url: string;
  /** The same on the first standby, and on each; they stay the same over restarts. */
  readonly standbyUrl: string;
  readonly standbyUrls: readonly string[];
  /** Runs a statement as superuser, on the primary or the first standby. */
  ask(server: 'primary' | 'standby', statement: string): Promise<Record<string, unknown>[]>;
  startStandby(): Promise<void>;
  stopStandby(): Promise<void>;
  stop(): Promise<void>;
};

const settings = { fsync: 'off', full_page_writes: 'on', wal_keep_size: '256MB', max_wal_senders: '8' };

async function handOver(directory: string, user: SystemUser): Promise<void> {
  if (user === null) return;
  for (const name of await readdir(directory, { recursive: true })) await lchown(join(directory, name), user.uid, user.gid);
  await chown(directory, user.uid, user.gid);
}

/** What pg_basebackup does, which the embedded PostgreSQL comes without: a copy between the two calls, and the label that the second returns. */
async function backUp(primary: string, from: string, to: string): Promise<void> {
  const session = new pg.Client({ connectionString: primary });
  await session.connect();
  try {
    await session.query(`select pg_backup_start('standby', true)`);
    // A running server's files come and go while they are copied, which the log makes good.
    const left = /\/(?:postmaster\.(?:pid|opts)|pg_replslot\/.+|pg_dynshmem\/.+|pg_stat_tmp\/.+|pgsql_tmp.*|pg_internal\.init)$/;
    await cp(from, to, { recursive: true, filter: (path) => !left.test(path) });
    const { rows } = await session.query<{ labelfile: string }>('select labelfile from pg_backup_stop(wait_for_archive := false)');
    await writeFile(join(to, 'backup_label'), rows[0]?.labelfile ?? '');
  } finally {
    await session.end();
  }
}

/**
 * Starts all; the standbys follow the primary from its birth on.
 * @param through gives the port by which the standbys reach that of the primary
 */
export async function startPrimaryWithStandby(through = async (primary: number) => primary, standbys = 1): Promise<PrimaryWithStandby> {
  const scratch = await realpath(await mkdtemp(join(tmpdir(), 'identity-provider-standby-')));
  await chmod(scratch, 0o755);
  const dataDir = join(scratch, 'primary');
  const primary = await startEmbeddedPostgres({ dataDir, logger: pino({ level: 'warn' }), settings });
  const primaryAddress = await superuserAddress(primary.url, dataDir);
  const { password } = new URL(primaryAddress);
  const primaryPort = await through(Number(new URL(primary.url).port));
  const ports: number[] = [];
  while (ports.length < standbys) ports.push(await freePort());
  const addresses = { primary: primaryAddress, standby: `postgres://${superuser}:${password}@127.0.0.1:${ports[0]}/postgres` };
  const user = await chooseSystemUser(join(dataDir, 'postgres'));
  const binaries = await locateBinaries(user, user === null ? [join(dataDir, 'postgresql')] : usualSystemDirs);
  const clusterDirOf = (n: number) => join(scratch, `standby-${n}`);
  const postmasters: OwnPostmaster[] = [];

  const startStandby = async () => {
    for (const [n, port] of ports.entries()) {
      const clusterDir = clusterDirOf(n);
      postmasters[n] = await launch({ binaries, clusterDir, user, port, logFile: `${clusterDir}.log`, overrides: settings });
    }
  };
  const stopStandby = async () => {
    for (const [n, { pid }] of postmasters.splice(0).entries()) await stopPostmaster(clusterDirOf(n), pid);
  };
  const stop = async () => {
    await stopStandby();
    await primary.stop();
    await rm(scratch, { recursive: true, force: true });
  };
  try {
    const conninfo = `host=127.0.0.1 port=${primaryPort} user=${superuser} password=${password}`;
    for (const clusterDir of [...ports.keys()].map(clusterDirOf)) {
      await mkdir(clusterDir, { mode: 0o700 });
      await backUp(addresses.primary, join(dataDir, 'postgres'), clusterDir);
      await writeFile(join(clusterDir, 'standby.signal'), '');
      await writeFile(join(clusterDir, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`, { mode: 0o600 });
      await handOver(clusterDir, user);
    }
    await startStandby();
  } catch (error) {
    await stop();
    throw error;
  }
  const standbyUrls = ports.map((port) => Object.assign(new URL(primary.url), { port: String(port) }).href);
  return {
    url: primary.url,
    standbyUrl: standbyUrls[0] ?? '',
    standbyUrls,
    async ask(server, statement) {
      const session = new pg.Client({ connectionString: addresses[server] });
      await session.connect();
      try {
        return (await session.query<Record<string, unknown>>(statement)).rows;
      } finally {
        await session.end();
      }
    },
    startStandby,
    stopStandby,
    stop,
  };
}

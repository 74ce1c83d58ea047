import { randomBytes } from 'node:crypto';
import { chmod, link, lstat, mkdtemp, readFile, readlink, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Logger } from '../../../platform/log/logger.js';
import { openOwnDirectory } from './binaries.js';
import { EmbeddedPostgresError } from './error.js';
import { closedDirectory, isClosedCheckout, userNameOf, type SystemUser } from './system-user.js';

/**
 * The real path of the cluster, which `DATA_DIR/postgres` is or points at; it need not exist yet.
 *
 * The database user must be able to enter the directory around it. DATA_DIR itself is opened (to enter, not to list). A closed
 * directory above DATA_DIR is the administrator's word and refused, with one exception: a checkout that is closed as
 * a whole, such as one in root's home, keeps its default DATA_DIR, and the cluster lies in a system directory, linked from there.
 * @throws {EmbeddedPostgresError} when the database user can't get there, or the link leads nowhere
 */
export async function locateCluster(options: {
  dataDir: string;
  user: SystemUser;
  systemDirs: readonly string[];
  logger: Logger;
}): Promise<string> {
  const dataDir = await realpath(options.dataDir);
  const path = join(dataDir, 'postgres');
  const found = await lstat(path).catch(() => null);
  if (found?.isSymbolicLink()) return followLink(path);
  if (options.user === null) return path;

  let closed = await closedDirectory(options.user, dataDir);
  if (closed === dataDir) {
    await chmod(dataDir, ((await stat(dataDir)).mode & 0o777) | 0o001);
    closed = await closedDirectory(options.user, dataDir);
  }
  if (closed === null) return path;
  if (found === null && isClosedCheckout(dataDir, closed)) {
    await symlink(await makeClusterHome(options.user, dataDir, options.systemDirs), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    const target = await followLink(path);
    options.logger.info(
      { event: 'embedded_postgres.cluster_outside_closed_checkout', data_dir: dataDir, closed_directory: closed, cluster: target },
      "the database's files are kept outside of the checkout",
    );
    return target;
  }
  throw new EmbeddedPostgresError(
    `DATA_DIR ${dataDir} lies in ${closed}, which is closed to user ${await userNameOf(options.user)}, who runs PostgreSQL for root. ` +
      `Name another directory in DATA_DIR (such as /var/lib/identity-provider-data), start as an ordinary user, or set DATABASE_URL.`,
  );
}

/** The cluster itself may not exist yet, the directory around it must. */
async function followLink(link: string): Promise<string> {
  const target = resolve(dirname(link), await readlink(link));
  const home = await realpath(dirname(target)).catch(() => null);
  if (home !== null) return join(home, basename(target));
  throw new EmbeddedPostgresError(
    `${link} points at ${target}, which is gone: bring it back, or remove the link to begin with an empty database.`,
  );
}

async function makeClusterHome(user: SystemUser, dataDir: string, parents: readonly string[]): Promise<string> {
  const problems: string[] = [];
  for (const parent of parents) {
    try {
      await openOwnDirectory(user, parent);
      const home = await mkdtemp(join(parent, 'cluster-'));
      await chmod(home, 0o711);
      await writeFile(join(home, 'belongs-to'), `${dataDir}\n`, { mode: 0o600 });
      return join(home, 'postgres');
    } catch (error) {
      problems.push(`${parent}: ${(error as Error).message}`);
    }
  }
  throw new EmbeddedPostgresError(
    `DATA_DIR ${dataDir} is closed to user ${await userNameOf(user)}, who runs PostgreSQL for root, and the database can't lie elsewhere (${problems.join('; ')}). ` +
      `Name a directory open to that user in DATA_DIR, or set DATABASE_URL.`,
  );
}

/**
 * The secret that all passwords of the cluster derive from: made once, readable by this process's user alone.
 * @throws {EmbeddedPostgresError} when it is gone and the cluster is not
 */
export async function clusterSecret(dataDir: string, clusterExists: boolean): Promise<string> {
  const file = join(dataDir, 'postgres-secret');
  const stored = await readSecret(file);
  if (stored !== null) return stored;
  if (clusterExists) {
    throw new EmbeddedPostgresError(
      `${file} is missing, without which the database in ${dataDir} can't be opened: restore it from a backup.`,
    );
  }
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  try {
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await readSecret(file)) ?? '';
}

async function readSecret(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new EmbeddedPostgresError(`${file} can't be read by user ${await userNameOf(null)} (${code}): start as the user it belongs to.`, {
      cause,
    });
  }
}

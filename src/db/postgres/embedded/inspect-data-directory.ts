import { access, constants, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { clusterExists } from './cluster.js';
import { chooseSystemUser, closedDirectory, nameOf } from './system-user.js';

/** What is wrong with a data directory, and the command that mends it; `path` is the file or directory to change. */
export type DataDirectoryProblem = {
  readonly finding: string;
  readonly path: string;
  readonly mend: 'open' | 'own' | 'enter' | 'name' | 'restore';
};

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? 'unknown';

/** The nearest directory above that is there. */
export async function nearestExisting(path: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() || dirname(path) === path ? path : nearestExisting(dirname(path));
}

async function accessProblem(path: string, mode: number, what: string): Promise<DataDirectoryProblem | null> {
  try {
    await access(path, mode);
    return null;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    const owner = await stat(path).catch(() => null);
    const own = owner !== null && owner.uid === process.getuid?.();
    return { finding: `${what} ${path} is closed to the user ${await nameOf(null)} (${codeOf(error)}).`, path, mend: own ? 'open' : 'own' };
  }
}

/**
 * What would keep a start from using the directory, without changing anything: it is no directory, closed to this user, or to the user that runs PostgreSQL
 * for root; or its secret is gone. Null: nothing.
 */
export async function findDataDirectoryProblem(dataDir: string): Promise<DataDirectoryProblem | null> {
  const found = await stat(dataDir).catch((error: unknown) => codeOf(error));
  if (typeof found === 'object' && !found.isDirectory())
    return { finding: `DATA_DIR ${dataDir} is not a directory.`, path: dataDir, mend: 'name' };
  if (found === 'EACCES') {
    const closed = await nearestExisting(dirname(dataDir));
    return {
      finding: `DATA_DIR ${dataDir} lies in a directory that is closed to the user ${await nameOf(null)}.`,
      path: closed,
      mend: 'own',
    };
  }
  const place = typeof found === 'object' ? dataDir : await nearestExisting(dataDir);
  const what = place === dataDir ? 'DATA_DIR' : `DATA_DIR ${dataDir} can't be made:`;
  const closed =
    (await accessProblem(place, constants.R_OK | constants.W_OK | constants.X_OK, what)) ??
    (await accessProblem(join(dataDir, 'postgres-secret'), constants.R_OK, 'The file')) ??
    (await accessProblem(join(dataDir, 'secret.key'), constants.R_OK, 'The file'));
  if (closed) return closed;
  const cluster = join(dataDir, 'postgres');
  if ((await clusterExists(cluster)) && (await stat(join(dataDir, 'postgres-secret')).catch(() => null)) === null) {
    const path = join(dataDir, 'postgres-secret');
    return { finding: `${path} is missing, without which the database beside it can't be opened.`, path, mend: 'restore' };
  }
  const user = process.getuid?.() === 0 ? await chooseSystemUser(cluster) : null;
  const above = user === null ? null : await closedDirectory(user, dirname(place));
  if (above === null) return null;
  return {
    finding: `DATA_DIR ${dataDir} lies in ${above}, which is closed to the user ${await nameOf(user)}, who runs PostgreSQL for root.`,
    path: above,
    mend: 'enter',
  };
}

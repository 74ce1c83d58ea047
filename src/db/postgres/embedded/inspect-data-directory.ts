import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, lstat, readFile, readlink, realpath, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fixes, probes, type Probe, type Fix } from '../../../lib/remedies.js';
import { clusterExists } from './cluster.js';
import { EmbeddedPostgresError } from './error.js';
import { closedDirectory, findSystemUser, isClosedCheckout, userNameOf, plainEnvironment } from './system-user.js';

/** What keeps a data directory from being used, for the start and for the doctor. */
export type DataDirectoryProblem = {
  readonly finding: string;
  /** A command that runs as it stands, or `DATA_DIR`, with its value where one is known. It changes nothing but the directory, or a file of ours in it. */
  readonly fix: Fix;
  /** A command that shows more; absent: the finding says all. */
  readonly look?: Probe;
};

/** The data directory can't be used: the start is refused as one with a wrong variable is (exit 78). */
export class DataDirectoryError extends EmbeddedPostgresError {}

/** Milliseconds after which a file system counts as one that hangs. */
const answerMs = 3000;

/** File systems in which the kernel shows itself: nothing can be made there, though root is told that it may (linux/magic.h). */
const kernelFileSystems: ReadonlySet<number> = new Set([
  0x9fa0, // proc
  0x62656572, // sysfs
  0x27e0eb, // cgroup
  0x63677270, // cgroup2
  0x1cd1, // devpts
  0x64626720, // debugfs
  0x74726163, // tracefs
  0x73636673, // securityfs
]);

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? 'unknown';

/**
 * Runs a short shell script in a process of its own, which is given up when it takes too long: a call on a dead mount never ends, and would keep this process from
 * ending too.
 * @returns its exit code and what it wrote to stderr; null when it didn't end in time
 */
async function inTime(script: string, path: string): Promise<{ code: number; text: string } | null> {
  const child = spawn('/bin/sh', ['-c', script, 'sh', path], { env: plainEnvironment, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  const late = new AbortController();
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  try {
    const ended = once(child, 'close').then(([code]) => ({ code: Number(code ?? 1), text: text.trim() }));
    return await Promise.race([ended, delay(answerMs, null, { signal: late.signal })]);
  } finally {
    late.abort();
    child.kill('SIGKILL');
    child.stderr.destroy();
    child.unref();
  }
}

/** Whether the file system at a path answers: false on a dead mount. To be asked before this process itself looks there. */
export const answersAt = async (path: string): Promise<boolean> => (await inTime('[ -e "$1/postgres/PG_VERSION" ]; :', path)) !== null;

/** What a file of ours in the directory says; null where it isn't, is closed, or nothing answers there. */
export const readInDataDirectory = async (dataDir: string, name: string): Promise<string | null> =>
  (await answersAt(dataDir)) ? readFile(join(dataDir, name), 'utf8').catch(() => null) : null;

/** The nearest directory above that is there. */
export async function nearestExisting(path: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() || dirname(path) === path ? path : nearestExisting(dirname(path));
}

const isRoot = () => process.getuid?.() === 0;

/** Another directory that a start can make: below the project, for root outside of what may be closed. */
function anotherDirectory(dataDir: string): Fix {
  const [path, spelled] = isRoot() ? ['/var/lib/identity-provider-data', '/var/lib/identity-provider-data'] : [resolve('.data'), '.data'];
  return path === dataDir ? fixes.variable('DATA_DIR') : fixes.setVariable('DATA_DIR', spelled);
}

const isKernel = async (path: string) => kernelFileSystems.has((await statfs(path)).type);
const refusalAt = (path: string, mode: number) => access(path, mode).then(() => null, codeOf); // prettier-ignore

/** What keeps a directory from being made that isn't there. */
async function problemOfMissing(dataDir: string): Promise<DataDirectoryProblem | null> {
  const nearest = await nearestExisting(dataDir);
  const first = join(nearest, dataDir.slice(nearest.length).split('/').find(Boolean) ?? '');
  const fix = anotherDirectory(dataDir);
  if ((await lstat(first).catch(() => null)) !== null)
    return { finding: `DATA_DIR ${dataDir} can't be made: ${first} is no directory, or a link that leads nowhere.`, fix };
  if (await isKernel(nearest)) return { finding: `DATA_DIR ${dataDir} can't be made: ${nearest} is the kernel's own.`, fix };
  const refused = await refusalAt(nearest, constants.W_OK | constants.X_OK);
  if (refused === null) return null;
  if (refused === 'EROFS') return { finding: `DATA_DIR ${dataDir} can't be made: ${nearest} can only be read.`, fix };
  const finding = `DATA_DIR ${dataDir} can't be made: ${nearest} is closed to the user ${await userNameOf(null)}.`;
  return { finding, fix: (await refusalAt(nearest, constants.X_OK)) === null ? fixes.makeDirectory(dataDir) : fix };
}

/** A directory that is there and that this user can't use. What belongs to somebody else stays theirs: ours is made within it, where that can be. */
async function problemOfClosed(dataDir: string, refused: string): Promise<DataDirectoryProblem> {
  const { uid } = await stat(dataDir);
  const user = await userNameOf(null);
  if (refused === 'EROFS') return { finding: `DATA_DIR ${dataDir} can only be read.`, fix: fixes.variable('DATA_DIR') };
  if (uid === process.getuid?.())
    return { finding: `DATA_DIR ${dataDir} is closed to the user ${user}.`, fix: fixes.openDirectory(dataDir) };
  const finding = `DATA_DIR ${dataDir} belongs to the user ${await userNameOf({ uid, gid: 0 })} and is closed to the user ${user}.`;
  const ownDirectory = join(dataDir, 'identity-provider');
  const isNobodys =
    (await refusalAt(dataDir, constants.X_OK)) === null && (await refusalAt(join(dataDir, 'postgres-secret'), constants.F_OK)) === 'ENOENT';
  if (isNobodys) return { finding, fix: fixes.makeDataDirectory(ownDirectory) };
  return {
    finding: `${finding} Start as the former, or name another directory.`,
    fix: fixes.variable('DATA_DIR'),
    look: probes.directory(dataDir),
  };
}

/** A file of ours in the directory that this user can't read. */
async function problemOfFile(dataDir: string, name: string): Promise<DataDirectoryProblem | null> {
  const path = join(dataDir, name);
  const refused = await refusalAt(path, constants.R_OK);
  if (refused === null || refused === 'ENOENT') return null;
  const finding = `The file ${path} is closed to the user ${await userNameOf(null)} (${refused}).`;
  const [directory, file] = [await stat(dataDir), await lstat(path)];
  if (file.uid === process.getuid?.()) return { finding, fix: fixes.openFile(path) };
  if (directory.uid === process.getuid?.()) return { finding, fix: fixes.takeFile(path) };
  return { finding: `${finding} Start as the user that it belongs to.`, fix: fixes.variable('DATA_DIR'), look: probes.file(path) };
}

/** A link in the place of the database whose target is gone; a database without its secret. */
async function problemOfCluster(dataDir: string): Promise<DataDirectoryProblem | null> {
  const path = join(dataDir, 'postgres');
  const target = await readlink(path).catch(() => null);
  if (target !== null && (await stat(dirname(resolve(dataDir, target))).catch(() => null)) === null)
    return {
      finding: `${path} points at ${target}, which is gone: bring it back, or remove the link to begin with an empty database.`,
      fix: fixes.variable('DATA_DIR'),
    };
  if (!(await clusterExists(path)) || (await stat(join(dataDir, 'postgres-secret')).catch(() => null)) !== null) return null;
  return {
    finding: `${join(dataDir, 'postgres-secret')} is missing, without which the database beside it can't be opened: restore it from the backup that the database is in too.`,
    fix: fixes.variable('DATA_DIR'),
  };
}

/** A directory above that is closed to the user that runs PostgreSQL for root. DATA_DIR itself is opened by the start. */
async function problemAbove(dataDir: string): Promise<DataDirectoryProblem | null> {
  const cluster = join(dataDir, 'postgres');
  const user = await findSystemUser(cluster);
  const found = await lstat(cluster).catch(() => null);
  if (user === undefined) {
    // The start adds one, for a database that it makes.
    const finding = `${cluster} belongs to root, and this system has no other user who could run PostgreSQL.`;
    return (await clusterExists(cluster)) ? { finding, fix: fixes.variable('DATA_DIR'), look: probes.directory(cluster) } : null;
  }
  if (user === null || found?.isSymbolicLink()) return null;
  const nearest = await nearestExisting(dataDir);
  const real = await realpath(nearest);
  const above = await closedDirectory(user, nearest === dataDir ? dirname(real) : real);
  if (above === null || (found === null && isClosedCheckout(join(real, dataDir.slice(nearest.length)), above))) return null;
  const finding = `DATA_DIR ${dataDir} lies in ${above}, which is closed to the user ${await userNameOf(user)}, who runs PostgreSQL for root.`;
  if (found === null) return { finding, fix: anotherDirectory(dataDir) };
  return { finding: `${finding} Move it to where that user may go, and name the new place.`, fix: fixes.variable('DATA_DIR') };
}

/**
 * What would keep a start from using the directory, without changing anything: it hangs, is no directory, can't be made, is closed to this user, or to the user
 * that runs PostgreSQL for root; or its secret is gone. Null: nothing. Start and doctor go by it alike.
 */
export async function findDataDirectoryProblem(dataDir: string): Promise<DataDirectoryProblem | null> {
  if (!(await answersAt(dataDir))) {
    const probe = probes.hangingDirectory(dataDir);
    return {
      finding: `DATA_DIR ${dataDir} has not answered for ${answerMs / 1000} s: what is mounted there hangs.`,
      fix: anotherDirectory(dataDir),
      look: probe,
    };
  }
  const found = await stat(dataDir).catch(codeOf);
  if (found === 'EACCES') {
    const closed = await nearestExisting(dirname(dataDir));
    const finding = `DATA_DIR ${dataDir} lies in ${closed}, which is closed to the user ${await userNameOf(null)}.`;
    return {
      finding: `${finding} Start as the user that it belongs to, or name another directory.`,
      fix: fixes.variable('DATA_DIR'),
      look: probes.directory(closed),
    };
  }
  if (found === 'ENOENT') return (await problemOfMissing(dataDir)) ?? (isRoot() ? problemAbove(dataDir) : null);
  if (typeof found === 'string' && found !== 'ENOTDIR')
    return { finding: `DATA_DIR ${dataDir} can't be used (${found}).`, fix: anotherDirectory(dataDir) };
  if (typeof found === 'string' || !found.isDirectory())
    return { finding: `DATA_DIR ${dataDir} is not a directory.`, fix: anotherDirectory(dataDir) };
  if (await isKernel(dataDir))
    return { finding: `DATA_DIR ${dataDir} is the kernel's own: no file can be made there.`, fix: anotherDirectory(dataDir) };
  const refused = await refusalAt(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  if (refused !== null) return problemOfClosed(dataDir, refused);
  return (
    (await problemOfFile(dataDir, 'postgres-secret')) ??
    (await problemOfFile(dataDir, 'secret.key')) ??
    (await problemOfCluster(dataDir)) ??
    (isRoot() ? problemAbove(dataDir) : null)
  );
}

/**
 * To be asked by whoever is to look into the directory, before anything else does: what hangs would keep it for good.
 * @throws {DataDirectoryError} with the finding and what mends it, when a start can't use the directory
 */
export async function requireDataDirectory(dataDir: string): Promise<void> {
  const problem = await findDataDirectoryProblem(dataDir);
  if (problem !== null) throw refused(problem);
}

/**
 * Makes the directory where it isn't there, and those above it, which stay open to the user that runs PostgreSQL.
 * @throws {DataDirectoryError} when it can't be used
 */
export async function makeDataDirectory(dataDir: string): Promise<void> {
  await requireDataDirectory(dataDir);
  const made = await inTime('umask 022; exec mkdir -p -m 700 -- "$1"', dataDir);
  if (made?.code === 0) return;
  const why = made === null ? `within ${answerMs / 1000} s` : `(${made.text})`;
  throw refused({ finding: `DATA_DIR ${dataDir} could not be made ${why}.`, fix: anotherDirectory(dataDir) });
}

const refused = ({ finding, fix }: DataDirectoryProblem) =>
  new DataDirectoryError(
    `${finding}\n${fix === fixes.variable('DATA_DIR') ? 'Name another directory in DATA_DIR' : `What mends it: ${fix}`}, or set DATABASE_URL.`,
  );

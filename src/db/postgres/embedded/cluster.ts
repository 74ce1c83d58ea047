import { randomBytes } from 'node:crypto';
import { chmod, chown, lchown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Binaries } from './binaries.js';
import { EmbeddedPostgresError } from './error.js';
import { userNameOf, runCommand, type SystemUser } from './system-user.js';

/** An unfinished cluster this old was left by a killed process. */
const abandonedAfterMs = 600_000;

/** The name of the superuser. The service itself works under a role without such powers. */
export const superuser = 'postgres';

export const clusterExists = async (clusterDir: string): Promise<boolean> =>
  (await stat(join(clusterDir, 'PG_VERSION')).catch(() => null)) !== null;

/**
 * Makes the cluster unless it exists, and refuses one that these programs or this user can't run.
 *
 * It is made beside its place and then renamed, so that a killed process leaves none or a whole one, and of two that
 * start together one wins.
 * @throws {EmbeddedPostgresError} that says what to do instead
 */
export async function prepareCluster(options: {
  clusterDir: string;
  binaries: Binaries;
  user: SystemUser;
  password: string;
  durable: boolean;
}): Promise<void> {
  const { clusterDir, binaries, user } = options;
  await checkOwner(clusterDir, user);
  if (!(await clusterExists(clusterDir))) await makeCluster(options);
  const version = (await readFile(join(clusterDir, 'PG_VERSION'), 'utf8')).trim();
  if (version !== String(binaries.major)) {
    throw new EmbeddedPostgresError(
      `${clusterDir} was made by PostgreSQL ${version}, this release brings ${binaries.major}: dump it with the earlier release (pg_dump), ` +
        `move the directory away and load the dump into the new one, or run PostgreSQL ${version} yourself and set DATABASE_URL.`,
    );
  }
}

async function makeCluster({ clusterDir, binaries, user, password, durable }: Parameters<typeof prepareCluster>[0]): Promise<void> {
  await removeAbandoned(clusterDir);
  const draft = `${clusterDir}.new-${randomBytes(6).toString('hex')}`;
  const passwordFile = `${draft}-password`;
  try {
    await mkdir(draft, { mode: 0o700 });
    await writeFile(passwordFile, password, { mode: 0o600, flag: 'wx' });
    if (user !== null) for (const path of [draft, passwordFile]) await chown(path, user.uid, user.gid);
    const authentication = ['--auth=scram-sha-256', `--username=${superuser}`, `--pwfile=${passwordFile}`];
    const args = [`--pgdata=${draft}`, '--encoding=UTF8', '--locale=C.UTF-8', ...authentication, ...(durable ? [] : ['--no-sync'])];
    const { code, output } = await runCommand(user, binaries.initdb, args);
    if (code !== 0)
      throw new EmbeddedPostgresError(`no database could be made in ${clusterDir}: ${output.split('\n').slice(-3).join(' ')}`);
    await rename(draft, clusterDir);
  } catch (error) {
    if (error instanceof EmbeddedPostgresError || !(await clusterExists(clusterDir))) throw explained(error, clusterDir);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(draft, { recursive: true, force: true });
  }
}

function explained(error: unknown, clusterDir: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') {
    return new EmbeddedPostgresError(
      `${clusterDir} holds something else than a database: move it away or name another directory in DATA_DIR.`,
    );
  }
  if (error instanceof EmbeddedPostgresError) return error;
  return new EmbeddedPostgresError(`no database could be made in ${clusterDir}: ${message}`, { cause: error });
}

async function removeAbandoned(clusterDir: string): Promise<void> {
  const home = dirname(clusterDir);
  for (const name of await readdir(home)) {
    if (!name.startsWith(`${basename(clusterDir)}.new-`)) continue;
    const { mtimeMs } = await stat(join(home, name));
    if (performance.timeOrigin + performance.now() - mtimeMs > abandonedAfterMs)
      await rm(join(home, name), { recursive: true, force: true });
  }
}

/** PostgreSQL insists on owning its directory alone. A cluster that root copied (from a backup, say) is handed over. */
async function checkOwner(clusterDir: string, user: SystemUser): Promise<void> {
  const found = await stat(clusterDir).catch(() => null);
  if (found === null) return;
  const { uid, mode } = found;
  const expected = user?.uid ?? process.getuid?.();
  if (uid === 0 && user !== null) {
    for (const name of await readdir(clusterDir, { recursive: true })) await lchown(join(clusterDir, name), user.uid, user.gid);
    await chown(clusterDir, user.uid, user.gid);
  } else if (uid !== expected) {
    throw new EmbeddedPostgresError(
      `${clusterDir} belongs to user ${await userNameOf({ uid, gid: 0 })}, not to ${await userNameOf(user)}: start as the former, chown -R it, or name another directory in DATA_DIR.`,
    );
  }
  if ((mode & 0o027) !== 0) await chmod(clusterDir, 0o700);
}

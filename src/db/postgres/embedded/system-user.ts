import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { packageRoot } from '../../../lib/package-root.js';
import { EmbeddedPostgresError } from './error.js';

/** The user that PostgreSQL runs as: null is this process's own; root needs another, because PostgreSQL refuses to run as root. */
export type SystemUser = { readonly uid: number; readonly gid: number } | null;

export type CommandResult = { readonly code: number | string; readonly output: string };

const candidates = ['postgres', 'nobody'];
const created = 'identity-provider';

/** Nothing of this process's environment reaches PostgreSQL: neither its secrets nor PG* variables. */
export const plainEnvironment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** Runs a short command as that user and answers its exit code (or `ENOENT`, `EACCES`, ...) and all it printed. */
export const runCommand = (user: SystemUser, command: string, args: readonly string[]): Promise<CommandResult> =>
  new Promise((resolve) => {
    execFile(command, args, { ...user, env: plainEnvironment, cwd: '/', timeout: 120_000 }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`.trim();
      resolve(error === null ? { code: 0, output } : { code: error.code ?? 1, output: output || error.message });
    });
  });

/**
 * Root starts PostgreSQL as the owner of an existing cluster, else as `postgres`, else as `nobody`, else as a user that was made for it. Anybody else
 * runs it as oneself.
 * @returns undefined when this system has no such user yet
 */
export async function findSystemUser(clusterDir: string): Promise<SystemUser | undefined> {
  if (process.getuid?.() !== 0) return null;
  const owner = await stat(clusterDir).catch(() => null);
  if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of [...candidates, created]) {
    const user = await lookUp(name);
    if (user !== null) return user;
  }
  return undefined;
}

/**
 * The same; without one, a user is made.
 * @throws {EmbeddedPostgresError} when none can be made
 */
export async function chooseSystemUser(clusterDir: string): Promise<SystemUser> {
  const found = await findSystemUser(clusterDir);
  if (found !== undefined) return found;
  await runCommand(null, 'useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', created]);
  const user = await lookUp(created);
  if (user !== null) return user;
  throw new EmbeddedPostgresError(
    `PostgreSQL can't run as root, and this system has neither a user "postgres" nor "nobody", nor could one be added. Start as an ordinary user or set DATABASE_URL.`,
  );
}

async function lookUp(name: string): Promise<SystemUser> {
  const uid = await runCommand(null, 'id', ['-u', name]);
  const gid = await runCommand(null, 'id', ['-g', name]);
  return uid.code === 0 && gid.code === 0 ? { uid: Number(uid.output), gid: Number(gid.output) } : null;
}

/**
 * The topmost of the directories on the way to `directory` (itself included) that the user can't enter, or null.
 * @throws {EmbeddedPostgresError} when no command can be run as that user
 */
export async function closedDirectory(user: SystemUser, directory: string): Promise<string | null> {
  const way = [directory];
  for (let at = directory; dirname(at) !== at; at = dirname(at)) way.unshift(dirname(at));
  const script = 'for each do [ -x "$each" ] || { printf %s "$each"; exit 3; }; done';
  const { code, output } = await runCommand(user, '/bin/sh', ['-c', script, 'sh', ...way]);
  if (code === 0) return null;
  if (code === 3) return output;
  throw new EmbeddedPostgresError(`no command can be run as user ${user?.uid}: ${output}. Start as an ordinary user or set DATABASE_URL.`);
}

export async function userNameOf(user: SystemUser): Promise<string> {
  const uid = user?.uid ?? process.getuid?.() ?? 0;
  const { code, output } = await runCommand(null, 'id', ['-un', String(uid)]);
  return code === 0 ? `"${output}"` : `with id ${uid}`;
}

const isInside = (path: string, directory: string): boolean => !/^\.\.(\/|$)/.test(relative(directory, path));

/** Whether `closed` is above a checkout that is closed as a whole, such as one in root's home, and the directory below that: the database then lies elsewhere. */
export const isClosedCheckout = (directory: string, closed: string): boolean =>
  isInside(directory, packageRoot) && isInside(packageRoot, closed);

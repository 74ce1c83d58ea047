// A root file system to throw away, in which what the doctor prints is run as it stands, and compared with what stood there before.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, copyFileSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Real programs, with the libraries that they need. */
const real = [
  'sh',
  'cat',
  'chgrp',
  'chmod',
  'chown',
  'cp',
  'du',
  'env',
  'grep',
  'install',
  'ls',
  'mkdir',
  'mv',
  'rm',
  'sort',
  'tail',
  'timeout',
  'uname',
];
/** Programs that ask others, or change a machine: they tell what they were asked, and do nothing. */
const asked = ['certbot', 'createdb', 'curl', 'git', 'node', 'npm', 'nvm', 'openssl', 'pg_isready', 'ps', 'psql', 'timedatectl'];

/** The user that the service runs as there, and another one, to whom things belong. */
export const ours = { uid: 64_001, gid: 64_001 };
export const theirs = { uid: 64_002, gid: 64_002 };

/** Whether this machine lets a test change its root: only root may. */
export const canChangeRoot = process.getuid?.() === 0 && process.platform === 'linux' && existsSync('/usr/sbin/chroot');

/** A file of somebody's with a secret in it, and a directory around it. */
function belongings(path: string, { uid, gid }: { uid: number; gid: number }, mode: number): void {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'kept'), 'kept', { mode: 0o600 });
  for (const each of [path, join(path, 'kept')]) chownSync(each, uid, gid);
  chmodSync(path, mode);
}

/** How a command ended, what it printed, and every path that is another one than before. */
export type Ran = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  readonly touched: readonly string[];
};

export class ThrowAwayRoot {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'identity-provider-root-')));

  constructor() {
    chmodSync(this.path, 0o755);
    mkdirSync(this.#at('/bin'), { recursive: true });
    for (const name of real) this.#copyProgram(name);
    for (const name of asked)
      writeFileSync(this.#at(`/bin/${name}`), `#!/bin/sh\nprintf 'asked: ${name}'\nfor each do printf ' [%s]' "$each"; done\necho\n`, {
        mode: 0o755,
      });
    // As whoever the service runs as calls it; what it lets them do, root does here.
    writeFileSync(this.#at('/bin/sudo'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
    writeFileSync(this.#at('/bin/id'), `#!/bin/sh\necho ${ours.uid}\n`, { mode: 0o755 });
    for (const path of ['/dev', '/etc', '/tmp', '/srv']) mkdirSync(this.#at(path));
    writeFileSync(this.#at('/dev/null'), '', { mode: 0o666 });
    belongings(this.#at('/root'), { uid: 0, gid: 0 }, 0o700);
    belongings(this.#at('/var/lib/others'), theirs, 0o755);
    belongings(this.#at('/home/ada'), theirs, 0o711);
    belongings(this.#at('/project'), ours, 0o755);
    chmodSync(this.#at('/tmp'), 0o1777);
  }

  #at(path: string): string {
    return join(this.path, path);
  }

  #copyProgram(name: string): void {
    const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
    copyFileSync(realpathSync(found), this.#at(`/bin/${name}`));
    const { stdout } = spawnSync('ldd', [found], { encoding: 'utf8' });
    for (const [library] of stdout.matchAll(/\/\S+\.so\S*/g)) {
      if (existsSync(this.#at(library))) continue;
      mkdirSync(dirname(this.#at(library)), { recursive: true });
      copyFileSync(realpathSync(library), this.#at(library));
    }
  }

  /** Every path with type, mode, owner and content; what was made, changed or removed shows in the difference of two. */
  state(): Map<string, string> {
    const all = new Map<string, string>();
    const walk = (path: string) => {
      const { mode, uid, gid } = lstatSync(this.#at(path));
      const kind = mode & 0o170000;
      const content =
        kind === 0o100000 ? createHash('sha256').update(readFileSync(this.#at(path))).digest('hex') : kind === 0o120000 ? readlinkSync(this.#at(path)) : ''; // prettier-ignore
      all.set(path, `${mode.toString(8)} ${uid}:${gid} ${content}`);
      if (kind === 0o040000) for (const name of readdirSync(this.#at(path))) walk(join(path, name));
    };
    walk('/');
    // A file here, for want of the right to make a device: what a device is told is gone.
    all.delete('/dev/null');
    return all;
  }

  /** Runs a command as it stands, in the project's directory. */
  run(command: string): Ran {
    const before = this.state();
    const script = `cd /project && set -a && ${command}\n`;
    const { status, signal, stdout, stderr } = spawnSync('/usr/sbin/chroot', [this.path, '/bin/sh', '-c', script], {
      encoding: 'utf8',
      env: { PATH: '/bin', HOME: '/project' },
      timeout: 20_000,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const after = this.state();
    const touched = [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path)).sort();
    return { code: status, signal, output: stdout + stderr, touched };
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

// Whatever the doctor says of a data directory, run as it stands by the user of the service, in a root file system to throw away: nothing but what is ours is another
// one afterwards, and the directory serves. Start and doctor say the same.
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, vi } from 'vitest';
import type { CheckResult, Diagnosis } from '../../src/domain/diagnostics/diagnose.js';
import { programArguments } from '../support/compiled.js';
import { locate, needsRoot } from '../support/programs.js';
import { canChangeRoot, ours, theirs, ThrowAwayRoot } from '../support/throw-away-root.js';

vi.setConfig({ testTimeout: 240_000 });

let root: ThrowAwayRoot;
beforeEach(() => {
  if (canChangeRoot) root = new ThrowAwayRoot();
});
afterEach(() => root?.remove());

/** A program as the user of the service runs it, with a path of the throw-away root as its DATA_DIR. */
async function asService(program: 'main' | 'programs/doctor', path: string, ...args: string[]) {
  const command = await programArguments(program);
  chmodSync(inject('compiled'), 0o755);
  const { status, stdout, stderr } = spawnSync(
    'setpriv',
    [`--reuid=${ours.uid}`, `--regid=${ours.gid}`, '--clear-groups', process.execPath, ...command, ...args],
    { encoding: 'utf8', cwd: join(root.path, 'project'), timeout: 60_000, env: { PATH: process.env['PATH'], DATA_DIR: join(root.path, path), PORT: '0', HOME: '/nonexistent' } }, // prettier-ignore
  );
  // Paths as they are within the root.
  const inside = (text: string) => text.replaceAll(root.path, '');
  return { status, stdout: inside(stdout), stderr: inside(stderr) };
}

async function look(path: string): Promise<CheckResult> {
  const { stdout, stderr } = await asService('programs/doctor', path, '--json', '--check', 'config');
  if (!stdout.startsWith('{')) throw new Error(stderr);
  return (JSON.parse(stdout) as Diagnosis).checks[0] as CheckResult;
}

const at = (path: string) => join(root.path, path);
function make(path: string, { uid, gid }: { uid: number; gid: number }, mode: number): void {
  mkdirSync(at(path), { recursive: true });
  chownSync(at(path), uid, gid);
  chmodSync(at(path), mode);
}

const isUsable = canChangeRoot && spawnSync('setpriv', ['--reuid=64001', '--regid=64001', '--clear-groups', process.execPath, '-e', `require('fs').accessSync(${JSON.stringify(process.cwd())})`]).status === 0; // prettier-ignore
const asRoot = needsRoot(isUsable);

type Case = { readonly path: string; readonly made?: () => void; readonly fix: RegExp; readonly touched: readonly string[] };

const cases: Record<string, Case> = {
  'below a directory of the system': { path: '/var/lib/idp', fix: /^sudo install -d .* \/var\/lib\/idp$/, touched: ['/var/lib/idp'] },
  'several levels below it': {
    path: '/var/lib/company/idp',
    fix: /^sudo install -d .* \/var\/lib\/company\/idp$/,
    touched: ['/var/lib/company', '/var/lib/company/idp'],
  },
  'with a space and a quote in its name': {
    path: "/srv/it's ours",
    fix: /^sudo install -d .* '\/srv\/it'\\''s ours'$/,
    touched: ["/srv/it's ours"],
  },
  'in the closed home of root': { path: '/root/idp', fix: /^DATA_DIR$/, touched: [] },
  'in somebody’s home': { path: '/home/ada/idp', fix: /^sudo install -d .* \/home\/ada\/idp$/, touched: ['/home/ada/idp'] },
  'a directory of the system itself': {
    path: '/var/lib',
    fix: /^sudo install -d .* \/var\/lib\/identity-provider && export DATA_DIR=\/var\/lib\/identity-provider$/,
    touched: ['/var/lib/identity-provider'],
  },
  'somebody’s, with the database of their service': {
    path: '/var/lib/others',
    made: () => writeFileSync(at('/var/lib/others/postgres-secret'), 'x', { mode: 0o600 }),
    fix: /^DATA_DIR$/,
    touched: [],
  },
  'somebody’s, closed': { path: '/var/lib/closed', made: () => make('/var/lib/closed', theirs, 0o700), fix: /^DATA_DIR$/, touched: [] },
  'our own, closed to ourselves': {
    path: '/var/lib/idp',
    made: () => make('/var/lib/idp', ours, 0o500),
    fix: /^chmod u\+rwx \/var\/lib\/idp$/,
    touched: ['/var/lib/idp'],
  },
  'with a secret that root has restored': {
    path: '/var/lib/idp',
    made: () => {
      make('/var/lib/idp', ours, 0o700);
      writeFileSync(at('/var/lib/idp/postgres-secret'), 'x', { mode: 0o600 });
    },
    fix: /^sudo chown -h .+ \/var\/lib\/idp\/postgres-secret$/,
    touched: ['/var/lib/idp/postgres-secret'],
  },
  'with a database that has lost its secret': {
    path: '/var/lib/idp',
    made: () => {
      make('/var/lib/idp', ours, 0o700);
      make('/var/lib/idp/postgres', ours, 0o700);
      writeFileSync(at('/var/lib/idp/postgres/PG_VERSION'), '18');
      chownSync(at('/var/lib/idp/postgres/PG_VERSION'), ours.uid, ours.gid);
    },
    fix: /^DATA_DIR$/,
    touched: [],
  },
  'a file': { path: '/project/kept', fix: /^DATA_DIR=\.data$/, touched: [] },
  'below a file': { path: '/project/kept/idp', fix: /^DATA_DIR=\.data$/, touched: [] },
  'a link that leads nowhere': {
    path: '/project/away',
    made: () => symlinkSync('/nowhere/at/all', at('/project/away')),
    fix: /^DATA_DIR=\.data$/,
    touched: [],
  },
};

asRoot.each(Object.entries(cases))('DATA_DIR %s: the fix touches nothing but what is ours, and the start says it too (attack 34.1030)', async (_name, one) => {
  one.made?.();
  const found = await look(one.path);
  expect([found.level, found.fix]).toEqual(['problem', expect.stringMatching(one.fix)]);
  const start = await asService('main', one.path);
  expect([start.status, start.stderr]).toEqual([78, expect.stringContaining(found.finding)]);
  if (found.look !== null) expect(root.run(found.look).touched).toEqual([]);
  if (found.fix === 'DATA_DIR') return;
  const { code, output, touched } = root.run(found.fix ?? '');
  expect([code, output, touched]).toEqual([0, '', one.touched]);
  const named = /DATA_DIR=(\S+)$/.exec(found.fix ?? '')?.[1] ?? one.path;
  expect((await look(named.startsWith('/') ? named : join('/project', named))).level).toBe('ok');
}); // prettier-ignore

asRoot('one that the kernel shows itself in, where making one hangs, ends the start within seconds', async () => {
  for (const path of ['/proc/none/data', '/sys/data', '/proc/self']) {
    const began = performance.now();
    const command = [...(await programArguments('main'))];
    const env = { PATH: process.env['PATH'], DATA_DIR: path, PORT: '0' };
    const { status, stderr } = spawnSync(process.execPath, command, { env, encoding: 'utf8', timeout: 60_000 });
    expect([status, stderr]).toEqual([78, expect.stringContaining("is the kernel's own")]);
    expect(performance.now() - began).toBeLessThan(20_000);
  }
});

/**
 * Names of programs that stand before those of the system, as far as the service looks for them: each writes down that it was run, and fails. So none of
 * the users that PostgreSQL could run as is known.
 */
const witnessed = `
set -e
for name in $(ls /usr/sbin /usr/bin | grep -v '[/:]' | sort -u); do ln -s witness "$1/$name"; done
printf '#!/bin/sh\\necho "\${0##*/} $*" >>"%s/run"\\nexit 1\\n' "$2" >"$1/witness"
chmod 755 "$1/witness"
mount --bind "$1" /usr/local/sbin
shift 2
exec "$@"
`;

needsRoot(isUsable && existsSync('/usr/local/sbin'))('what the doctor runs itself only looks: no user is added, and no file is another one (attack 34.1111)', async () => {
  const [programs, notes] = ['/bin-first', '/notes'].map(at) as [string, string];
  for (const path of [programs, notes]) mkdirSync(path);
  const command = [process.execPath, ...(await programArguments('programs/doctor')), '--json'];
  const env = { PATH: process.env['PATH'], DATA_DIR: at('/var/lib/idp'), PORT: '0' };
  const before = root.state();
  const { stdout, stderr } = spawnSync('unshare', ['--mount', 'sh', '-c', witnessed, 'sh', programs, notes, ...command], { encoding: 'utf8', timeout: 120_000, env }); // prettier-ignore
  expect([stderr, Object.keys(JSON.parse(stdout) as Diagnosis)]).toEqual(['', ['status', 'checks']]);
  const after = root.state();
  const mine = ['/bin-first', '/notes'];
  const touched = [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path) && !mine.some((one) => path.startsWith(one)));
  expect(touched).toEqual([]);
  const ran = readFileSync(join(notes, 'run'), 'utf8').trim().split('\n');
  expect([...new Set(ran.map((line) => line.split(' ')[0]))]).toEqual(['id']);
  expect(ran).toContain('id -u identity-provider');
}); // prettier-ignore

/** A file system whose server never answers, as that of a dead network mount; it goes with the process that has made it. */
const deadMount = `
import ctypes, os, sys
device = os.open('/dev/fuse', os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f'fd={device},rootmode=40000,user_id=0,group_id=0'.encode()
if libc.mount(b'dead', sys.argv[1].encode(), b'fuse', 0, options) != 0: sys.exit(99)
import subprocess
ended = subprocess.run(sys.argv[2:], capture_output=True, text=True, timeout=60)
sys.stderr.write(ended.stderr); sys.stdout.write(ended.stdout)
sys.stdout.flush(); sys.stderr.flush()
os._exit(ended.returncode)
`;

needsRoot(isUsable && existsSync('/dev/fuse') && locate('python3') !== null)(
  'a dead mount ends the start and every command within seconds, and the doctor in its time; all say so',
  async () => {
    mkdirSync(at('/mnt'));
    const onDeadMount = async (program: Parameters<typeof programArguments>[0], ...args: string[]) => {
      const began = performance.now();
      const command = [process.execPath, ...(await programArguments(program)), ...args];
      const ended = spawnSync('unshare', ['--mount', 'python3', '-c', deadMount, at('/mnt'), ...command], {
        encoding: 'utf8',
        timeout: 120_000,
        env: { PATH: process.env['PATH'], DATA_DIR: at('/mnt/data'), PORT: '0' },
      });
      return { ...ended, ms: performance.now() - began };
    };
    const start = await onDeadMount('main');
    expect([start.status, start.stderr]).toEqual([78, expect.stringContaining('what is mounted there hangs')]);
    expect(start.ms).toBeLessThan(20_000);
    const commands = [['backup', 'x'], ['restore', 'x'], ['migrate'], ['migrate', '--plan'], ['rekey', '--status'], ['rekey']] as const;
    for (const [name, ...args] of commands) {
      const { status, stderr } = await onDeadMount(`programs/${name}`, ...args);
      expect([name, status, stderr]).toEqual([name, 78, expect.stringContaining('what is mounted there hangs')]);
    }
    const doctor = await onDeadMount('programs/doctor', '--json');
    const { checks } = JSON.parse(doctor.stdout) as Diagnosis;
    expect(checks.filter(({ id }) => id === 'config')).toMatchObject([
      { level: 'problem', finding: expect.stringContaining('hangs') as unknown },
    ]);
    expect(doctor.ms).toBeLessThan(30_000);
  },
);

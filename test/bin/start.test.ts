// How the service is started: by the script itself, with a program in the place of dist/main.js that tells how it was started.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { directoryOfTest } from '../support/temporary-directory.js';

const settings = ['--max-semi-space-size=16', '--heap-growing-percent=50', '--no-allocation-site-pretenuring'];

const program = `
  const { pid, execArgv, env } = process;
  const { readdirSync } = require('node:fs');
  const { getPriority } = require('node:os');
  const priorities = process.platform === 'linux' ? readdirSync('/proc/self/task').map((thread) => [Number(thread), getPriority(Number(thread))]) : [];
  process.on('SIGTERM', () => process.exit(0));
  setInterval(() => undefined, 60_000);
  console.log(JSON.stringify({ pid, options: execArgv, tunables: env.GLIBC_TUNABLES, priorities }));
`;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A directory with the script in `bin/`, the telling program in `dist/` and whatever else is asked for. */
async function prepare(): Promise<string> {
  const directory = directoryOfTest();
  for (const name of ['bin', 'dist', 'old']) await mkdir(join(directory, name));
  for (const name of ['start.sh', 'thread-priority.cjs']) await copyFile(`bin/${name}`, join(directory, 'bin', name));
  await writeFile(join(directory, 'dist/main.js'), program);
  return directory;
}

type Told = {
  readonly pid: number;
  readonly options: string[];
  readonly tunables: string;
  readonly priorities: [thread: number, priority: number][];
};

async function start(
  directory: string,
  path: string,
  ...options: string[]
): Promise<{ child: ChildProcess; told: Told; warnings: string[] }> {
  const child = spawn('sh', ['bin/start.sh', ...options], {
    cwd: directory,
    env: { PATH: [path, process.env['PATH']].join(delimiter) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  cleanups.push(() => child.kill('SIGKILL'));
  const warnings: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => warnings.push(line));
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, told: JSON.parse(line) as Told, warnings };
}

const ownNode = dirname(process.execPath);

test('Node takes the place of the shell, with the settings that keep memory small, and gets the signals (specification 1.2.3)', async () => {
  const { child, told, warnings } = await start(await prepare(), ownNode, '--stack-trace-limit=20');
  expect(told).toEqual({
    pid: child.pid,
    priorities: expect.anything() as unknown,
    options: [
      ...settings,
      '--enable-source-maps',
      '--require',
      expect.stringMatching(/^\/.*\/bin\/thread-priority\.cjs$/),
      '--stack-trace-limit=20',
    ],
    tunables: 'glibc.malloc.mmap_threshold=8388608:glibc.malloc.hugetlb=1:glibc.malloc.arena_max=2',
  });
  expect(warnings).toEqual([]);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('an option that this Node does not know is left out, and said so; the others stay', async () => {
  const directory = await prepare();
  // A Node that ends at one of the options as Node does at any that it doesn't know.
  const node = `#!/bin/sh
for argument; do
  case $argument in --heap-growing-percent*) echo "bad option: $argument" >&2; exit 9 ;; esac
done
exec '${process.execPath}' "$@"
`;
  await writeFile(join(directory, 'old/node'), node, { mode: 0o755 });
  const { child, told, warnings } = await start(directory, join(directory, 'old'));
  expect(told).toMatchObject({
    pid: child.pid,
    options: [settings[0], settings[2], '--enable-source-maps', '--require', expect.any(String)],
  });
  await expect.poll(() => warnings).toEqual([expect.stringContaining(`${process.version} does not know --heap-growing-percent=50`)]);
});

test('the threads that hash and sign leave the processor to the event loop, and nothing else does', async () => {
  const { child, told, warnings } = await start(await prepare(), ownNode);
  // Elsewhere than on Linux they stay as they are. V8's own threads, which collect garbage for the event loop, keep their priority everywhere.
  const own = process.platform === 'linux' ? [child.pid, 0] : undefined;
  const inPool = process.platform === 'linux' ? 4 : 0;
  expect(told.priorities.find(([thread]) => thread === child.pid)).toEqual(own);
  expect(told.priorities.filter(([, priority]) => priority === 5)).toHaveLength(inPool);
  expect(told.priorities.filter(([, priority]) => priority === 0)).toHaveLength(told.priorities.length - inPool);
  expect(warnings).toEqual([]);
});

test('it is found by its own path: from another directory, with spaces in it, and whatever CDPATH says', async () => {
  const directory = join(await prepare(), 'a place');
  const elsewhere = join(directory, 'elsewhere');
  for (const name of ['bin', 'dist', 'elsewhere/bin']) await mkdir(join(directory, name), { recursive: true });
  for (const name of ['bin/start.sh', 'bin/thread-priority.cjs', 'dist/main.js'])
    await copyFile(join(directory, '..', name), join(directory, name));
  const started = async (cwd: string, script: string, CDPATH?: string) => {
    const child = spawn('sh', [script], { cwd, env: { PATH: [ownNode, process.env['PATH']].join(delimiter), ...(CDPATH && { CDPATH }) } });
    cleanups.push(() => child.kill('SIGKILL'));
    const [said] = (await Promise.race([once(createInterface({ input: child.stdout }), 'line'), once(child, 'close')])) as [unknown];
    return typeof said === 'string' ? (JSON.parse(said) as Told).options.at(-1) : said;
  };
  const own = join(await realpath(directory), 'bin/thread-priority.cjs');
  expect(await started(elsewhere, '../bin/start.sh')).toBe(own);
  expect(await started(directory, 'bin/start.sh', '.')).toBe(own);
  expect(await started(directory, 'bin/start.sh', elsewhere)).toBe(own);
});

test('npm start and the image start it that way', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> };
  expect(scripts['start']).toBe('exec sh bin/run.sh start');
  expect(await readFile('Dockerfile', 'utf8')).toContain('CMD ["sh", "bin/start.sh"]');
});

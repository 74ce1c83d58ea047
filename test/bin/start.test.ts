// How the service is started: by the script itself, with a program in the place of dist/main.js that tells how it was started.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';

const settings = ['--max-semi-space-size=8', '--heap-growing-percent=50', '--no-allocation-site-pretenuring'];

const program = `
  const { pid, execArgv, env } = process;
  process.on('SIGTERM', () => process.exit(0));
  setInterval(() => undefined, 60_000);
  console.log(JSON.stringify({ pid, options: execArgv, tunables: env.GLIBC_TUNABLES }));
`;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A directory with the script in `bin/`, the telling program in `dist/` and whatever else is asked for. */
async function prepare(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'identity-provider-start-'));
  cleanups.push(() => rm(directory, { recursive: true, force: true }));
  for (const name of ['bin', 'dist', 'old']) await mkdir(join(directory, name));
  await copyFile('bin/start.sh', join(directory, 'bin/start.sh'));
  await writeFile(join(directory, 'dist/main.js'), program);
  return directory;
}

type Told = { readonly pid: number; readonly options: string[]; readonly tunables: string };

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
    options: [...settings, '--stack-trace-limit=20'],
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
  expect(told).toMatchObject({ pid: child.pid, options: [settings[0], settings[2]] });
  await expect.poll(() => warnings).toEqual([expect.stringContaining(`${process.version} does not know --heap-growing-percent=50`)]);
});

test('npm start and the image start it that way', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> };
  expect(scripts['start']).toBe('exec sh bin/start.sh');
  expect(await readFile('Dockerfile', 'utf8')).toContain('CMD ["sh", "bin/start.sh"]');
});

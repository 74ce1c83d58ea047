// The service and its tests under other releases of Node: `npm run test:node -- 22 24`, with `--all` the whole suite instead of the short part.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { startUp } from './start-up.js';

/** What leans on private parts of Node, `pg`, Knex and Express (docs/how-to/upgrading.md), beside everything that needs no database. */
const shortPart = [
  'test/db/connection/statements',
  'test/db/migrations/migrate.test.ts',
  'test/db/connection/private-parts.test.ts',
  'test/oauth/token.test.ts',
  'test/oauth/userinfo-discovery.test.ts',
];

/** Runs a program to its end. @throws {Error} when it fails */
async function run(command: string, args: readonly string[], environment: Record<string, string> = {}): Promise<void> {
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...environment } });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
}

/** Fetches a release line of Node from npm, once. @returns the directory of its program */
async function fetchNode(major: string): Promise<string> {
  const prefix = resolve('node_modules/.cache', `node-${major}`);
  const directory = join(prefix, 'node_modules/node/bin');
  if (await access(join(directory, 'node')).then(() => true, () => false)) return directory; // prettier-ignore
  await mkdir(prefix, { recursive: true });
  await run('npm', ['install', '--silent', '--no-save', '--no-package-lock', '--prefix', prefix, `node@${major}`]);
  await access(join(directory, 'node'));
  return directory;
}

const words = process.argv.slice(2);
const majors = words.filter((word) => /^\d+$/.test(word));
const all = words.includes('--all');
if (majors.length === 0 || words.some((word) => word !== '--all' && !majors.includes(word))) {
  console.error('usage: npm run test:node -- <major release> ... [--all]');
  process.exit(64);
}
for (const major of majors) {
  const directory = await fetchNode(major);
  const node = join(directory, 'node');
  const path = [directory, process.env['PATH'] ?? ''].join(delimiter);
  const vitest = [resolve('node_modules/vitest/vitest.mjs'), 'run', '--reporter=dot', '--retry=2'];
  await run(node, all ? vitest : [...vitest, '--project', 'unit'], { PATH: path });
  if (!all) await run(node, [...vitest, '--project', 'service', ...shortPart], { PATH: path });
  console.log(await startUp(node, path));
}

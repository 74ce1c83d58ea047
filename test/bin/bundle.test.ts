// What `npm run build` writes, from small sources: programs that run, beside processes of a former build and beside other builds.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';

const bundler = resolve('bundle.mjs');
const day = 24 * 60 * 60 * 1000;

let project: string;
let child: ChildProcess | null = null;

const sources = {
  'package.json': '{"type": "module"}',
  'node_modules/tool/package.json': '{"name": "tool", "type": "module", "exports": "./tool.js"}',
  'node_modules/tool/tool.js': 'export const tool = "as installed";',
  'src/lib/shared.ts': 'export const shared: string = "shared";',
  'src/lib/later.ts': 'import { shared } from "./shared.js"; export const later = `${shared}, first`;',
  'src/main.ts': `import { createInterface } from 'node:readline';
    import { tool } from 'tool';
    import { shared } from './lib/shared.js';
    console.log(shared, tool);
    for await (const _ of createInterface({ input: process.stdin })) console.log((await import('./lib/later.js')).later);`,
  'src/programs/other.ts': 'import { shared } from "../lib/shared.js"; console.log("other", shared);',
};

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), text);
  }
}

const bundle = (...words: string[]) => spawnSync(process.execPath, [bundler, ...words], { cwd: project, encoding: 'utf8' });
const run = (program: string, input = '') => spawnSync(process.execPath, [join(project, program)], { encoding: 'utf8', input }).stdout;
const chunks = () => readdirSync(join(project, 'dist/chunks')).map((name) => join(project, 'dist/chunks', name));
const chunkWith = (text: string) => chunks().find((path) => path.endsWith('.js') && readFileSync(path, 'utf8').includes(text)) ?? '';

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'identity-provider-bundle-'));
  write(sources);
});

afterEach(() => {
  child?.kill('SIGKILL');
  child = null;
  rmSync(project, { recursive: true, force: true });
});

test('main and each file of src/programs are programs, which share what they have in common; packages stay where they are', () => {
  expect(bundle()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  expect(run('dist/main.js', '\n')).toBe('shared as installed\nshared, first\n');
  expect(run('dist/programs/other.js')).toBe('other shared\n');
  const built = readdirSync(join(project, 'dist'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'));
  const texts = built.map((name) => readFileSync(join(project, 'dist', name), 'utf8'));
  expect(texts.filter((text) => text.includes('var shared = "shared"'))).toHaveLength(1);
  expect(texts.filter((text) => text.includes('as installed'))).toEqual([]);
  // Another directory than dist/, on request.
  expect(bundle('elsewhere/made').status).toBe(0);
  expect(run('elsewhere/made/programs/other.js')).toBe('other shared\n');
});

test('a process imports on demand what it was built with, though there have been builds since', async () => {
  bundle();
  child = spawn(process.execPath, [join(project, 'dist/main.js')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('shared as installed');
  write({ 'src/lib/later.ts': 'import { shared } from "./shared.js"; export const later = `${shared.length}, second`;' });
  expect(bundle().status).toBe(0);
  child.stdin?.write('\n');
  expect((await lines.next()).value).toBe('shared, first');
  expect(run('dist/main.js', '\n')).toBe('shared as installed\n6, second\n');
});

test('chunks that no build has made for a week go', () => {
  bundle();
  const [first, common] = [chunkWith('first'), chunkWith('var shared')];
  write({ 'src/lib/later.ts': 'export const later = "second";' });
  bundle();
  const age = (path: string, days: number) => utimesSync(path, new Date(), new Date(Date.now() - days * day));
  for (const path of chunks()) age(path, 6.9);
  bundle();
  expect([existsSync(first), existsSync(`${first}.map`)]).toEqual([true, true]);
  for (const path of chunks()) age(path, 7.1);
  bundle();
  expect([existsSync(first), existsSync(`${first}.map`)]).toEqual([false, false]);
  // What is still made is as good as new.
  expect(Date.now() - statSync(common).mtimeMs).toBeLessThan(day);
  expect(run('dist/main.js', '\n')).toBe('shared as installed\nsecond\n');
});

test('nobody sees half of a build, whether one or several are at work', async () => {
  bundle();
  const builds = Array.from({ length: 3 }, () => spawn(process.execPath, [bundler], { cwd: project, stdio: 'inherit' }));
  const ended = Promise.all(builds.map(async (build) => ((await once(build, 'exit')) as [number])[0]));
  let working = true;
  void ended.finally(() => (working = false));
  const seen = new Set<string>();
  while (working) {
    const reader = spawn(process.execPath, [join(project, 'dist/main.js')], { stdio: ['pipe', 'pipe', 'inherit'] });
    reader.stdin.end('\n');
    let text = '';
    for await (const piece of reader.stdout) text += String(piece);
    seen.add(text);
  }
  expect(await ended).toEqual([0, 0, 0]);
  expect([...seen]).toEqual(['shared as installed\nshared, first\n']);
  expect(readdirSync(join(project, 'dist'), { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('draft'))).toEqual([]);
});

test('sources that nothing can be made of are named, and what is there stays', () => {
  bundle();
  write({ 'src/main.ts': 'import "./absent.js";' });
  const { status, stderr } = bundle();
  expect(status).toBe(1);
  expect(stderr).toContain('src/main.ts:1:7');
  expect(run('dist/main.js', '\n')).toBe('shared as installed\nshared, first\n');
});

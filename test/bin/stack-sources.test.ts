// Stacks of a built file, beside those of Node's own --enable-source-maps.
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { directoryOfTest } from '../support/temporary-directory.js';

const run = promisify(execFile);
const ours = ['--require', join(process.cwd(), 'bin/stack-sources.cjs')];

const source = `// a line that is not built
type Words = { readonly words: string };

class Refused extends TypeError {
  override name = 'Refused';
}

const refuse = ({ words }: Words): never => {
  throw new Refused(words);
};

function caught(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    console.log((error as Error).stack);
  }
}

caught(() => refuse({ words: 'two\\nlines' }));
caught(() => JSON.parse('no'));
caught(() => [1].map(() => new Proxy({}, { get: () => refuse({ words: '$& $1' }) }) as Words).map(({ words }) => words));
console.log(new Error('outer', { cause: new Error('inner') }));
await Promise.reject(new Refused('nobody caught it'));
`;

/** What a program writes, and with which code it ends. */
async function told(options: readonly string[], directory: string): Promise<{ code: unknown; stdout: string; stack: string }> {
  const { code, stdout, stderr } = (await run(process.execPath, [...options, join(directory, 'dist/main.js')]).catch(
    (error: unknown) => error,
  )) as { code?: number; stdout: string; stderr: string };
  return { code, stdout, stack: stderr.slice(stderr.indexOf('Refused:')) };
}

async function built(): Promise<string> {
  const directory = directoryOfTest();
  await mkdir(join(directory, 'src'));
  await writeFile(join(directory, 'src/main.ts'), source);
  const output = { outdir: join(directory, 'dist'), format: 'esm', sourcemap: true, sourcesContent: false } as const;
  await build({ entryPoints: [join(directory, 'src/main.ts')], ...output });
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }');
  return directory;
}

test('stacks name the sources as Node does with --enable-source-maps', async () => {
  const directory = await built();
  const own = await told(ours, directory);
  const nodes = await told(['--enable-source-maps'], directory);
  // What has no name it calls "<anonymous>" where it has a map.
  const nameless = (stack: string) => stack.replaceAll(/at <anonymous> \((.*)\)$/gm, 'at $1');
  expect(own).toEqual({ ...nodes, stdout: nameless(nodes.stdout), stack: nameless(nodes.stack) });
  expect(own.code).toBe(1);
  expect(own.stdout).toContain(`    at refuse (${directory}/src/main.ts:9:9)\n`);
});

test('without its map a stack names the built file', async () => {
  const directory = await built();
  await rm(join(directory, 'dist/main.js.map'));
  const { code, stdout } = await told(ours, directory);
  expect(code).toBe(1);
  expect(stdout).toMatch(/ {4}at refuse \(file:.*\/dist\/main\.js:\d+:\d+\)\n/);
});

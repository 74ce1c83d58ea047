import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** A directory for what the tests of this run compile. */
    compiled: string;
  }
}

/** The project beside the compiled files: what they look for, by their place in it. */
export const beside = ['data', 'docs', 'examples', 'migrations', 'node_modules', 'package.json', 'public', 'views'];

/** A directory of this run; it is empty until a test wants a process. */
export function setup(project: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'identity-provider-compiled-'));
  project.provide('compiled', directory);
  return () => rmSync(directory, { recursive: true, force: true });
}

/**
 * What `node` is to be started with to run a program of `src/`, named without its ending. In a test run that is what `npm run build` makes of it,
 * compiled by the first test that asks: it starts in less than half the time. Scripts run the sources.
 */
export async function programArguments(
  name: 'main' | `programs/${'backup' | 'cli' | 'demo' | 'docs' | 'doctor' | 'migrate' | 'rekey' | 'restore' | 'sbom' | 'seed' | 'texts'}`,
): Promise<string[]> {
  if (process.env['VITEST'] === undefined) return ['--import', 'tsx', `src/${name}.ts`];
  return ['--enable-source-maps', join(await compiled(inject('compiled')), `${name}.js`)];
}

async function compiled(directory: string): Promise<string> {
  const dist = join(directory, 'dist');
  if (existsSync(dist)) return dist;
  if (claim(join(directory, 'claimed'))) compile(directory, dist);
  while (!existsSync(dist)) {
    if (existsSync(join(directory, 'failed'))) throw new Error('the sources were not compiled: see the first failure');
    await delay(50);
  }
  return dist;
}

/** Whether this process made the directory, and no other one before it. */
function claim(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'EEXIST') return false;
    throw error;
  }
}

function compile(directory: string, dist: string): void {
  for (const name of beside) symlinkSync(resolve(name), join(directory, name));
  const draft = join(directory, 'draft');
  // Types are checked elsewhere.
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bundle.mjs', draft], { encoding: 'utf8' });
  if (status !== 0) {
    mkdirSync(join(directory, 'failed'));
    throw new Error(`the sources were not compiled:\n${stdout}${stderr}`);
  }
  renameSync(draft, dist);
}

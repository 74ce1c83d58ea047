import { test, type TestAPI } from 'vitest';
import { needs, pathOf } from './programs.js';

/** What runs the typed client: `test` for tests of it, and the command before the path of a program. Deno is allowed what the client needs, and no more. */
export const runtimes: readonly {
  readonly name: string;
  readonly test: () => TestAPI;
  readonly command: () => readonly [string, ...string[]];
}[] = [
  { name: 'Node', test: () => test, command: () => [process.execPath] },
  { name: 'Bun', test: () => needs('bun'), command: () => [pathOf('bun'), 'run'] },
  { name: 'Deno', test: () => needs('deno'), command: () => [pathOf('deno'), 'run', '--no-prompt', '--allow-net', '--allow-env'] },
];

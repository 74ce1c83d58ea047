import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test, TestRunner, type TestAPI } from 'vitest';
import { earlierRelease } from './earlier-release.js';

declare module 'vitest' {
  interface TaskMeta {
    /** Of a file: the programs (or the history) that some of its tests are skipped for want of. */
    absent?: string[];
  }
}

/** What some tests run beside the service. `.ci/run` installs all of them. */
export const programs = [
  'bun',
  'chromium',
  'chromium-headless-shell',
  'deno',
  'faketime',
  'go',
  'haproxy',
  'nginx',
  'pgbouncer',
  'php',
  'prlimit',
  'python3',
  'redis-server',
  'ruby',
  'xmlsec1',
] as const;
export type Program = (typeof programs)[number];

/** Debian keeps servers where only root's PATH looks. */
const alsoIn = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The path of an installed program, on `PATH` or among the system's servers; null when it isn't installed. */
export function locate(program: Program): string | null {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '');
  return [...directories, ...alsoIn].map((directory) => join(directory, program)).find(isExecutable) ?? null;
}

/** The path of a program that the test said it {@link needs}. */
export function pathOf(program: Program): string {
  const path = locate(program);
  if (path === null) throw new Error(`${program} is not installed; .ci/run installs it`);
  return path;
}

function failForWantOf(program: Program): void {
  test(`${program} is installed`, () => expect.fail('it is not; .ci/run installs it'));
}

/**
 * `test` for tests that need a program: without it they are skipped, and the summary of the run names it. With `CI` set, where nothing may
 * be skipped, its absence is a failure.
 */
export function needs(program: Program): TestAPI {
  if (locate(program) !== null) return test;
  if (process.env['CI']) failForWantOf(program);
  return skippedFor(program);
}

function skippedFor(what: string): TestAPI {
  const file = TestRunner.getCurrentSuite().file;
  if (file) file.meta.absent = [...new Set([...(file.meta.absent ?? []), what])];
  return test.skip as TestAPI;
}

/** `test` for tests that change users and roots, which only root may: elsewhere they are skipped, and the end of the run says so. */
export const needsRoot = (able: boolean): TestAPI => (able ? test : skippedFor('root'));

/** `test` for tests that run the release before beside this one: skipped in a tarball and in a shallow clone, whose history ends too early (`.ci/run` knows). */
export const needsHistory = (): TestAPI => (earlierRelease() === null ? skippedFor('the history of the repository') : test);

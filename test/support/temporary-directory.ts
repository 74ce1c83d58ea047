import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

const make = () => mkdtempSync(join(tmpdir(), 'identity-provider-test-'));
const remove = (path: string) => () => rm(path, { recursive: true, force: true });

/** An empty directory of a file's tests, which goes after the last of them. */
export function directoryOfFile(): string {
  const path = make();
  afterAll(remove(path));
  return path;
}

/** An empty directory of the running test. */
export function directoryOfTest(): string {
  const path = make();
  onTestFinished(remove(path));
  return path;
}

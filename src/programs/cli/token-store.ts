import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createAdjustableClock } from '../../platform/clock.js';
import { CliError } from './api.js';

/** Tokens that a command left for the next one. */
export type StoredToken = {
  readonly url: string;
  readonly access_token: string;
  /** ISO 8601. */
  readonly expires_at: string;
  readonly refresh_token?: string;
};

/** Where they are, `$XDG_CONFIG_HOME/idp` or `~/.config/idp`; null: there is no home, and nothing is remembered. */
export function storeOf(variables: Readonly<NodeJS.ProcessEnv>): string | null {
  const home = variables['HOME'] ?? variables['USERPROFILE'];
  const config = variables['XDG_CONFIG_HOME'] || (home && join(home, '.config'));
  return config ? join(config, 'idp') : null;
}

/** When a token ends that lasts so many seconds. */
export const endIn = (seconds: number): string => new Date(createAdjustableClock().now().getTime() + 1000 * seconds).toISOString();

const isAbsent = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** @throws {CliError} when others of the machine could have read or written it */
export function readStoredToken(path: string): StoredToken | null {
  try {
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      throw new CliError(`${path} is open to others: chmod 600 it, or delete it and sign in again`);
    return JSON.parse(readFileSync(path, 'utf8')) as StoredToken;
  } catch (error) {
    if (isAbsent(error) || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Nobody else may read it, and nobody sees half of it. */
export function writeToken(path: string, token: StoredToken): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, JSON.stringify(token), { mode: 0o600, flag: 'wx' });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
}

export const forgetToken = (path: string): void => rmSync(path, { force: true });

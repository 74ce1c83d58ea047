// What the trial of a guide is, and where the versions that ran are read.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Visit } from './browser.js';
import type { Service } from './service.js';

/** A guide whose application is run. */
export type Trial = {
  /** Of its folder in `examples/clients` and its page in `docs/guides`. */
  readonly name: string;
  readonly title: string;
  /** Without which it can't be run, as paths or names on PATH. */
  readonly programs: readonly string[];
  /** The library takes no issuer on plain http. */
  readonly scheme?: 'https';
  /** Where it listens once it is up; null for a command that prints the address to open and ends after the sign-in. */
  readonly url: string | null;
  /** For a command: the address that it prints has a code in it, which the person sends off and then allows (RFC 8628). */
  readonly typesCode?: true;
  /** What a person does there; null for an API. */
  readonly visit: Visit | null;
  /** What the guide has created beside the client. */
  readonly prepare?: (service: Service, clientId: string) => Promise<void>;
  /** What is tried beside the person's visit, while the application runs. */
  readonly check?: (service: Service, variables: Readonly<Record<string, string>>) => Promise<void>;
  /** The version that ran, from what was installed. */
  version(directory: string): Promise<string>;
  /** What the run shows, for the table. */
  readonly shows: string;
};

/** Of an npm package. */
export const fromPackage = (name: string) => async (directory: string) =>
  (JSON.parse(await readFile(join(directory, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version;

/** The first group of a pattern, in a file of the application. */
export const found =
  (pattern: RegExp, ...path: string[]) =>
  async (directory: string) =>
    pattern.exec(await readFile(join(directory, ...path), 'utf8'))?.[1] ?? 'unknown';

/** Of a Debian package. */
export const installedPackage = (name: string) => async () =>
  (await promisify(execFile)('dpkg-query', ['--show', '--showformat=${Version}', name])).stdout;

export const signInAndOut = 'sign in, name and email address, sign out';

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspectConfig } from '../../config.js';
import { packageRoot } from '../../lib/package-root.js';
import type { Deps } from '../context.js';
import type { Installation } from './installation.js';

/** The version of this release, from package.json. */
export const ownRelease = (): string =>
  (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }).version;

/** What the doctor is told of the program that asks: where it runs, and how others are started there. An image has no compiler, hence no `npm run`. */
export function ownSurroundings(): Pick<Installation, 'release' | 'node' | 'command'> {
  const builds = existsSync(join(packageRoot, 'node_modules/.bin/tsc'));
  return {
    release: ownRelease(),
    node: process.versions.node,
    command: (program, args) => {
      const call = builds ? `npm run -s ${program}${args === undefined ? '' : ' --'}` : `node dist/programs/${program}.js`;
      return args === undefined ? call : `${call} ${args}`;
    },
  };
}

/** The service that this process is part of. Its configuration was sound when it started; names that nobody reads it has all the same. */
export function installationOf(deps: Pick<Deps, 'config' | 'clock' | 'net' | 'crypto' | 'db'>): Installation {
  const { config, clock } = deps;
  const { fetch } = deps.net;
  const { passwords, sealer } = deps.crypto;
  const { knex } = deps.db;
  const variables = { problems: [], nearby: inspectConfig().nearby };
  return { config, variables, clock, fetch, passwords, database: { knex, sealer }, ...ownSurroundings() };
}

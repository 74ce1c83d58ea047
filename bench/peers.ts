import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const directory = fileURLToPath(new URL('./peers/', import.meta.url));
const require = createRequire(new URL('./peers/package.json', import.meta.url));

/** A package of `bench/peers`, which has a lock file of its own. */
export const peer = (name: string): unknown => require(name);

/** Installs what `bench/peers/package.json` names, unless it is there. Returns whether it is there now. */
export function installPeers(): boolean {
  if (existsSync(`${directory}node_modules/.package-lock.json`)) return true;
  console.error('... npm ci in bench/peers');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: directory,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return status === 0;
}

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readlink, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../support/service.js';

const client = { id: 'start-up', secret: 'a-secret-of-the-start-up-test' };

/**
 * Starts the built service as `npm start` does, on a PostgreSQL that it brings along; it must sign a token, know all options and end in
 * order. @returns what was seen, in a sentence
 */
export async function startUp(node: string, path: string): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'identity-provider-node-'));
  const port = await freePort();
  const started = performance.now();
  const child = spawn('sh', ['bin/start.sh'], {
    env: {
      PATH: path,
      PORT: String(port),
      DATA_DIR: dataDir,
      LOG_FORMAT: 'json',
      MANAGEMENT_CLIENT_ID: client.id,
      MANAGEMENT_CLIENT_SECRET: client.secret,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    const exited = once(child, 'exit');
    const log: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
    await new Promise<void>((ready, failed) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        log.push(line);
        if (line.includes('ready at')) ready();
      });
      void exited.then(() => failed(new Error(`it ended before it was ready:\n${log.join('\n')}`)));
    });
    const seconds = (performance.now() - started) / 1000;
    assert.equal(await readlink(`/proc/${child.pid}/exe`), await realpath(node));
    const token = await fetch(`http://localhost:${port}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: `http://localhost:${port}/api` }),
    });
    assert.equal(token.status, 200, await token.text());
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    const odd = log.filter((line) => !line.startsWith('{') || /Warning|does not know/.test(line));
    assert.deepEqual(odd, [], 'nothing is said but the log, and no option is left out');
    return `started under ${node} in ${seconds.toFixed(1)} s, signed a token, ended with 0`;
  } finally {
    child.kill('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  }
}

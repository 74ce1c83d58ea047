// Backup and restore of the embedded database: while the service runs on it, while it is stopped, and in another DATA_DIR.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { programArguments } from '../support/compiled.js';
import { managementClient } from '../support/management.js';
import { tokenRequest } from '../support/oauth.js';
import { runProgram } from '../support/program.js';
import { freePort } from '../support/service.js';
import { directoryOfFile } from '../support/temporary-directory.js';

const home = directoryOfFile();
let port: number;
const running = new Set<ChildProcess>();
const at = (name: string) => join(home, name);

beforeAll(async () => {
  await chmod(home, 0o711);
  port = await freePort();
});
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
});

const settings = (data: string) => ({
  DATA_DIR: at(data),
  PORT: String(port),
  BREACHED_PASSWORDS_URL: 'off',
  RATE_LIMITS: 'off',
  MANAGEMENT_CLIENT_ID: managementClient.id,
  MANAGEMENT_CLIENT_SECRET: managementClient.client_secret,
});

/** The service on an embedded database; resolves when it is ready. */
async function start(data: string): Promise<() => Promise<unknown>> {
  const env = { PATH: process.env['PATH'], LOG_FORMAT: 'json', ...settings(data) };
  const child = spawn(process.execPath, await programArguments('main'), { env, stdio: ['ignore', 'pipe', 'inherit'] });
  running.add(child);
  const exited = once(child, 'exit').finally(() => running.delete(child));
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => line.includes('ready at') && resolve());
    void exited.then(() => reject(new Error('the service ended')));
  });
  return () => {
    child.kill('SIGTERM');
    return exited;
  };
}

const kids = async () =>
  ((await (await fetch(`http://localhost:${port}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] }).keys.map(
    ({ kid }) => kid,
  );

test('an embedded database is backed up running and stopped, and restored into another DATA_DIR (specification 15.6.3)', async () => {
  const none = await runProgram('programs/backup', [at('none.backup')], settings('first'));
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining(`there is no database in DATA_DIR ${at('first')}`)]);
  expect(await readdir(home)).toEqual([]);

  const stop = await start('first');
  const before = await kids();
  const beside = await runProgram('programs/backup', [at('running.backup')], settings('first'));
  expect([beside.code, beside.stderr]).toEqual([0, '']);
  await stop();
  const alone = await runProgram('programs/backup', [at('stopped.backup')], settings('first'));
  expect([alone.code, alone.stderr]).toEqual([0, '']);

  // Without the key nothing is made, least of all another key.
  const keyless = await runProgram('programs/restore', [at('running.backup')], settings('second'));
  expect([keyless.code, keyless.stderr]).toEqual([1, expect.stringContaining('there is no key to open the backup with: set SECRET_KEY')]);
  expect((await readdir(home)).sort()).toEqual(['first', 'running.backup', 'stopped.backup']);

  await mkdir(at('second'));
  await copyFile(join(at('first'), 'secret.key'), join(at('second'), 'secret.key'));
  const restored = await runProgram('programs/restore', ['--keep-sessions', at('stopped.backup')], settings('second'));
  expect([restored.code, restored.stderr]).toEqual([0, '']);
  const stopSecond = await start('second');
  expect(await kids()).toEqual(before);
  const base = `http://localhost:${port}`;
  expect((await tokenRequest(base, managementClient, { grant_type: 'client_credentials', resource: `${base}/api` })).status).toBe(200);
  await stopSecond();
}, 180_000);

import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { createSealer } from '../../src/lib/seal.js';
import { createTestDatabase } from '../support/database.js';
import { runProgram } from '../support/program.js';
import { killReplicas, startReplica } from '../support/replica.js';
import { shared } from '../support/shared-service.js';
import { openContext } from '../support/standalone.js';
import { tableContents } from '../support/table-contents.js';

const [k1, k2] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
const idOf = (key: string) => createSealer(key).key_id;
const database = shared(createTestDatabase, ({ drop }) => drop());
afterAll(killReplicas);

const rekey = (args: string[], SECRET_KEY: string, SECRET_KEY_PREVIOUS = '') =>
  runProgram('programs/rekey', args, {
    DATABASE_URL: database.url,
    SECRET_KEY,
    SECRET_KEY_PREVIOUS,
    BREACHED_PASSWORDS_URL: 'off',
    LOG_LEVEL: 'warn',
  });

test('rekey --status exits 2 until everything is sealed with SECRET_KEY and nobody seals with another; it changes nothing (specification 15.7.3)', async () => {
  await (await openContext(database.url, k1)).close();
  const before = await tableContents(database.url);
  const swapped = await rekey(['--status'], k2, k1);
  expect([swapped.code, swapped.stderr]).toEqual([2, '']);
  expect(swapped.stdout).toMatch(
    new RegExp(`^key ${idOf(k2)} seals; 0 values\nkey ${idOf(k1)} is needed: \\d+ values are sealed with it\n`),
  );
  const wrong = await rekey(['--status'], k2);
  expect([wrong.code, wrong.stdout, wrong.stderr]).toEqual([78, '', expect.stringContaining('SECRET_KEY does not open the signing key')]);
  expect(await tableContents(database.url)).toEqual(before);

  const resealed = await rekey([], k2, k1);
  expect([resealed.code, resealed.stderr]).toEqual([0, '']);
  expect(resealed.stdout).toMatch(new RegExp(`^key ${idOf(k2)} seals; [1-9]\\d* values\nnothing is sealed with key ${idOf(k1)}`));
  expect((await rekey(['--status'], k2, k1)).code).toBe(0);

  // What a process still seals with the old key has to be sealed anew later.
  const settings = { SECRET_KEY_PREVIOUS: k2, BREACHED_PASSWORDS_URL: 'off' };
  const old = await startReplica(database.url, k1, settings);
  await expect
    .poll(async () => (await rekey(['--status'], k2, k1)).stdout, { timeout: 60_000 })
    .toContain(`key ${idOf(k1)} is needed: 1 processes still seal with it`);
  await old.end('SIGTERM');
}, 120_000);

// Faults of whole processes, at a size for every run; the files beside this one play them at full size.
import { randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.js';
import { killReplicas } from '../support/replica.js';
import { openContext } from '../support/standalone.js';
import { eventWriters } from './event-writers.js';
import { killInFlight } from './kill-in-flight.js';
import type { Scenario } from './scenario.js';
import { stoppedInFlight } from './stopped-in-flight.js';
import { suspended } from './suspended.js';
import { userImport } from './user-import.js';
import { twoReplicas } from './two-replicas.js';

afterEach(() => killReplicas());

async function play(scenario: Scenario) {
  const database = await createTestDatabase();
  const secretKey = randomBytes(32).toString('base64');
  const opened = await openContext(database.url, secretKey);
  try {
    return await scenario({ url: database.url, secretKey, ctx: opened.ctx });
  } finally {
    killReplicas();
    await opened.close();
    await database.drop();
  }
}

test('one of two replicas is killed with deliveries in flight: all arrive, twice at most what was in flight (fault F01)', async () => {
  expect(await play(killInFlight({ inFlight: 50, replicas: 2 }))).toMatchObject({ deliveries: 100 });
}, 120_000);

test('a process suspended past its lease: another delivers, the late result is fenced off (fault F22)', async () => {
  expect(await play(suspended)).toMatchObject({ attempts_recorded: 1 });
}, 120_000);

test('SIGTERM with twenty deliveries in flight: finished or released, none lost, exit 0 (fault F29)', async () => {
  expect(await play(stoppedInFlight({ inFlight: 20 }))).toMatchObject({ deliveries: 60, finished: 10, released: 10, exit_code: 0 });
}, 120_000);

test('1,000 queued deliveries, two replicas: each sent once, none lost', async () => {
  expect(await play(twoReplicas(1000))).toMatchObject({ deliveries: 1000 });
}, 120_000);

test('twenty writers while a replica is killed again and again: pages and stream have every committed event once, in one order (fault F42)', async () => {
  expect(await play(eventWriters({ kills: 2, roles: 15 }))).toMatchObject({ kills: 2 });
}, 180_000);

test('an import whose process is killed is gone on with by another: each row once, counts right (fault F43)', async () => {
  expect(await play(userImport({ rows: 4_000, kill: true }))).toMatchObject({ rows: 4_000 });
}, 120_000);

test('an import takes 64 MiB beside what the process takes, whatever the file (fault F44)', async () => {
  const { file_mib, memory_mib } = await play(userImport({ rows: 12_000, kill: false, padding: 3_000 }));
  expect(file_mib).toBeGreaterThan(32);
  // On a machine that is busy the garbage collector comes later.
  expect(memory_mib).toBeLessThan(64 + 16);
}, 180_000);

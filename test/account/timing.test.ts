import { Agent, request } from 'node:http';
import bcrypt from 'bcryptjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedService } from '../support/shared-service.js';
import { createPasswordHasher } from '../../src/domain/passwords/passwords.js';
import { addUser } from '../support/data.js';
import { startTestService } from '../support/service.js';

// Medians of interleaved samples (reference: at least 200 a class, within 10 %: TIMING_SAMPLES=200 TIMING_TOLERANCE=0.1 on a quiet machine).
const samples = Number(process.env['TIMING_SAMPLES'] ?? 24);
const tolerance = Number(process.env['TIMING_TOLERANCE'] ?? 0.3);
const rounds = 5;

let known: string;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

const service = sharedService(() => startTestService({}, { overrides: { passwords: createPasswordHasher() } }));
beforeAll(async () => {
  known = (await addUser(await service.context())).email;
});
afterAll(async () => agent.destroy());

/** Milliseconds from sending to the whole answer, over one kept connection. */
function timed(path: string, body: object): Promise<number> {
  const text = JSON.stringify(body);
  const { port } = new URL(service.url);
  const headers = { host: `localhost:${port}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const outgoing = request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(performance.now() - started));
    });
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Samples of both classes in turns, the first of each pair changing. */
async function compare(path: string, account: string, fields: object): Promise<{ known: number; unknown: number }> {
  const [ofKnown, ofUnknown]: [number[], number[]] = [[], []];
  for (let index = 0; index < samples; index++) {
    const unknown = `nobody-${index}@example.com`;
    const pair: [string, number[]][] = [
      [account, ofKnown],
      [unknown, ofUnknown],
    ];
    for (const [email, times] of index % 2 === 0 ? pair : pair.toReversed()) times.push(await timed(path, { email, ...fields }));
  }
  return { known: median(ofKnown), unknown: median(ofUnknown) };
}

async function expectNoDifference(path: string, account: string, fields: object): Promise<void> {
  await compare(path, account, fields);
  const seen: { known: number; unknown: number; difference: number }[] = [];
  // A difference that is there shows in every round; one of the machine's load does not.
  while (seen.length < rounds) {
    const medians = await compare(path, account, fields);
    const difference = Math.abs(medians.known - medians.unknown) / Math.max(medians.known, medians.unknown);
    seen.push({ ...medians, difference });
    if (difference <= tolerance) break;
  }
  if (process.env['TIMING_SAMPLES']) console.log(path, seen);
  expect(Math.min(...seen.map((round) => round.difference))).toBeLessThanOrEqual(tolerance);
}

const timeout = 120_000 + samples * 5_000;

test.each([
  ['/login', { password: 'not the password' }],
  ['/register', {}],
  ['/password/forgot', {}],
])('%s takes as long for a known address as for an unknown one (attacks 10.112 and 11.130)', { timeout }, async (path, fields) => {
  await expectNoDifference(path, known, fields);
});

test('/login takes as long for an imported bcrypt hash as for an unknown address (attack 10.264)', { timeout }, async () => {
  const { email } = await addUser(await service.context(), { password_hash: await bcrypt.hash('carried over', 9) });
  await expectNoDifference('/login', email, { password: 'not the password' });
  // Nor does an account of our own kind stand out in an environment with imported ones.
  await expectNoDifference('/login', known, { password: 'not the password' });
});

// Short runs of `npm run test:chaos`, as processes of their own: one that keeps every rule, and one whose planted fault must be found.
import { execFile } from 'node:child_process';
import { expect, test } from 'vitest';

/** Builds the service, plays, and answers the exit code and what was told. */
const play = (...options: readonly string[]): Promise<{ code: number; text: string }> =>
  new Promise((resolve) => {
    execFile('npm', ['run', '-s', 'test:chaos', '--', ...options], { maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr }),
    );
  });

test('two replicas killed, suspended and left without their database for half a minute of mixed load: every rule holds', async () => {
  const { code, text } = await play('--minutes', '0.5', '--seed', '7');
  expect(text).toContain('every rule holds');
  expect(code).toBe(0);
}, 400_000);

test('accounts that vanish after they were acknowledged are found, and the report names the rule', async () => {
  const { code, text } = await play('--minutes', '0.25', '--seed', '7', '--plant', 'R3');
  expect(text).toContain('VIOLATION of R3 no acknowledged write is missing');
  expect(code).toBe(1);
}, 400_000);

test('arguments that mean nothing are told the usage, with exit code 2', async () => {
  const { code, text } = await play('--plant', 'R9');
  expect(text).toContain('npm run test:chaos --');
  expect(code).toBe(2);
});

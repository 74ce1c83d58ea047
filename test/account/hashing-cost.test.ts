// What a refused sign-in costs, and what a full queue tells: nothing of whom it was for.
import bcrypt from 'bcryptjs';
import { beforeAll, expect, test } from 'vitest';
import { createPasswordHasher } from '../../src/domain/passwords/passwords.js';
import { findUser, updateUser, type UserRow } from '../../src/db/tables/users.js';
import type { Context } from '../../src/domain/context.js';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';

const pauses: number[] = [];
const passwords = createPasswordHasher({ maxWaitMs: 60_000, pause: async (ms) => void pauses.push(ms) });
const service = sharedService(() => startTestService({}, { overrides: { passwords } }));
let ctx: Context;
beforeAll(async () => void (ctx = await service.context()));

const login = (email: string, secret: string, url = service.url) => new Browser(url).postJson('/login', { email, password: secret });
const newUser = (row: Partial<UserRow> = {}) => addUser(ctx, row);

/** As hashes of eight kinds, of the dearest of both algorithms too. */
const kinds = [
  ...[10, 11, 12, 13, 14].map((cost) => `$2b$${cost}$${'a'.repeat(53)}`),
  ...['m=65536,t=3,p=4', 'm=262144,t=2,p=1', 'm=4096,t=3,p=1'].map(
    (given) => `$argon2id$v=19$${given}$${'A'.repeat(22)}$${'A'.repeat(43)}`,
  ),
];

test('whatever hashes were imported, a refused sign-in computes no more than two of ours beside the account’s own (attack 10.991)', async () => {
  const [known, passwordless, locked] = [await newUser(), await newUser({ password_hash: null }), await newUser()];
  const imported = await newUser({ password_hash: await bcrypt.hash('carried over', 9) });
  await updateUser(ctx.scope, locked.id, { locked_until: new Date(service.clock.now().getTime() + 60_000) });
  const addresses = [known, passwordless, locked, imported].map(({ email }) => email).concat('nobody@example.com');
  const costOf = async (email: string, secret = 'not the password') => {
    const [spent, paused] = [passwords.spent(), pauses.length];
    expect((await login(email, secret)).status).toBe(401);
    return [passwords.spent() - spent, pauses.length - paused];
  };
  for (const password_hash of kinds) await newUser({ password_hash });
  const costs: number[][] = [];
  for (const email of addresses) costs.push(await costOf(email));
  // Each is held back by waiting: hashes of ours, and pauses.
  expect(costs).toEqual([
    [1, 1],
    [1, 1],
    [1, 1],
    [1.5, 1],
    [1, 1],
  ]);
  // A text that normalising changes is looked at twice, whoever it is for; of a locked account the right password isn't looked at.
  expect(await costOf('nobody@example.com', 'cafe\u0301')).toEqual([2, 1]);
  expect(await costOf(locked.email, password)).toEqual([1, 1]);
  await ctx.scope.knex('users').whereIn('password_hash', kinds).delete();
  await updateUser(ctx.scope, imported.id, { password_hash: null });
  // Where nothing was imported nobody waits.
  expect(await costOf(known.email)).toEqual([1, 0]);
});

test('a full queue answers everybody alike, and is no try (attack 10.993)', async () => {
  const small = createPasswordHasher({ concurrency: 1, queueMax: 0 });
  const crowded = await startTestService({}, { overrides: { passwords: small } });
  try {
    const there = await crowded.context();
    const known = await addUser(there);
    const [passwordless, imported] = [await addUser(there, { password_hash: null }), await addUser(there, { password_hash: kinds[0]! })];
    const locked = await addUser(there, { locked_until: new Date(crowded.clock.now().getTime() + 60_000) });
    // Who comes to one try before the lock is not locked by what nobody looked at.
    await updateUser(there.scope, known.id, { failed_login_count: 9 });
    const addresses = [known, passwordless, imported, locked].map(({ email }) => email).concat('nobody@example.com');
    let over = false;
    const busy = small.verify(kinds[4]!, 'takes a second').finally(() => (over = true));
    const answers = await Promise.all(addresses.flatMap((email) => ['wrong', password].map((secret) => login(email, secret, crowded.url))));
    expect(over).toBe(false);
    const texts = await Promise.all(answers.map(async (answer) => (await answer.text()).replace(/"request_id":"[^"]+"/, '')));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 503));
    expect(new Set(texts).size).toBe(1);
    expect(new Set(answers.map(({ headers }) => [...headers.keys(), headers.get('retry-after')].join())).size).toBe(1);
    await busy;
    const { failed_login_count, locked_until } = (await findUser(there.scope, known.id))!;
    expect([failed_login_count, locked_until]).toEqual([9, null]);
    expect((await login(known.email, password, crowded.url)).status).toBe(200);
  } finally {
    await crowded.stop();
  }
});

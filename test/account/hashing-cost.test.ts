// What a refused sign-in costs, when it is counted, and what a full queue tells: nothing of whom it was for.
import bcrypt from 'bcryptjs';
import { beforeAll, expect, test } from 'vitest';
import { OverloadedError } from '../../src/domain/passwords/hashing-queue.js';
import { provePassword } from '../../src/domain/passwords/prove-password.js';
import { createPasswordHasher } from '../../src/domain/passwords/passwords.js';
import { findUser, updateUser, type UserRow } from '../../src/db/tables/users.js';
import type { Context } from '../../src/domain/context.js';
import { noOrigin } from '../../src/domain/origin.js';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';

const pauses: number[] = [];
const hasher = createPasswordHasher({ maxWaitMs: 60_000, pause: async (ms) => void pauses.push(ms) });
/** Set by tests that let no more hashes be made. */
let full = false;
const passwords: typeof hasher = {
  ...hasher,
  hash: (...given) => (full ? Promise.reject(new OverloadedError(1)) : hasher.hash(...given)),
};
const service = sharedService(() => startTestService({}, { overrides: { passwords } }));
let ctx: Context;
beforeAll(async () => void (ctx = await service.context()));

const login = (email: string, secret: string, url = service.url) => new Browser(url).postJson('/login', { email, password: secret });
const newUser = (row: Partial<UserRow> = {}) => addUser(ctx, row);
const stored = async ({ id }: UserRow) => {
  const { failed_login_count, locked_until } = (await findUser(ctx.scope, id))!;
  return { failed_login_count, locked: locked_until !== null };
};

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

test('guesses are counted before they are looked at: of forty at once a locked account’s hash is computed for ten (attack 10.992)', async () => {
  const user = await newUser({ password_hash: await bcrypt.hash('carried over', 8) });
  const before = passwords.spent();
  const by = { origin: noOrigin, device: null };
  const verdicts = await Promise.all(Array.from({ length: 40 }, (_, i) => provePassword(ctx, user.email, `guess ${i}`, by)));
  expect(new Set(verdicts.map(({ outcome }) => outcome))).toEqual(new Set(['invalid']));
  // 0.75 of ours for each that was looked at, a decoy for the others.
  expect(passwords.spent() - before).toBe(10 * 0.75 + 30);
  expect(await stored(user)).toEqual({ failed_login_count: 0, locked: true });
  expect((await login(user.email, 'carried over')).status).toBe(401);
}, 60_000);

test('a known browser’s guesses at once are counted for it and for the account in one statement, and right ones taken back (attack 10.1066)', async () => {
  const password_hash = await bcrypt.hash('carried over', 8);
  const [user, other] = [await newUser({ password_hash }), await newUser()];
  const browserOf = ({ id }: UserRow) => ({
    origin: noOrigin,
    device: { id: 'of the test', users: [[id, service.clock.now().getTime()] as const] },
  });
  const tried = (count: number, whose: UserRow, secret: (i: number) => string) =>
    Promise.all(Array.from({ length: count }, (_, i) => provePassword(ctx, whose.email, secret(i), browserOf(whose))));
  const before = passwords.spent();
  const guesses = await tried(40, user, (i) => `guess ${i}`);
  expect(new Set(guesses.map(({ outcome }) => outcome))).toEqual(new Set(['invalid']));
  expect(passwords.spent() - before).toBe(10 * 0.75 + 30);
  expect(await stored(user)).toEqual({ failed_login_count: 0, locked: true });
  expect((await tried(1, user, () => 'carried over'))[0]?.outcome).toBe('invalid');
  expect(await ctx.scope.knex('browser_lockouts')).toMatchObject([{ failed_login_count: 0, locked_until: expect.any(Date) }]);
  // Of a browser that is locked nothing is counted for the account either.
  await updateUser(ctx.scope, user.id, { locked_until: null });
  expect((await tried(1, user, () => 'carried over'))[0]?.outcome).toBe('invalid');
  expect(await stored(user)).toEqual({ failed_login_count: 0, locked: false });
  await ctx.scope.knex('browser_lockouts').delete();
  const right = await tried(9, other, () => password);
  expect(right.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 9 }, () => 'ok'));
  expect(await stored(other)).toEqual({ failed_login_count: 0, locked: false });
  expect(await ctx.scope.knex('browser_lockouts')).toEqual([]);
}, 60_000);

test('the right password as the last try before the lock gets in, and locks nothing (attack 10.992)', async () => {
  const user = await newUser();
  for (let i = 1; i < ctx.environment.lockout_threshold; i++) expect((await login(user.email, 'wrong')).status).toBe(401);
  expect(await stored(user)).toEqual({ failed_login_count: 9, locked: false });
  expect((await login(user.email, password)).status).toBe(200);
  expect(await stored(user)).toEqual({ failed_login_count: 0, locked: false });
  expect((await login(user.email, 'wrong')).status).toBe(401);
  expect(await stored(user)).toEqual({ failed_login_count: 1, locked: false });
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

test('where too many wait to be hashed, a right code of a recovery spends no try: it is good afterwards (attack 12.1058)', async () => {
  const user = await newUser();
  const owner = new Browser(service.url);
  const { reset_id } = (await (await owner.postJson('/password/forgot', { email: user.email })).json()) as { reset_id: string };
  const code = codeIn(await lastMailTo(service.url, user.email));
  const reset = async () => (await owner.postJson('/password/reset', { reset_id, code, password: 'nine quiet herons by the lake' })).status;
  full = true;
  try {
    for (let i = 0; i <= ctx.environment.otp_max_attempts; i++) expect(await reset()).toBe(503);
  } finally {
    full = false;
  }
  expect(await reset()).toBe(200);
});

test('a right password gets in where no hash can be made anew: nobody learns by a 503 that it was right (attack 10.993)', async () => {
  const password_hash = await bcrypt.hash(password, 4);
  const user = await newUser({ password_hash });
  full = true;
  try {
    expect((await login(user.email, password)).status).toBe(200);
    expect((await findUser(ctx.scope, user.id))?.password_hash).toBe(password_hash);
  } finally {
    full = false;
  }
  expect((await login(user.email, password)).status).toBe(200);
  expect((await findUser(ctx.scope, user.id))?.password_hash).toMatch(/^\$argon2id\$/);
});

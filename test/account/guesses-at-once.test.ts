// Guesses that come together, and what happens while no more hashes can be made.
import bcrypt from 'bcryptjs';
import { beforeEach, expect, test } from 'vitest';
import { OverloadedError } from '../../src/domain/passwords/hashing-queue.js';
import { provePassword } from '../../src/domain/credentials/prove-password.js';
import { findUser, updateUser, type UserRow } from '../../src/db/tables/users.js';
import { noOrigin } from '../../src/domain/origin.js';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { cheapPasswords, startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const hasher = cheapPasswords();
/** Set by tests that let no more hashes be made. */
let full = false;
/** What was compared: the hash of an account, or null for a decoy. */
let checked: (string | null)[];
const passwords: typeof hasher = {
  ...hasher,
  hash: (...given) => (full ? Promise.reject(new OverloadedError(1)) : hasher.hash(...given)),
  check(phc, ...given) {
    checked.push(phc);
    return hasher.check(phc, ...given);
  },
};
const service = sharedService(() => startTestService({}, { overrides: { passwords } }));
const ctx = contextOf(service);
beforeEach(() => void (checked = []));

const login = (email: string, secret: string) => new Browser(service.url).postJson('/login', { email, password: secret });
const newUser = (row: Partial<UserRow> = {}) => addUser(ctx, row);
const stored = async ({ id }: UserRow) => {
  const { failed_login_count, locked_until } = (await findUser(ctx.scope, id))!;
  return { failed_login_count, locked: locked_until !== null };
};
/** How many hashes of the user were computed, and how many decoys. */
const computed = ({ password_hash }: UserRow) => [
  checked.filter((phc) => phc !== null && phc === password_hash).length,
  checked.filter((phc) => phc === null).length,
];

test('guesses are counted before they are looked at: of forty at once a locked account’s hash is computed for ten (attack 10.992)', async () => {
  const user = await newUser({ password_hash: await bcrypt.hash('carried over', 4) });
  const by = { origin: noOrigin, device: null };
  const verdicts = await Promise.all(Array.from({ length: 40 }, (_, i) => provePassword(ctx, user.email, `guess ${i}`, by)));
  expect(new Set(verdicts.map(({ outcome }) => outcome))).toEqual(new Set(['invalid']));
  expect(computed(user)).toEqual([10, 30]);
  expect(await stored(user)).toEqual({ failed_login_count: 0, locked: true });
  expect((await login(user.email, 'carried over')).status).toBe(401);
});

test('a known browser’s guesses at once are counted for it and for the account in one statement, and right ones taken back (attack 10.1066)', async () => {
  const password_hash = await bcrypt.hash('carried over', 4);
  const [user, other] = [await newUser({ password_hash }), await newUser()];
  const browserOf = ({ id }: UserRow) => ({
    origin: noOrigin,
    device: { id: 'of the test', users: [[id, service.clock.now().getTime()] as const] },
  });
  const tried = (count: number, whose: UserRow, secret: (i: number) => string) =>
    Promise.all(Array.from({ length: count }, (_, i) => provePassword(ctx, whose.email, secret(i), browserOf(whose))));
  const guesses = await tried(40, user, (i) => `guess ${i}`);
  expect(new Set(guesses.map(({ outcome }) => outcome))).toEqual(new Set(['invalid']));
  expect(computed(user)).toEqual([10, 30]);
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
});

test('the right password as the last try before the lock gets in, and locks nothing (attack 10.992)', async () => {
  const user = await newUser();
  for (let i = 1; i < ctx.environment.lockout_threshold; i++) expect((await login(user.email, 'wrong')).status).toBe(401);
  expect(await stored(user)).toEqual({ failed_login_count: 9, locked: false });
  expect((await login(user.email, password)).status).toBe(200);
  expect(await stored(user)).toEqual({ failed_login_count: 0, locked: false });
  expect((await login(user.email, 'wrong')).status).toBe(401);
  expect(await stored(user)).toEqual({ failed_login_count: 1, locked: false });
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

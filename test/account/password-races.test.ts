import bcrypt from 'bcryptjs';
import { expect, test } from 'vitest';
import { changePassword } from '../../src/domain/credentials/password-change.js';
import { noOrigin } from '../../src/domain/origin.js';
import { createPasswordHasher } from '../../src/domain/passwords/passwords.js';
import { findUser, type UserRow } from '../../src/db/tables/users.js';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService(() => startTestService({}, { overrides: { passwords: createPasswordHasher() } }));
const ctx = contextOf(service);

const fresh = 'nine quiet herons by the lake';
const hashOf = async (user: UserRow) => (await findUser(ctx.scope, user.id))?.password_hash ?? '';

/** Runs `attempt` with the old password while a reset is about to commit: the old password is right when it is checked, and isn't afterwards. */
async function duringReset<T>(user: UserRow, attempt: () => Promise<T>): Promise<{ result: T; hash: string }> {
  const hash = await ctx.crypto.passwords.hash(fresh);
  const reset = await service.deps.db.knex.transaction();
  await reset('users').where({ id: user.id }).update({ password_hash: hash, password_changed_at: new Date() });
  await reset('sessions').where({ user_id: user.id }).whereNull('revoked_at').update({ revoked_at: new Date() });
  const running = attempt();
  const waiting = async () => {
    const [counted] = await service.deps.db
      .knex('pg_stat_activity')
      .whereRaw('datname = current_database()')
      .where({ wait_event_type: 'Lock' })
      .count('* as count');
    return Number(counted?.['count']);
  };
  await expect.poll(waiting).toBeGreaterThan(0);
  await reset.commit();
  return { result: await running, hash };
}

test('a login that was checked before a reset and ends after it opens no session', async () => {
  const user = await addUser(ctx);
  const { result } = await duringReset(user, () => new Browser(service.url).postJson('/login', { email: user.email, password }));
  expect([result.status, ((await result.json()) as { error: string }).error]).toEqual([401, 'invalid_credentials']);
  expect(result.headers.getSetCookie()).toEqual([]);
  expect(await service.deps.db.knex('sessions').where({ user_id: user.id }).whereNull('revoked_at')).toEqual([]);
  expect((await new Browser(service.url).postJson('/login', { email: user.email, password: fresh })).status).toBe(200);
});

test('a change that was proven by the old password does not undo a reset', async () => {
  const user = await addUser(ctx);
  const change = { current_password: password, password: 'the choice of a thief', origin: noOrigin, device: null };
  const session = { id: user.id, user_id: user.id };
  const { result, hash } = await duringReset(user, () => changePassword(ctx, session, change));
  expect(result).toEqual({ outcome: 'wrong' });
  expect(await hashOf(user)).toBe(hash);
});

test('the renewal of an outdated hash does not undo a reset', async () => {
  const user = await addUser(ctx, { password_hash: await bcrypt.hash(password, 4) });
  const { result, hash } = await duringReset(user, () => new Browser(service.url).postJson('/login', { email: user.email, password }));
  expect(result.status).toBe(401);
  expect(await hashOf(user)).toBe(hash);
});

test('two first logins with an imported hash both succeed', async () => {
  const user = await addUser(ctx, { password_hash: await bcrypt.hash(password, 4) });
  const login = () => new Browser(service.url).postJson('/login', { email: user.email, password });
  expect((await Promise.all([login(), login(), login()])).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await hashOf(user)).toMatch(/^\$argon2id\$/);
});

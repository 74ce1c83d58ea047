// The last step of a registration and of a recovery, cut off in the middle: all of it or nothing, and a retry gets a clean answer.
import { beforeAll, expect, test } from 'vitest';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { subscribe, type StoredEvent } from '../support/events.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();
beforeAll(async () => {
  await subscribe(service, ['*']);
});

const fresh = 'nine quiet herons by the lake';

async function post(path: string, body: unknown): Promise<{ status: number; body: Record<string, unknown>; retry: string | null }> {
  const response = await new Browser(service.url).postJson(path, body);
  return { status: response.status, body: (await response.json()) as Record<string, unknown>, retry: response.headers.get('retry-after') };
}

async function countOf(type: string): Promise<number> {
  const rows = (await service.deps.db.knex('events').select('body')) as { body: string }[];
  return rows.filter((row) => (JSON.parse(row.body) as StoredEvent).event === type).length;
}

/** Sends the request and ends its database connection where it has written everything but its event. */
async function cutOff<T>(send: () => Promise<T>): Promise<T> {
  const { knex } = service.deps.db;
  const blocking = await knex.transaction();
  await blocking.raw('lock table events in access exclusive mode');
  const answer = send();
  const ended = async () => {
    const { rows } = await knex.raw<{ rows: unknown[] }>(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like '%store_event%' and pid <> pg_backend_pid()`,
    );
    return rows.length;
  };
  await expect.poll(ended).toBe(1);
  await blocking.rollback();
  return answer;
}

test('a registration that is cut off leaves no person and no event; the same token then makes the account (fault F04)', async () => {
  const email = 'cut-off@example.com';
  const started = await post('/register', { email });
  const code = codeIn(await lastMailTo(service.url, email));
  const { body } = await post('/register/verify', { registration_id: started.body['registration_id'], code });
  const last = { ...body, first_name: 'Grace', last_name: 'Hopper', password: fresh };
  const before = await countOf('user.registered');
  const broken = await cutOff(() => post('/register/complete', last));
  expect([broken.status, broken.retry]).toEqual([503, expect.any(String)]);
  const { scope } = await service.context();
  expect([await findUserByEmailKey(scope, email), await countOf('user.registered')]).toEqual([null, before]);
  expect((await post('/register/complete', last)).status).toBe(201);
  expect(await countOf('user.registered')).toBe(before + 1);
});

test('a recovery that is cut off leaves the old password and the code; the same code then sets the new one (fault F04)', async () => {
  const user = await addUser(await service.context());
  const { body } = await post('/password/forgot', { email: user.email });
  const last = { reset_id: body['reset_id'], code: codeIn(await lastMailTo(service.url, user.email)), password: fresh };
  expect((await cutOff(() => post('/password/reset', last))).status).toBe(503);
  expect((await post('/login', { email: user.email, password })).status).toBe(200);
  expect(await countOf('user.password_reset')).toBe(0);
  expect((await post('/password/reset', last)).status).toBe(200);
  expect((await post('/login', { email: user.email, password: fresh })).status).toBe(200);
  expect(await countOf('user.password_reset')).toBe(1);
});

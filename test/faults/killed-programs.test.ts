// Programs of the operator that are killed in the middle: run once more they end whole.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { afterEach, expect, test } from 'vitest';
import { createKnex } from '../../src/db/connection/knex.js';
import { transaction } from '../../src/domain/context.js';
import { queueMail } from '../../src/domain/mail/mail.js';
import { createSealer } from '../../src/lib/seal.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js';
import { runProgram, startProgram } from '../support/program.js';
import { openContext } from '../support/standalone.js';
import { directoryOfTest } from '../support/temporary-directory.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const settings = (url: string, secretKey: string, more: Record<string, string> = {}) => ({
  DATABASE_URL: url,
  SECRET_KEY: secretKey,
  BASE_URL: 'http://localhost:3000',
  BREACHED_PASSWORDS_URL: 'off',
  LOG_LEVEL: 'warn',
  ...more,
});

async function databaseOf(made: Promise<TestDatabase>): Promise<{ url: string; knex: Knex }> {
  const { url, drop } = await made;
  cleanups.push(drop);
  const knex = createKnex({ url, poolMax: 2, unlimited: true });
  cleanups.push(() => knex.destroy());
  return { url, knex };
}

const numberIn = async (knex: Knex, text: string): Promise<number> => {
  const { rows } = await knex.raw<{ rows: { found: number }[] }>(`select (${text})::integer as found`);
  return rows[0]?.found ?? 0;
};

const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`;

test('kill -9 in the middle of a restore: the database is as empty as before, and the next restore is whole (attack 36.804)', async () => {
  const directory = directoryOfTest();
  const file = join(directory, 'identity.backup');
  const secretKey = randomBytes(32).toString('base64');
  const source = await databaseOf(createTestDatabase());
  await (await openContext(source.url, secretKey)).close();
  await source.knex.raw(
    `insert into daily_stats (environment_id, day, name, label, count)
     select id, current_date, 'token_issued', 'label ' || n, n from environments, generate_series(1, 100000) n where slug = 'default'`,
  );
  const backup = await runProgram('programs/backup', [file], settings(source.url, secretKey));
  expect([backup.code, backup.stderr]).toEqual([0, '']);

  const target = await databaseOf(createEmptyDatabase());
  const killed = await startProgram('programs/restore', [file], settings(target.url, secretKey));
  // Rows are on their way.
  const copied = () =>
    numberIn(target.knex, `select coalesce(max(tuples_processed), 0) from pg_stat_progress_copy where datname = current_database()`);
  await expect.poll(copied, { timeout: 60_000, interval: 5 }).toBeGreaterThan(0);
  killed.kill('SIGKILL');
  expect(await killed.ended).toEqual({ code: null, stdout: '', stderr: '' });
  await expect.poll(() => numberIn(target.knex, `select count(*) ${others}`), { timeout: 30_000 }).toBe(0);
  expect(await numberIn(target.knex, `select count(*) from information_schema.tables where table_schema = 'public'`)).toBe(0);

  const again = await runProgram('programs/restore', [file], settings(target.url, secretKey));
  expect([again.code, again.stderr]).toEqual([0, '']);
  expect(again.stdout).toContain('Start the service.');
  const counts = `select count(*) from daily_stats union all select count(*) from clients union all select count(*) from signing_keys where status = 'primary'`;
  const counted = async ({ knex }: { knex: Knex }) => (await knex.raw<{ rows: unknown[] }>(counts)).rows;
  expect(await counted(target)).toEqual(await counted(source));
}, 180_000);

test('kill -9 in the middle of rekey: --status says what is left, the next run seals it, and every value opens with the new key alone (attack 36.805)', async () => {
  const [k1, k2] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const database = await databaseOf(createTestDatabase());
  const opened = await openContext(database.url, k1);
  const { ctx } = opened;
  const origin = { ip_address: null, user_agent: null };
  const mail = (to: string) =>
    ({ template: 'register_code', to, locale: null, model: { code: '104285', expires_in: 600 }, origin }) as const;
  for (let index = 0; index < 300; index++) await transaction(ctx, (tx) => queueMail(tx, mail(`somebody${index}@example.com`)));
  await opened.close();
  const rekey = (...args: string[]) => runProgram('programs/rekey', args, settings(database.url, k2, { SECRET_KEY_PREVIOUS: k1 }));

  // The mails, which come last, can't be changed for a while.
  const holder = await database.knex.transaction();
  cleanups.push(() => holder.rollback());
  await holder.raw('set local idle_in_transaction_session_timeout = 0; lock table mails in share mode');
  const killed = await startProgram('programs/rekey', [], settings(database.url, k2, { SECRET_KEY_PREVIOUS: k1 }));
  await expect
    .poll(() => numberIn(database.knex, `select count(*) ${others} and wait_event_type = 'Lock'`), { timeout: 60_000, interval: 10 })
    .toBe(1);
  killed.kill('SIGKILL');
  expect((await killed.ended).code).toBeNull();
  await holder.rollback();
  await expect
    .poll(() => numberIn(database.knex, `select count(*) ${others} and pid <> pg_backend_pid() and state <> 'idle'`), { timeout: 30_000 })
    .toBe(0);

  const left = await rekey('--status');
  expect([left.code, left.stderr]).toEqual([2, '']);
  const [, done] = /seals; (\d+) values/.exec(left.stdout) ?? [];
  const [, pending] = /is needed: (\d+) values/.exec(left.stdout) ?? [];
  expect(Number(done)).toBeGreaterThan(0);
  expect(Number(pending)).toBeGreaterThan(0);
  const again = await rekey();
  expect([again.code, again.stderr]).toEqual([0, '']);
  expect((await rekey('--status')).code).toBe(0);
  const sealer = createSealer(k2);
  const mails = (await database.knex('mails').select('id', 'sealed')) as { id: string; sealed: Buffer }[];
  expect(mails.length).toBe(300);
  for (const { id, sealed } of mails) expect(JSON.parse(sealer.open(sealed, `mails/${id}`))).toMatchObject({ template: 'register_code' });
}, 180_000);

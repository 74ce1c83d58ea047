// A database with rows becomes one with partitions, beside a process of the release before, which remembers its statements.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKnex } from '../../../src/db/connection/knex.js';
import { migrate, migrateInTransaction, migrationNames } from '../../../src/db/migrations/migrate.js';
import { uuidv7 } from '../../../src/lib/random.js';
import { createEmptyDatabase, type TestDatabase } from '../../support/database.js';

let database: TestDatabase;
let knex: ReturnType<typeof createKnex>;
/** A process of the release before. */
let before: pg.Client;

beforeAll(async () => {
  database = await createEmptyDatabase();
  knex = createKnex({ url: database.url, poolMax: 2, unlimited: true });
  const names = (await migrationNames()).filter((name) => name < '0516');
  await knex.transaction((trx) => migrateInTransaction(trx, names));
  before = new pg.Client({ connectionString: database.url });
  await before.connect();
});
afterAll(async () => {
  await before.end();
  await knex.destroy();
  await database.drop();
});

const environment = randomUUID();
const webhook = randomUUID();

/** Statements as a process prepares them once, by name. */
const statements = {
  audit: `insert into audit_logs (environment_id, id, occurred_at, action, outcome, actor_kind, target_type)
    values ($1, $2, now(), 'test.done', 'success', 'system', 'test') on conflict (environment_id, id) do update set count = audit_logs.count + 1`,
  event: `select store_event($1::uuid, $2::uuid, 'role.created', now(), '{}', array['${webhook}']::uuid[])`,
  attempt: `insert into webhook_delivery_attempts (environment_id, id, delivery_id, attempt_number, started_at, duration_ms)
    select $1, $2, d.id, 1, now(), 1 from webhook_deliveries d where d.environment_id = $1 and d.event_id = $2`,
};
async function write(): Promise<void> {
  const id = uuidv7(Date.now());
  for (const [name, text] of Object.entries(statements)) await before.query({ name, text, values: [environment, id] });
}
const tables = ['audit_logs', 'events', 'webhook_deliveries', 'webhook_delivery_attempts', 'webhook_queue', 'log_stream_entries'];
const counts = async () =>
  Object.fromEntries(await Promise.all(tables.map(async (name) => [name, Number((await knex(name).count({ n: '*' }).first())?.['n'])])));

test('an upgrade keeps all rows, moves none, and whoever has the statements of the release before writes on (specification 15.8.4)', async () => {
  const at = new Date();
  await knex('environments').insert({ id: environment, slug: 'one', name: 'One', kind: 'staging', created_at: at, updated_at: at });
  const sealed = Buffer.alloc(8);
  const common = { environment_id: environment, name: 'One', secret_sealed: sealed, secret_hint: 'x', created_at: at, updated_at: at };
  await knex('webhooks').insert({ ...common, id: webhook, url: 'https://example.com', events: ['*'] });
  const stream = randomUUID();
  await knex('log_streams').insert({
    ...common,
    id: stream,
    destination: stream,
    url: 'https://example.com',
    format: 'native',
    sources: ['audit_logs'],
  });
  await knex.raw('grant select on audit_logs to pg_monitor');
  for (let row = 0; row < 8; row++) await write();
  const files = async (suffix: string) => (await knex.raw<{ rows: unknown[] }>(
    `select relfilenode from pg_class where relname = any (?) order by relfilenode`, [tables.slice(0, 4).map((name) => `${name}${suffix}`)])).rows; // prettier-ignore
  const stored = await files('');
  expect(await counts()).toEqual(Object.fromEntries(tables.map((name) => [name, 8])));

  await migrate(knex);
  expect(await files('_first'), 'tables were written anew').toEqual(stored);
  expect(await counts()).toEqual(Object.fromEntries(tables.map((name) => [name, 8])));
  await write();
  // Triggers do their part once.
  expect(await counts()).toEqual(Object.fromEntries(tables.map((name) => [name, 9])));
  const { rows } = await knex.raw<{ rows: { may: boolean }[] }>(`select has_table_privilege('pg_monitor', 'audit_logs', 'select') as may`);
  expect(rows).toEqual([{ may: true }]);

  // What is deleted takes along what it did.
  await knex('webhook_deliveries').delete();
  expect(await counts()).toMatchObject({ webhook_deliveries: 0, webhook_delivery_attempts: 0, webhook_queue: 0 });
  await knex('environments').where({ id: environment }).delete();
  expect(await counts()).toMatchObject({ audit_logs: 0, log_stream_entries: 0 });
});

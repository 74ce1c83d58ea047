// What operators rely on while the process is killed, as a process of its own: log streams, and configuration documents.
import { randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { recordSecurityEvent } from '../../src/domain/audit/security-trail.js';
import { transaction, type Context } from '../../src/domain/context.js';
import { createLogStream } from '../../src/domain/log-streams/log-streams.js';
import { apply, plan, problemsOf, told } from '../support/configuration.js';
import { createTestDatabase } from '../support/database.js';
import { manage, managementClient } from '../support/management.js';
import { startReceiver } from '../support/receiver.js';
import { killReplicas, startReplica } from '../support/replica.js';
import { openContext } from '../support/standalone.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  killReplicas();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const client = { MANAGEMENT_CLIENT_ID: managementClient.id, MANAGEMENT_CLIENT_SECRET: managementClient.client_secret };

async function installation() {
  const database = await createTestDatabase();
  cleanups.push(() => database.drop());
  const secretKey = randomBytes(32).toString('base64');
  const opened = await openContext(database.url, secretKey, client);
  cleanups.push(() => opened.close());
  return { ctx: opened.ctx, start: () => startReplica(database.url, secretKey, client) };
}

const record = (ctx: Context, index: number) =>
  transaction(ctx, (tx) =>
    recordSecurityEvent(tx, 'password.changed', {
      target: { target_type: 'user', target_id: String(index) },
      origin: { ip_address: '198.51.100.1', user_agent: null, request_id: null },
    }),
  );

test('kill -9 twice while a log stream is sent: every record arrives, in order, none before an earlier one (attack 35.798)', async () => {
  const { ctx, start } = await installation();
  const receiver = await startReceiver();
  cleanups.push(() => receiver.close());
  const input = { name: 'SIEM', url: `${receiver.url}/in`, format: 'native', sources: ['security_events'] } as const;
  const { stream } = await transaction(ctx, (tx) => createLogStream(tx, input));
  const arrived = () =>
    receiver.posts.map(({ body }) =>
      body
        .trimEnd()
        .split('\n')
        .map((line) => Number((JSON.parse(line) as { detail: { target: { target_id: string } } }).detail.target.target_id)),
    );
  let recorded = 0;
  const recordSome = async () => {
    for (let count = 0; count < 40; count++) await record(ctx, recorded++);
  };
  for (let kill = 0; kill < 2; kill++) {
    const replica = await start();
    // The receiver has the lines and doesn't answer: nobody can tell whether they came.
    let dies = () => undefined as unknown;
    const dead = new Promise<void>((resolve) => (dies = () => void replica.end('SIGKILL').then(() => resolve())));
    await recordSome();
    await receiver.until(
      (posts) =>
        posts.length > 0 &&
        arrived()
          .flat()
          .includes(recorded - 1),
      30_000,
    );
    receiver.reply(() => dies());
    await recordSome();
    await dead;
    receiver.reply(200);
    // Its lease runs out.
    await ctx.db
      .knex('log_streams')
      .where({ id: stream.id })
      .update({ leased_until: new Date(0), next_attempt_at: new Date(0) });
  }
  await start();
  await recordSome();
  await receiver.until(
    () =>
      arrived()
        .flat()
        .includes(recorded - 1),
    60_000,
  );
  expect([...new Set(arrived().flat())]).toEqual(Array.from({ length: recorded }, (_, index) => index));
  for (const batch of arrived()) expect(batch).toEqual([...batch].sort((one, other) => one - other));
  // What was in flight, and no more, came again.
  expect(arrived().flat().length).toBeLessThanOrEqual(recorded + 2 * 40);
  await expect
    .poll(async () => (await ctx.db.knex('log_stream_entries').where({ log_stream_id: stream.id })).length, { timeout: 30_000 })
    .toBe(0);
}, 180_000);

test('kill -9 in the middle of applying a document: nothing of it is there, and the next one is applied whole (attack 33.799)', async () => {
  const { ctx, start } = await installation();
  let replica = await start();
  const names = Array.from({ length: 20 }, (_, index) => `role ${index}`);
  const document = (description: string) => ({ version: 1, roles: [...names, 'last'].map((name) => ({ name, description })) });
  const api = await manage(replica.url);
  await api.create('roles', { name: 'last' });
  const holder = await ctx.db.knex.transaction();
  cleanups.push(() => holder.rollback());
  await holder.raw(`set local idle_in_transaction_session_timeout = 0; select * from roles where name = 'last' for update`);
  const waits = async () => {
    const { rows } = await ctx.db.knex.raw<{ rows: { count: number }[] }>(
      `select count(*)::integer as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows[0]?.count ?? 0;
  };
  const lost = apply(api, document('lost')).then(
    ({ status }) => status,
    () => 'broken off',
  );
  await expect.poll(waits, { timeout: 9_000 }).toBe(1);
  await replica.end('SIGKILL');
  expect(await lost).toBe('broken off');
  await holder.rollback();
  replica = await start();
  const next = await manage(replica.url);
  const left = ((await next.get('/roles?page[size]=100')).body['data'] as { attributes: { name: string } }[]).map(
    (one) => one.attributes.name,
  );
  expect(left.filter((name) => name.startsWith('role '))).toEqual([]);
  expect((await next.get('/config/drift')).body['meta'].applied).toBeNull();
  const done = await apply(next, document('kept'));
  expect([problemsOf(done), told(done).length]).toEqual([[], 21]);
  expect(told(await apply(next, document('kept')))).toEqual([]);
}, 180_000);

test('a plan that meets a locked table is given up in time, and leaves neither a lock nor a trace', async () => {
  const { ctx, start } = await installation();
  const api = await manage((await start()).url);
  const document = { version: 1, roles: [{ name: 'planned' }] };
  const holder = await ctx.db.knex.transaction();
  cleanups.push(() => holder.rollback());
  await holder.raw('set local idle_in_transaction_session_timeout = 0; lock table roles in access exclusive mode');
  const began = performance.now();
  const refused = await plan(api, document);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  expect(performance.now() - began).toBeLessThan(15_000);
  await holder.rollback();
  await expect.poll(async () => told(await plan(api, document)), { timeout: 30_000 }).toEqual(['create role planned']);
}, 120_000);

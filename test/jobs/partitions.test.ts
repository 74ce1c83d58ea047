import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import { createKnex } from '../../src/db/connection/knex.js';
import { listPartitions, type Partition } from '../../src/db/postgres/partitions.js';
import { partitionedTables } from '../../src/db/tables/partitioned.js';
import { janitorPass } from '../../src/jobs/janitor.js';
import { endOfPartition, makeRoom, partitionsPass } from '../../src/jobs/partitions.js';
import { uuidv7 } from '../../src/lib/random.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { openContext } from '../support/standalone.js';

const dayMs = 86_400_000;
/** The database's clock stands where it is; what the job and new ids go by is moved. */
let at = Date.now();
let ctx: Context;
let database: TestDatabase;
let other: Knex;
let close: () => Promise<void>;

beforeAll(async () => {
  database = await createTestDatabase({ isNew: true });
  other = createKnex({ url: database.url, poolMax: 3, unlimited: true });
  const opened = await openContext(database.url, Buffer.alloc(32, 7).toString('base64'));
  close = () => opened.close();
  ctx = { ...opened.ctx, clock: { ...opened.ctx.clock, now: () => new Date(at) } };
});
afterAll(async () => {
  await close();
  await other.destroy();
  await database.drop();
});

const knex = () => ctx.db.knex;
const pass = () => partitionsPass(ctx, database.url);
const tables = () => partitionedTables(ctx.config).map(({ name }) => name);
const partitionsOf = async (table: string) => (await listPartitions(knex())).filter((one) => one.table === table);

async function addAudit(ms: number, security_event = false): Promise<string> {
  const id = uuidv7(ms);
  await knex()('audit_logs').insert({
    environment_id: ctx.environment.id,
    id,
    occurred_at: new Date(ms),
    action: 'test.done',
    outcome: 'success',
    actor_kind: 'system',
    target_type: 'test',
    security_event,
  });
  return id;
}

async function addEvent(ms: number, position: number | null = null): Promise<string> {
  const id = uuidv7(ms);
  await knex()('events').insert({
    environment_id: ctx.environment.id,
    id,
    event_type: 'role.created',
    occurred_at: new Date(ms),
    body: '{}',
    position,
  });
  return id;
}

async function addDelivery(ms: number, completed: number | null): Promise<string> {
  const id = uuidv7(ms);
  const times = { created_at: new Date(ms), updated_at: new Date(ms) };
  await knex()('webhook_deliveries').insert({
    environment_id: ctx.environment.id,
    id,
    webhook_id: randomUUID(),
    event_id: randomUUID(),
    event_type: 'role.created',
    payload: '{}',
    status: completed === null ? 'retrying' : 'failed',
    completed_at: completed === null ? null : new Date(completed),
    next_attempt_at: completed === null ? new Date(ms) : null,
    ...times,
  });
  await knex()('webhook_delivery_attempts').insert({
    environment_id: ctx.environment.id,
    id: uuidv7(ms),
    delivery_id: id,
    attempt_number: 1,
    started_at: new Date(ms),
    duration_ms: 1,
  });
  return id;
}

const rowsOf = async (table: string, id: string, key = 'id') => (await knex()(table).where(key, id)).length;
/** In which partition a row is. */
const placeOf = async (table: string, id: string, key = 'id') =>
  ((await knex()(table).where(key, id).first(knex().raw('tableoid::regclass::text as place'))) as { place: string } | undefined)?.place;

const old: Record<string, string> = {};

test('the table that was there becomes the first partition, with its rows, and there are others for seven days ahead', async () => {
  for (const table of tables()) expect(await partitionsOf(table)).toMatchObject([{ name: `${table}_first`, from: null, to: null }]);
  old['audit_logs'] = await addAudit(at);
  old['security'] = await addAudit(at, true);
  old['events'] = await addEvent(at, 7);
  old['webhook_deliveries'] = await addDelivery(at, at);
  const files = async () =>
    (await knex().raw<{ rows: unknown[] }>(`select relname, relfilenode from pg_class where relname ~ '_first$' order by 1`)).rows;
  const before = await files();
  await pass();
  expect(await files()).toEqual(before);
  for (const { name, keepDays } of partitionedTables(ctx.config)) {
    const found = await partitionsOf(name);
    expect(found[0]).toMatchObject({ name: `${name}_first`, from: null, to: endOfPartition(at + 7 * dayMs, keepDays) });
    expect(found.length).toBe(1);
  }
  expect(await rowsOf('audit_logs', old['audit_logs'])).toBe(1);
  expect(await rowsOf('webhook_delivery_attempts', old['webhook_deliveries'], 'delivery_id')).toBe(1);
  const again = await listPartitions(knex());
  await pass();
  expect(await listPartitions(knex())).toEqual(again);
});

test('as time goes on there is always room for seven days, and what is written lands in the partition of its day', async () => {
  for (let day = 0; day < 70; day++) {
    at += dayMs;
    // Nothing is dropped meanwhile.
    await pass();
    for (const name of tables()) {
      const end = (await partitionsOf(name)).at(-1)?.to as Date;
      expect(end.getTime()).toBeGreaterThanOrEqual(at + 7 * dayMs);
    }
    if (day % 10 === 0) await addDelivery(at, at);
  }
  const id = await addEvent(at);
  const place = (await placeOf('events', id)) as string;
  const own = (await partitionsOf('events')).find(({ name }) => name === place) as Partition;
  expect((own.from as Date).getTime()).toBeLessThanOrEqual(at);
  expect((own.to as Date).getTime()).toBeGreaterThan(at);
  for (const name of tables()) expect((await partitionsOf(name)).length).toBeLessThanOrEqual(32);
  expect((await partitionsOf('webhook_deliveries')).at(-1)?.options).toContain('fillfactor=50');
}, 120_000);

const metric = async (table: string) =>
  (await ctx.metrics.partitionsDropped.get()).values.find(({ labels }) => labels['table'] === table)?.value ?? 0;
const nameOfFirst = async (table: string) => (await partitionsOf(table))[0]?.name;

test('what has expired is dropped, its last position in the feed noted; what the queue names or was ended lately stays, and attempts as long as their delivery', async () => {
  at = Date.now() + 71 * dayMs;
  const [waits, lately, streamed] = [
    await addDelivery(at, null),
    await addDelivery(at + 4 * dayMs, at + 40 * dayMs),
    await addEvent(at, 9),
  ];
  await knex()('log_stream_entries').insert({
    environment_id: ctx.environment.id,
    log_stream_id: randomUUID(),
    source: 'events',
    record_id: streamed,
    due_at: new Date(at),
  });
  const troubled = async () => (await knex()('troubled_deliveries').where('delivery_id', lately)).length;
  expect(await troubled()).toBe(1);
  at += 50 * dayMs;
  await pass();
  // The first ones have gone, days before, with all their rows.
  for (const table of ['events', 'webhook_deliveries', 'webhook_delivery_attempts']) {
    expect(await nameOfFirst(table)).not.toBe(`${table}_first`);
    expect(await metric(table)).toBeGreaterThan(3);
  }
  expect(await rowsOf('events', old['events'] as string)).toBe(0);
  expect(await rowsOf('webhook_deliveries', old['webhook_deliveries'] as string)).toBe(0);
  expect(await rowsOf('webhook_delivery_attempts', old['webhook_deliveries'] as string, 'delivery_id')).toBe(0);
  expect(await knex()('event_retention').where('environment_id', ctx.environment.id).first('position')).toEqual({ position: 7 });
  for (const id of [waits, lately]) {
    expect(await rowsOf('webhook_deliveries', id)).toBe(1);
    expect(await rowsOf('webhook_delivery_attempts', id, 'delivery_id')).toBe(1);
  }
  expect(await rowsOf('events', streamed)).toBe(1);
  // The stream has sent it.
  await knex()('log_stream_entries').delete();
  await pass();
  expect(await rowsOf('events', streamed)).toBe(0);
  expect(await knex()('event_retention').where('environment_id', ctx.environment.id).first('position')).toEqual({ position: 9 });
  // The last attempt is made.
  const ended = { status: 'failed', completed_at: new Date(at - 31 * dayMs), next_attempt_at: null };
  await knex()('webhook_deliveries').where('id', waits).update(ended);
  await pass();
  expect([await rowsOf('webhook_deliveries', waits), await rowsOf('webhook_deliveries', lately)]).toEqual([0, 1]);
  at += 21 * dayMs;
  await pass();
  for (const id of [waits, lately]) {
    expect(await rowsOf('webhook_deliveries', id)).toBe(0);
    expect(await rowsOf('webhook_delivery_attempts', id, 'delivery_id')).toBe(0);
  }
  expect(await troubled()).toBe(0);
});

test('security events are deleted after their own time, in every partition; the others stay until their partition goes', async () => {
  const [kept, gone] = [await addAudit(at), await addAudit(at, true)];
  expect(await placeOf('audit_logs', gone)).not.toBe('audit_logs_first');
  expect(await janitorPass(ctx)).toMatchObject({ audit_logs: 0 });
  at += 181 * dayMs;
  await pass();
  expect(await janitorPass(ctx)).toMatchObject({ audit_logs: 2 });
  expect([await rowsOf('audit_logs', gone), await rowsOf('audit_logs', kept)]).toEqual([0, 1]);
  expect(await rowsOf('audit_logs', old['audit_logs'] as string)).toBe(1);
  at += 190 * dayMs;
  await pass();
  expect(await nameOfFirst('audit_logs')).not.toBe('audit_logs_first');
  expect([await rowsOf('audit_logs', old['audit_logs'] as string), await rowsOf('audit_logs', kept)]).toEqual([0, 1]);
});

test('whoever reads a partition keeps it; the job gives way at once, everybody else goes on meanwhile, and it goes afterwards (fault F66)', async () => {
  await addEvent(at);
  at += 40 * dayMs;
  const name = (await nameOfFirst('events')) as string;
  await other.transaction(async (held) => {
    await held.raw('select count(*) from events');
    await pass();
    expect(await listPartitions(knex())).toContainEqual(expect.objectContaining({ name, is_detaching: true }));
    await addEvent(at);
    await other('events').count();
    // Nor does a second pass get stuck at what the first one has begun.
    await pass();
  });
  await pass();
  expect((await listPartitions(knex())).map((one) => one.name)).not.toContain(name);
});

test('a partition that was detached before a kill is dropped; one that an administrator has detached is left alone', async () => {
  at += 4 * dayMs;
  await pass();
  const [killed, kept] = (await partitionsOf('audit_logs')).map(({ name }) => name) as [string, string];
  await knex().raw(`comment on table ?? is 'expired'`, [killed]);
  for (const name of [killed, kept]) await knex().raw('alter table audit_logs detach partition ??', [name]);
  const before = await metric('audit_logs');
  await pass();
  expect(await metric('audit_logs')).toBe(before + 1);
  const { rows } = await knex().raw<{ rows: { killed: string | null; kept: string | null }[] }>(
    'select to_regclass(?) as killed, to_regclass(?) as kept',
    [killed, kept],
  );
  expect(rows).toEqual([{ killed: null, kept }]);
  await knex().raw('drop table ??', [kept]);
});

test('a row is looked for in its partition alone', async () => {
  const [event, entry, delivery] = [await addEvent(at), await addAudit(at), await addDelivery(at, at)];
  const plan = async (of: string, id: string) => {
    const { rows } = await knex().raw<{ rows: Record<string, string>[] }>(`explain ${of}`, [ctx.environment.id, id]);
    return [
      ...new Set(rows.flatMap((row) => [...(row['QUERY PLAN'] as string).matchAll(/on (\w+_(?:first|\d{8}))\b/g)].map(([, name]) => name))),
    ];
  };
  const byId = async (table: string, id: string, key = 'id') => {
    const own = [await placeOf(table, id, key)];
    const where = `where environment_id = ?::uuid and ${key} = ?::uuid`;
    expect(await plan(`select * from ${table} ${where}`, id)).toEqual(own);
    expect(await plan(`update ${table} set environment_id = environment_id ${where}`, id)).toEqual(own);
    // As a plan that was made before the id was known: the others are taken out of it when it begins.
    const { rows } = await knex().transaction(async (trx) => {
      await trx.raw('set local plan_cache_mode = force_generic_plan');
      await trx.raw(`prepare look_${table} (uuid, uuid) as select * from ${table} where environment_id = $1 and ${key} = $2`);
      return trx.raw<{ rows: Record<string, string>[] }>(
        `explain (analyze, costs off, timing off, summary off) execute look_${table} ('${ctx.environment.id}', '${id}')`,
      );
    });
    const lines = rows.map((row) => row['QUERY PLAN'] as string);
    expect(lines.filter((line) => line.includes(' on ')).length).toBe(1);
    expect(lines.join('\n')).toMatch(/Subplans Removed: [1-9]/);
  };
  await byId('events', event);
  await byId('audit_logs', entry);
  await byId('webhook_deliveries', delivery);
  await byId('webhook_delivery_attempts', delivery, 'delivery_id');
});

test('look-ups and writes go on without an error while partitions are detached and dropped (fault F67)', async () => {
  const ids = [await addEvent(at)];
  for (let turn = 0; turn < 10; turn++) {
    at += 3 * dayMs;
    await pass();
    ids.push(await addEvent(at));
  }
  const written = at;
  at += 15 * dayMs;
  let over = false;
  let answers = 0;
  const look = async () => {
    while (!over) {
      for (const id of ids.slice(0, 6)) {
        await other.raw('select * from events where environment_id = ? and id = ?', [ctx.environment.id, id]);
        await ctx.db.knex('events').where({ environment_id: ctx.environment.id, id }).first();
      }
      await addEvent(written);
      answers += 1;
    }
  };
  const lookers = [look(), look(), look()];
  const before = await metric('events');
  await expect.poll(() => answers).toBeGreaterThan(20);
  // Each may have to give way to one that looks.
  await expect
    .poll(async () => {
      await pass();
      return (await listPartitions(knex())).filter(
        ({ table, to }) => table !== 'audit_logs' && to !== null && to.getTime() + 30 * dayMs <= at,
      );
    })
    .toEqual([]);
  over = true;
  await Promise.all(lookers);
  expect(await metric('events')).toBeGreaterThan(before + 2);
});

test('after weeks in which nobody ran, a process that starts makes room before it serves, in one partition for all of that time', async () => {
  const before = (await partitionsOf('audit_logs')).length;
  at += 300 * dayMs;
  await expect(addAudit(at)).rejects.toThrow('no partition of relation "audit_logs" found for row');
  await makeRoom(ctx, database.url);
  await addAudit(at);
  expect((await partitionsOf('audit_logs')).length).toBeLessThanOrEqual(before + 2);
});

test('ids beyond the end that the first partition gets leave it as it is, and writable', async () => {
  const fresh = await createTestDatabase({ isNew: true });
  const opened = await openContext(fresh.url, Buffer.alloc(32, 7).toString('base64'));
  try {
    const add = (id: string) =>
      opened.ctx.db
        .knex('events')
        .insert({ environment_id: opened.ctx.environment.id, id, event_type: 'role.created', occurred_at: new Date(), body: '{}' });
    await add('ffffffff-ffff-4fff-8fff-ffffffffffff');
    await expect(partitionsPass(opened.ctx, fresh.url)).rejects.toThrow('is violated by some row');
    await add('ffffffff-ffff-4fff-8fff-fffffffffffe');
    const found = await listPartitions(opened.ctx.db.knex);
    expect(found.filter(({ to }) => to === null).map(({ table }) => table)).toEqual(['events']);
  } finally {
    await opened.close();
    await fresh.drop();
  }
});

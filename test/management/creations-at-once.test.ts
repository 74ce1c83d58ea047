// Bursts of creations whose number is limited, which wait for one another: a small pool, and what others ask for meanwhile.
import { afterEach, beforeAll, expect, test } from 'vitest';
import { createKnex, poolState, processLocksOf } from '../../src/db/connection/knex.js';
import { createScope, holdLock } from '../../src/db/scope.js';
import { manage, startManagedService } from '../support/management.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService(() => startManagedService({ DATABASE_POOL_MAX: '4' }));
const ctx = contextOf(service);
const api = shared(() => manage(service.url));

beforeAll(async () => {
  // What the first request of its kind loads takes a while.
  await Promise.all([create(0), api.get('/users')]);
  await ctx.db.knex('log_streams').delete();
});

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const create = (n: number) => {
  const attributes = { name: `Stream ${n}`, url: 'https://siem.example.com/', format: 'native', sources: ['audit_logs'], status: 'paused' };
  return api.attempt('log_streams', attributes);
};

/** Another process that is about to create one, and takes its time. */
async function holdElsewhere(): Promise<() => Promise<void>> {
  const other = createKnex({ url: service.databaseUrl, poolMax: 1 });
  const trx = await other.transaction();
  await holdLock(createScope(trx, ctx.environment.id), 'log_streams');
  const release = async () => {
    if (!trx.isCompleted()) await trx.rollback();
  };
  closing.push(release, () => other.destroy());
  return release;
}

const waiting = () => processLocksOf(service.deps.db.knex).state().length;

test('creations that wait for one another hold one connection together: everything else is answered, and the limit is exact (fault F10)', async () => {
  const release = await holdElsewhere();
  const burst = Promise.all(Array.from({ length: 40 }, (_, n) => create(n)));
  closing.push(() => burst);
  await expect.poll(waiting, { timeout: 4000 }).toBe(39);
  await expect.poll(() => poolState(service.deps.db.knex), { timeout: 4000 }).toMatchObject({ used: 1, waiting: 0 });
  const beside = await Promise.all(Array.from({ length: 20 }, () => api.get('/users')));
  expect(beside.map(({ status }) => status)).toEqual(Array<number>(20).fill(200));
  expect(waiting()).toBe(39);
  await release();
  const answers = await burst;
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
  const refused = answers.filter(({ status }) => status !== 201).map(({ status, body }) => [status, body['errors'][0].code]);
  expect(refused).toEqual(Array(30).fill([409, 'too_many']));
  expect(await ctx.db.knex('log_streams').where({ environment_id: ctx.environment.id })).toHaveLength(10);
  expect(waiting()).toBe(0);
});

test('a creation that is not handed its lock in time is refused with 503, and the next one is served (fault F10)', async () => {
  await ctx.db.knex('log_streams').delete();
  const release = await holdElsewhere();
  const answers = await Promise.all([1, 2, 3].map(create));
  expect(answers.map(({ status, headers }) => [status, Number(headers.get('retry-after')) > 0])).toEqual(Array(3).fill([503, true]));
  await release();
  expect((await create(4)).status).toBe(201);
  expect(await ctx.db.knex('log_streams')).toHaveLength(1);
});

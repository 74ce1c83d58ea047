// GET /readyz as strangers can ask for it: always let in, whatever else the process has to do.
import type { Knex } from 'knex';
import { afterAll, expect, test } from 'vitest';
import { sharedService } from '../support/shared-service.js';
import { Agent, request } from 'undici';
import { startTestService } from '../support/service.js';

const agent = new Agent({ connections: 300 });

const service = sharedService(() => startTestService({ DATABASE_POOL_MAX: '5' }));
afterAll(async () => agent.destroy());

test('a flood of readiness checks shares a look at the database, and none of them is told that there is no connection (attack 18.350)', async () => {
  const { knex } = service.deps.db;
  const looksAt = ({ sql }: { sql: string }) => sql.includes('from "knex_migrations"');
  let looking = 0;
  let most = 0;
  knex.on('query', (query: { sql: string }) => looksAt(query) && (most = Math.max(most, (looking += 1))));
  knex.on('query-response', (_rows: unknown, query: { sql: string }) => looksAt(query) && (looking -= 1));
  const answers = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const { statusCode, body } = await request(`${service.url}/readyz`, { dispatcher: agent });
      await body.dump();
      return statusCode;
    }),
  );
  expect(new Set(answers)).toEqual(new Set([200]));
  expect(most).toBe(1);
});

test(
  'a process whose connections are all taken stays ready for a while: it is busy, and says so in its metrics',
  { timeout: 150_000 },
  async () => {
    const ready = async () => {
      const { statusCode, body } = await request(`${service.url}/readyz`, { dispatcher: agent });
      await body.dump();
      return statusCode;
    };
    const { knex } = service.deps.db;
    const held: Knex.Transaction[] = [];
    // The service's own jobs have one now and then.
    const hold = async (count: number) => {
      while (held.length < count) await knex.transaction().then((trx) => held.push(trx), () => undefined); // prettier-ignore
    };
    let looks = 0;
    knex.on('query-response', (_rows: unknown, { sql }: { sql: string }) => (looks += sql.includes('from "knex_migrations"') ? 1 : 0));
    await hold(4);
    try {
      // When the second look has begun, the first has ended well: an answer alone may be that of an older one.
      await expect.poll(async () => (await ready()) === 200 && looks > 1, { timeout: 40_000 }).toBe(true);
      await hold(5);
      expect(await ready()).toBe(200);
      // What was seen seconds ago says nothing any more.
      await expect.poll(ready, { timeout: 40_000 }).toBe(503);
    } finally {
      await Promise.all(held.map((trx) => trx.rollback()));
    }
    await expect.poll(ready, { timeout: 40_000 }).toBe(200);
  },
);

test('once somebody has asked, the process looks by itself, and an answer waits for no look', async () => {
  const { knex } = service.deps.db;
  let begun = 0;
  knex.on('query', ({ sql }: { sql: string }) => (begun += sql.includes('from "knex_migrations"') ? 1 : 0));
  const ready = async () => {
    const { statusCode, body } = await request(`${service.url}/readyz`, { dispatcher: agent });
    await body.dump();
    return statusCode;
  };
  expect(await ready()).toBe(200);
  // Nobody asks meanwhile.
  await expect.poll(() => begun, { timeout: 20_000 }).toBeGreaterThan(1);
  const before = begun;
  for (let i = 0; i < 20; i++) expect(await ready()).toBe(200);
  expect(begun).toBeLessThanOrEqual(before + 1);
});

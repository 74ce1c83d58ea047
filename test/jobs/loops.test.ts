// What runs in the background of a service that nobody asks for anything.
import { expect, test } from 'vitest';
import { startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService(() => startTestService({}, { upkeep: true }));
const ctx = contextOf(service);

/** How long each loop has been resting, in whole seconds; null during a pass. */
async function rests(): Promise<Readonly<Record<string, number | null>>> {
  await ctx.db.knex.raw("select pg_notify('outbox', 'processes')");
  const { rows } = await ctx.db.knex.raw<{ rows: { loops: Record<string, { idle: number | null }> }[] }>('select loops from processes');
  return Object.fromEntries(Object.entries(rows[0]?.loops ?? {}).map(([name, { idle }]) => [name, idle]));
}

test('every loop rests when there is nothing to do, the one that renews statistics too', async () => {
  const rested = new Set<string>();
  const restless = async () => {
    const seen = Object.entries(await rests());
    for (const [name, idle] of seen) if (idle !== null && idle >= 1) rested.add(name);
    return seen.length === 0 ? null : seen.map(([name]) => name).filter((name) => !rested.has(name));
  };
  await expect.poll(restless, { timeout: 30_000, interval: 150 }).toEqual([]);
  expect([...rested]).toContain('statistics');
});

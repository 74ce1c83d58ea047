import { expect, test } from 'vitest';
import { createCache } from '../../src/domain/cache/cache.js';
import { startCacheSync } from '../../src/jobs/cache-sync.js';
import { addClient } from '../support/data.js';
import { createTestClock } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();

const environment_id = '0195e8a2-6f00-7000-8000-000000000001';

/** A process that remembers one thing and has just looked for changes. */
async function remembering() {
  const clock = createTestClock();
  const cache = createCache({ clock });
  const sync = startCacheSync({ ...service.deps, cache, clock });
  await sync.sync();
  await cache.get(environment_id, 'clients', 'one', async () => 'as it was');
  return { clock, sync, remembered: () => cache.recall(environment_id, 'clients', 'one') };
}

test('a process that was suspended for longer than changes are looked back at forgets what it remembered (specification 5.12.1)', async () => {
  const { clock, sync, remembered } = await remembering();
  try {
    expect(remembered()).toBe('as it was');
    // Changed while the process slept, too long ago for the next look; the notification was lost.
    await service.deps.db.knex.raw(
      `insert into cache_changes (changed_at, environment_id, kind) values (clock_timestamp() - interval '44 seconds', ?, 'clients')`,
      [environment_id],
    );
    clock.advance(45_000);
    await sync.sync();
    expect(remembered()).toBeUndefined();
  } finally {
    await sync.close();
  }
});

test('a process that looks as often as it should keeps what did not change', async () => {
  const { clock, sync, remembered } = await remembering();
  try {
    clock.advance(800);
    await sync.sync();
    expect(remembered()).toBe('as it was');
  } finally {
    await sync.close();
  }
});

/** What is remembered of several clients, and of what they make together. */
async function rememberingMany() {
  const { id } = (await service.context()).environment;
  const clock = createTestClock();
  const cache = createCache({ clock });
  const sync = startCacheSync({ ...service.deps, cache, clock });
  await sync.sync();
  const [changed, other] = [await addClient(await service.context()), await addClient(await service.context())];
  await sync.sync();
  const keys = { changed: changed.id, other: other.id, together: ' allowed origins' };
  for (const key of Object.values(keys)) await cache.get(id, 'clients', key, async () => 'as it was');
  const kept = () => Object.entries(keys).flatMap(([name, key]) => (cache.recall(id, 'clients', key) === undefined ? [] : [name]));
  return { id, cache, sync, changed, kept };
}

test('a changed client is forgotten with what clients make together, and the others are kept: by the rows, and by a notification', async () => {
  const { id, sync, changed, kept } = await rememberingMany();
  try {
    expect(kept()).toEqual(['changed', 'other', 'together']);
    await service.deps.db.knex('clients').where({ id: changed.id }).update({ name: 'Another' });
    await sync.sync();
    expect(kept()).toEqual(['other']);
    sync.notified(`${id} clients`);
    expect(kept()).toEqual([]);
  } finally {
    await sync.close();
  }
});

test('what is being read while its record changes is not remembered, and what is read of another is', async () => {
  const { id, cache, sync, changed, kept } = await rememberingMany();
  try {
    sync.notified(`${id} clients`);
    const reads = [changed.id, 'another'].map((key) => {
      let resolve = (_value: string): void => undefined;
      const read = cache.get(id, 'clients', key, () => new Promise<string>((done) => (resolve = done)));
      return { key, resolve, read };
    });
    sync.notified(`${id} clients ${changed.id}`);
    for (const { resolve } of reads) resolve('as it was');
    await Promise.all(reads.map(({ read }) => read));
    expect([kept(), cache.recall(id, 'clients', 'another')]).toEqual([[], 'as it was']);
  } finally {
    await sync.close();
  }
});

test('changes outlive a crash of the database, as what is remembered does (specification 5.12.1)', async () => {
  const { rows } = await service.deps.db.knex.raw<{ rows: { relpersistence: string }[] }>(
    `select relpersistence from pg_class where oid = 'cache_changes'::regclass`,
  );
  // p: permanent; u, unlogged, would be emptied.
  expect(rows).toEqual([{ relpersistence: 'p' }]);
});

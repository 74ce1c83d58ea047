import { expect, test } from 'vitest';
import { pino } from 'pino';
import { createClaiming } from '../../../src/outbox/queue/claiming.js';
import { createDestinations } from '../../../src/outbox/queue/destinations.js';
import type { DueDestination } from '../../../src/db/queue-rows.js';
import type { Job } from '../../../src/outbox/queue/queue.js';
import { createMetrics } from '../../../src/platform/metrics/metrics.js';
import { queueOf } from '../../support/outbox-queue.js';

const environment_id = 'e';

/** A queue of which any number is due: it answers all that is asked for, once `meanwhile` has happened, and tells what was asked for. */
function endless(held: number, meanwhile = () => {}) {
  const asked: Record<string, number>[] = [];
  const queue = queueOf({
    name: 'endless',
    limits: { held },
    async claim(wanted: readonly (DueDestination & { limit: number })[]) {
      asked.push(Object.fromEntries(wanted.map(({ id, limit }) => [id, limit])));
      meanwhile();
      return wanted.flatMap(({ id, limit }) => {
        const destination = { environment_id, id };
        return Array.from({ length: limit }, () => ({ destination, due_at: new Date(), lease_id: 'l', claimedAt: performance.now() }));
      });
    },
  });
  const destinations = createDestinations<Job>(5);
  const claim = createClaiming(queue, { logger: pino({ level: 'silent' }), metrics: createMetrics() }, destinations);
  return { asked, destinations, claim };
}

/** Quick destinations that hold this many jobs each, with more due. */
function holding(counts: Record<string, number>, held = 2000) {
  const { asked, destinations, claim } = endless(held);
  for (const [id, count] of Object.entries(counts)) {
    const destination = destinations.of({ environment_id, id });
    destination.averageMs = 1;
    destination.due_at = new Date();
    for (let i = 0; i < count; i++)
      destination.waiting.push({ destination, due_at: destination.due_at, lease_id: 'l', claimedAt: performance.now() });
  }
  return { asked, claim };
}

test('a claim for a webhook that has half run out takes others along that have run out by a quarter', async () => {
  const { asked, claim } = holding({ half: 99, quarter: 150, nearlyFull: 151 });
  await claim(0);
  expect(asked).toEqual([{ half: 101, quarter: 50 }]);
});

test('nothing is claimed while no webhook has half run out', async () => {
  const { asked, claim } = holding({ quarter: 150, more: 101 });
  expect(await claim(0)).toBeNull();
  expect(asked).toEqual([]);
});

test('when little may be claimed, the webhooks that have half run out get it', async () => {
  const { asked, claim } = holding({ quarter: 150, half: 90 }, 375);
  await claim(10);
  expect(asked).toEqual([{ half: 50 }]);
});

test('a fifth of what a process may hold is claimed for environments that hold little alone (attack 22.861)', async () => {
  const { asked, destinations, claim } = endless(50);
  destinations.of({ environment_id, id: 'slow' }).inFlight = 40;
  for (const id of ['slow', 'another']) destinations.expect([{ environment_id, id, due_at: new Date() }]);
  expect(await claim(0)).toBeNull();
  destinations.expect([{ environment_id: 'quiet', id: 'quick', due_at: new Date() }]);
  await claim(0);
  expect(asked).toEqual([{ quick: 5 }]);
});

test('what is not recorded yet counts: a process does not claim on while its results wait for the database', async () => {
  const { asked, claim } = holding({ empty: 0 }, 300);
  expect(await claim(300)).toBeNull();
  expect(asked).toEqual([]);
});

test('what is given back while a claim is under way is looked for by the next one, from when it was due', async () => {
  const before = new Date(Date.now() - 60_000);
  const { destinations, claim } = endless(300, () =>
    destinations.expectAgain([{ destination: { environment_id, id: 'one' }, due_at: before, lease_id: 'l', claimedAt: 0 }]),
  );
  destinations.expect([{ environment_id, id: 'one', due_at: new Date() }]);
  await claim(0);
  expect(destinations.of({ environment_id, id: 'one' }).due_at).toEqual(before);
});

test('a claim that got all it asked for goes on behind the last of it', async () => {
  const { destinations, claim } = endless(300);
  const before = new Date(Date.now() - 60_000);
  destinations.expect([{ environment_id, id: 'one', due_at: before }]);
  await claim(0);
  const { due_at, waiting } = destinations.of({ environment_id, id: 'one' });
  expect(due_at).toEqual(waiting.at(-1)?.due_at);
});

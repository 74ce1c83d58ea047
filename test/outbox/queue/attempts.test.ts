import { expect, test } from 'vitest';
import { pino } from 'pino';
import { createAttempts } from '../../../src/outbox/queue/attempts.js';
import { createDestinations } from '../../../src/outbox/queue/destinations.js';
import type { Job } from '../../../src/outbox/queue/queue.js';
import { createReleases } from '../../../src/outbox/queue/releases.js';
import { queueOf } from '../../support/outbox-queue.js';

/** A queue with so many slots for everybody, two of which each destination may have, and whose attempts end when told to. */
function slotsOf(inFlight: number) {
  const begun: { id: string; end: () => void }[] = [];
  const queue = queueOf({
    name: 'few slots',
    limits: { inFlight, inFlightPerDestination: 2 },
    attempt: (job) =>
      new Promise((resolve) => begun.push({ id: job.destination.id, end: () => resolve({ ok: true, durationMs: 1, retry_in_ms: null }) })),
  });
  const destinations = createDestinations<Job>(2);
  const releases = createReleases(queue, destinations, pino({ level: 'silent' }));
  const attempts = createAttempts(queue, { destinations, releases, tracer: null, onResult: () => undefined, onEnd: () => undefined });
  const wait = (environment_id: string, id: string, count: number) => {
    const destination = destinations.of({ environment_id, id });
    for (let i = 0; i < count; i++)
      destination.waiting.push({ destination, due_at: new Date(), lease_id: 'l', claimedAt: performance.now() });
  };
  const endNext = async (ended: number) => {
    begun[ended]?.end();
    await expect.poll(() => begun.length).toBe(ended + 3);
  };
  return { begun, destinations, attempts, wait, endNext };
}

test('when slots are scarce, one that comes free goes to the environment that has fewest attempts in flight', async () => {
  const { begun, destinations, attempts, wait, endNext } = slotsOf(2);
  for (const id of ['a1', 'a2', 'a3']) wait('crowded', id, 2);
  attempts.start(destinations.all());
  wait('quiet', 'b1', 1);
  for (const ended of [0, 1, 2, 3]) await endNext(ended);
  expect(begun.map(({ id }) => id)).toEqual(['a1', 'a1', 'b1', 'a2', 'a3', 'a2']);
});

test('within an environment it goes to the destination that has fewest', async () => {
  const { begun, destinations, attempts, wait, endNext } = slotsOf(2);
  wait('one', 'a1', 4);
  wait('one', 'a2', 1);
  attempts.start(destinations.all());
  await endNext(0);
  expect(begun.map(({ id }) => id)).toEqual(['a1', 'a1', 'a2']);
});

test('a fifth of the slots is for environments that have few attempts in flight, however many slow ones others have (attack 22.861)', () => {
  const { begun, destinations, attempts, wait } = slotsOf(10);
  const begunBy = () => begun.map(({ id }) => id);
  for (const id of ['a1', 'a2', 'a3', 'a4', 'a5']) wait('crowded', id, 2);
  attempts.start(destinations.all());
  expect(begunBy()).toEqual(['a1', 'a1', 'a2', 'a2', 'a3', 'a3', 'a4', 'a4']);
  wait('quiet', 'b1', 1);
  attempts.start(destinations.all());
  expect(begunBy().slice(8)).toEqual(['b1']);
  wait('quiet', 'b2', 2);
  attempts.start(destinations.all());
  expect(begunBy().slice(8)).toEqual(['b1', 'b2']);
});

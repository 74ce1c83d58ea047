import { expect, test } from 'vitest';
import { pino } from 'pino';
import { createClaiming } from '../../../src/outbox/queue/claiming.js';
import { createDestinations } from '../../../src/outbox/queue/destinations.js';
import type { Job } from '../../../src/outbox/queue/queue.js';
import { createReleases } from '../../../src/outbox/queue/releases.js';
import { createMetrics } from '../../../src/platform/metrics/metrics.js';
import { queueOf } from '../../support/outbox-queue.js';

test('what is given back is looked for once it is back, though a claim that looked before has found nothing', async () => {
  const logger = pino({ level: 'silent' });
  let back = () => {};
  const queue = queueOf({ name: 'slow to take back', release: () => new Promise((resolve) => (back = resolve)) });
  const destinations = createDestinations<Job>(5);
  const releases = createReleases(queue, destinations, logger);
  const destination = { environment_id: 'e', id: 'one' };
  const due_at = new Date(Date.now() - 120_000);
  releases.give([{ destination, due_at, lease_id: 'l', claimedAt: 0 }]);
  await createClaiming(queue, { logger, metrics: createMetrics() }, destinations)(0);
  expect(destinations.someDue()).toBe(false);
  back();
  await releases.settled();
  expect(destinations.of(destination).due_at).toEqual(due_at);
});

import { createHash } from 'node:crypto';
import { startReceiver, type ReceivedPost, type Receiver } from '../support/receiver.js';
import type { Delivered, Outcome } from './history.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';

/** How often a delivery is failed on purpose at most: fewer times than it is tried. */
const failures = 2;

function deliveredOf({ body, event_id }: ReceivedPost): Delivered {
  const { event, data } = JSON.parse(body) as { event: string; data: Record<string, string> };
  const isRole = event.startsWith('role.');
  return {
    event_id,
    event_type: event,
    bytes: createHash('sha256').update(body).digest('base64url'),
    record: isRole ? `role:${data['name']}` : `user:${data['email']}`,
    value: (isRole ? data['description'] : data['last_name']) ?? '',
  };
}

/** A webhook receiver that records what comes, and now and then answers 500, 503 or nothing. */
export function startFailingReceiver(recorder: Recorder, random: Random): Promise<Receiver> {
  const failed = new Map<string, number>();
  return startReceiver((post, res) => {
    const times = failed.get(post.event_id) ?? 0;
    const fails = times < failures && random.chance(0.15);
    if (fails) failed.set(post.event_id, times + 1);
    const status = fails ? random.pick([500, 503, 0]) : 200;
    const outcome: Outcome = fails ? 'refused' : 'ok';
    const now = recorder.now();
    recorder.add({ kind: 'delivery', replica: '-', start: now, end: now, outcome, status, delivers: deliveredOf(post) });
    if (status === 0) res.destroy();
    else res.writeHead(status).end();
  });
}

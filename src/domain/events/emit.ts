import { storeEvent } from '../../db/tables/events.js';
import { listSubscribers } from '../../db/tables/webhooks.js';
import { uuidv7 } from '../../lib/random.js';
import { remembered, type Context } from '../context.js';
import type { EventData, EventType } from './catalogue.js';

/** The exact text of a payload: its five members in their fixed order (specification 7.2.3). */
export function payloadText<Type extends EventType>(
  event: { id: string; type: Type; at: Date; environment_id: string },
  data: EventData<Type>,
): string {
  return JSON.stringify({
    event: event.type,
    event_id: event.id,
    timestamp: event.at.toISOString(),
    environment_id: event.environment_id,
    data,
  });
}

/**
 * Stores the event and a delivery for each webhook that wants it. Call it with the context of the transaction that makes
 * the change: both or neither are kept. Nothing is sent here; the outbox wakes at commit.
 */
export async function emit<Type extends EventType>(tx: Context, type: Type, data: EventData<Type>): Promise<void> {
  const at = tx.clock.now();
  const id = uuidv7(at.getTime());
  const body = payloadText({ id, type, at, environment_id: tx.environment.id }, data);
  await storeEvent(tx.scope, { id, type, at, body, subscribers: null });
}

/** Who wants `token.issued`, from memory: while nobody does, issuing a token costs nothing more. */
export async function tokenIssuedSubscribers(ctx: Context): Promise<readonly string[]> {
  const known = await remembered(ctx, 'webhooks', 'token.issued', ({ scope }) => listSubscribers(scope, 'token.issued'));
  return known ?? [];
}

import { storeEvents, storePendingEvents } from '../../db/tables/events.js';
import type { PendingEvent } from '../../db/scope.js';
import { listSubscriptions } from '../../db/tables/webhooks.js';
import { uuidv7 } from '../../lib/random.js';
import { remembered, type Context } from '../context.js';
import { isNamedEvent, type EventData, type EventType } from './catalogue.js';

/** The exact text of a payload: its five members in their fixed order (specification 7.2.3). */
export const payloadText = <Type extends EventType>(
  event: { id: string; type: Type; at: Date; environment_id: string },
  data: EventData<Type>,
): string =>
  JSON.stringify({ event: event.type, event_id: event.id, timestamp: event.at.toISOString(), environment_id: event.environment_id, data });

/** Which webhooks name an event type, from memory: what comes by name only costs no look-up while nobody does. */
async function subscribersByName(ctx: Context, type: EventType): Promise<readonly string[]> {
  const known = await remembered(ctx, 'webhooks', 'by_name', async ({ scope }) => {
    const subscriptions = new Map<string, string[]>();
    for (const { id, events } of await listSubscriptions(scope))
      for (const name of events) subscriptions.set(name, [...(subscriptions.get(name) ?? []), id]);
    return subscriptions;
  });
  return known?.get(type) ?? [];
}

/** No webhook has this id: an event with it as subscriber is stored, and delivered to nobody. */
const nobody = ['00000000-0000-0000-0000-000000000000'];

/** Who wants `token.issued`, which is stored by the statement that stores the token; empty when it isn't stored (specification 7.2.1). */
export async function tokenIssuedSubscribers(ctx: Context): Promise<readonly string[]> {
  const subscribers = await subscribersByName(ctx, 'token.issued');
  return subscribers.length === 0 && ctx.environment.record_token_issued ? nobody : subscribers;
}

/** As many as are collected before they are stored: a statement has to stay short. */
const eventsAtOnce = 1000;

/**
 * Has an event stored for each of the data, and a delivery for each webhook that wants it. Call it with the context of the transaction that makes the change:
 * both or neither are kept. They go with the transaction's next audit entry, or before its commit. Nothing is sent here; the outbox wakes at commit.
 */
export async function emitAll<Type extends EventType>(tx: Context, type: Type, data: readonly EventData<Type>[]): Promise<void> {
  if (data.length === 0 || tx.silent) return;
  const pending = tx.scope.events ?? [];
  tx.closing?.push(() => storePendingEvents(tx.scope));
  for (const one of await pendingEvents(tx, type, data)) {
    pending.push(one);
    if (pending.length === eventsAtOnce) await storeEvents(tx.scope, pending.splice(0));
  }
  if (!tx.scope.events) await storeEvents(tx.scope, pending);
}

/** The events as they are stored, for a statement that stores more than them. */
export async function pendingEvents<Type extends EventType>(
  ctx: Context,
  type: Type,
  data: readonly EventData<Type>[],
): Promise<PendingEvent[]> {
  const subscribers = isNamedEvent(type) ? await subscribersByName(ctx, type) : null;
  const occurred_at = ctx.clock.now();
  return data.map((one) => {
    const id = uuidv7(occurred_at.getTime());
    const body = payloadText({ id, type, at: occurred_at, environment_id: ctx.environment.id }, one);
    return { id, event_type: type, occurred_at, body, subscribers };
  });
}

/** Stores one event, see {@link emitAll}. */
export const emit = <Type extends EventType>(tx: Context, type: Type, data: EventData<Type>): Promise<void> => emitAll(tx, type, [data]);

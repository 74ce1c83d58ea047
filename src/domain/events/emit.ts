import { storeEvents } from '../../db/tables/events.js';
import { listSubscriptions } from '../../db/tables/webhooks.js';
import { uuidv7 } from '../../lib/random.js';
import { remembered, type Context } from '../context.js';
import { isNamedEvent, type EventData, type EventType } from './catalogue.js';

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

/** Which webhooks name an event type, from memory: what comes by name only costs nothing while nobody does. */
async function subscribersByName(ctx: Context, type: EventType): Promise<readonly string[]> {
  const known = await remembered(ctx, 'webhooks', 'by_name', async ({ scope }) => {
    const subscriptions = new Map<string, string[]>();
    for (const { id, events } of await listSubscriptions(scope))
      for (const name of events) subscriptions.set(name, [...(subscriptions.get(name) ?? []), id]);
    return subscriptions;
  });
  return known?.get(type) ?? [];
}

/** Who wants `token.issued`, which is stored by the statement that stores the token. */
export const tokenIssuedSubscribers = (ctx: Context): Promise<readonly string[]> => subscribersByName(ctx, 'token.issued');

/** Whether a webhook names the event type. */
export const isNamed = async (ctx: Context, type: EventType): Promise<boolean> => (await subscribersByName(ctx, type)).length > 0;

const eventsAtOnce = 1000;

/**
 * Stores an event for each of the data, and a delivery for each webhook that wants it. Call it with the context of the transaction that makes the change:
 * both or neither are kept. Nothing is sent here; the outbox wakes at commit. Of a type that comes by name only nothing is stored, and no statement spent,
 * while no webhook names it.
 */
export async function emitAll<Type extends EventType>(tx: Context, type: Type, data: readonly EventData<Type>[]): Promise<void> {
  if (data.length === 0 || tx.silent) return;
  const subscribers = isNamedEvent(type) ? await subscribersByName(tx, type) : null;
  if (subscribers?.length === 0) return;
  const at = tx.clock.now();
  for (let first = 0; first < data.length; first += eventsAtOnce) {
    const events = data.slice(first, first + eventsAtOnce).map((one) => {
      const id = uuidv7(at.getTime());
      return { id, body: payloadText({ id, type, at, environment_id: tx.environment.id }, one) };
    });
    await storeEvents(tx.scope, type, at, subscribers, events);
  }
}

/** Stores one event, see {@link emitAll}. */
export const emit = <Type extends EventType>(tx: Context, type: Type, data: EventData<Type>): Promise<void> => emitAll(tx, type, [data]);

import { insert, run, type Scope } from '../scope.js';

/** A row of `events`: what happened, and the exact text that every delivery of it sends. */
export type EventRow = { environment_id: string; id: string; event_type: string; occurred_at: Date; body: string };

/** Stores an event by itself: one that concerns a single webhook. */
export async function insertEvent(scope: Scope, row: Omit<EventRow, 'environment_id'>): Promise<void> {
  await insert<EventRow>(scope, 'events', row);
}

/** Stores an event and its deliveries; without `subscribers` the database looks for the webhooks that want it. */
export async function storeEvent(
  scope: Scope,
  event: { id: string; type: string; at: Date; body: string; subscribers: readonly string[] | null },
): Promise<void> {
  await run(scope, { name: 'events.store', text: 'select store_event($1, $2::uuid, $3, $4::timestamptz, $5, $6::uuid[])' }, [
    event.id,
    event.type,
    event.at,
    event.body,
    event.subscribers,
  ]);
}

import { insert, run, type Scope } from '../scope.js';

/** A row of `events`: what happened, and the exact text that every delivery of it sends. */
export type EventRow = { environment_id: string; id: string; event_type: string; occurred_at: Date; body: string };

/** Stores an event by itself: one that concerns a single webhook. */
export async function insertEvent(scope: Scope, row: Omit<EventRow, 'environment_id'>): Promise<void> {
  await insert<EventRow>(scope, 'events', row);
}

/** Stores events of a type and their deliveries; without `subscribers` the database looks for the webhooks that want it. */
export async function storeEvents(
  scope: Scope,
  type: string,
  at: Date,
  subscribers: readonly string[] | null,
  events: readonly { readonly id: string; readonly body: string }[],
): Promise<void> {
  await run(
    scope,
    {
      name: 'events.store',
      text: `select store_event($1, event.id, $2, $3::timestamptz, event.body, $4::uuid[])
             from unnest($5::uuid[], $6::text[]) as event (id, body)`,
    },
    [type, at, subscribers, events.map(({ id }) => id), events.map(({ body }) => body)],
  );
}

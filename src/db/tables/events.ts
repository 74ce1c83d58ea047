import type { Knex } from 'knex';
import { insert, run, table, type PendingEvent, type Scope } from '../scope.js';
import { runSystem } from '../system.js';

/** A row of `events`: what happened, and the exact text that every delivery of it sends. */
export type EventRow = {
  environment_id: string;
  id: string;
  event_type: string;
  occurred_at: Date;
  body: string;
  /** Its place in the feed; null until it is numbered, and for good where the feed never shows it. */
  position: number | null;
};

/** Stores an event by itself, which the feed never shows: one that concerns a single webhook. */
export async function insertEvent(scope: Scope, row: Omit<EventRow, 'environment_id' | 'position'>): Promise<void> {
  await insert<EventRow>(scope, 'events', row);
}

/** SQL that stores events and their deliveries, in their order; `$first` and the four after it are {@link eventValues}. */
export const storeEventsSql = (first: number): string =>
  `select store_event($1, e.id, e.type, e.at, e.body, e.subscribers::uuid[]) from (
     select * from unnest($${first}::uuid[], $${first + 1}::text[], $${first + 2}::timestamptz[], $${first + 3}::text[], $${first + 4}::text[])
       with ordinality as event (id, type, at, body, subscribers, number) order by number) e`;

export const eventValues = (events: readonly PendingEvent[]): readonly unknown[] => [
  events.map(({ id }) => id),
  events.map(({ event_type }) => event_type),
  events.map(({ occurred_at }) => occurred_at),
  events.map(({ body }) => body),
  // Lists of different lengths make no array of PostgreSQL: each is the text of one.
  events.map(({ subscribers }) => subscribers && `{${subscribers.join(',')}}`),
];

export async function storeEvents(scope: Scope, events: readonly PendingEvent[]): Promise<void> {
  if (events.length > 0) await run(scope, { name: 'events.store', text: storeEventsSql(2) }, eventValues(events));
}

/** Stores what the transaction has collected. */
export const storePendingEvents = (scope: Scope): Promise<void> => storeEvents(scope, scope.events?.splice(0) ?? []);

export async function listEventsById(knex: Knex, environment_id: string, ids: readonly string[]): Promise<EventRow[]> {
  if (ids.length === 0) return [];
  const text = 'select * from events where environment_id = $1 and id = any ($2::uuid[])';
  return runSystem<EventRow>(knex, { name: 'events.by_id', text }, [environment_id, ids]);
}

/** The events that have their place in the feed. */
export const numberedEvents = (scope: Scope): Knex.QueryBuilder =>
  table<EventRow>(scope, 'events').whereNotNull('events.position') as unknown as Knex.QueryBuilder;

/** Up to `most` committed events get their places. `unnumbered`: how many wait, counted up to 100,000. */
export async function numberEvents(knex: Knex, most: number): Promise<{ numbered: number; unnumbered: number }> {
  const text = 'select numbered, unnumbered from number_events($1)';
  const [row] = await runSystem<{ numbered: number; unnumbered: number }>(knex, { name: 'events.number', text }, [most]);
  return row ?? { numbered: 0, unnumbered: 0 };
}

/** For how long the oldest event waits for its place, in seconds; 0 when none waits. */
export async function oldestUnnumberedSeconds(knex: Knex): Promise<number> {
  const text = `select coalesce((select extract(epoch from now() - occurred_at) from events where position is null and seq is not null
    order by seq limit 1), 0)::float8 as seconds`;
  const [row] = await runSystem<{ seconds: number }>(knex, { name: 'events.oldest_unnumbered', text }, []);
  return row?.seconds ?? 0;
}

/** Where a reader of the feed stands: behind a position, at the oldest event that is kept, or behind all that there is now. */
export type FeedPosition = { readonly after: number } | 'oldest' | 'now';

export type FeedRequest = { readonly position: FeedPosition; readonly event_types: readonly string[]; readonly size: number };

/** A stretch of the feed. `position`: where it goes on; `more`: whether there is something by now. `expired`: what came after the place has gone by now. */
export type FeedPage = {
  readonly events: readonly EventRow[];
  readonly position: number;
  readonly more: boolean;
  readonly expired: boolean;
};

/** As many are judged for one page: a reader of types that are rare goes on from there. */
const scanned = 10_000;

type FeedRow = EventRow & { head: number; gone: number; scanned: number; reached: number };
type PlacedRow = FeedRow & { position: number };

const feedText = `
  with feed as (
    select coalesce((select position from event_feed), 0) as head,
      coalesce((select position from event_retention where environment_id = $1), 0) as gone),
  scanned as materialized (
    select position, event_type from events where environment_id = $1 and position > $2::bigint order by position limit ${scanned}),
  chosen as materialized (select position from scanned where event_type = any ($3::text[]) order by position limit $4::integer + 1)
  select e.*, f.head, f.gone, s.scanned, s.reached
  from feed f cross join (select count(*)::integer as scanned, max(position) as reached from scanned) s
    left join (chosen c join events e on e.environment_id = $1 and e.position = c.position) on true
  order by e.position`;

/** What follows in the feed, the oldest first, in one snapshot: no event is missed, and none is before one that was answered. */
export async function readFeed(scope: Scope, { position, event_types, size }: FeedRequest): Promise<FeedPage> {
  const after = position === 'oldest' ? 0 : position === 'now' ? null : position.after;
  const rows = await run<FeedRow>(scope, { name: 'events.feed', text: feedText }, [after, event_types, size]);
  const { head, gone, scanned: judged, reached } = rows[0] as FeedRow;
  // Of the row that is there without events the columns of an event are null.
  const found = rows.filter((row): row is PlacedRow => row.position !== null);
  const events = found.slice(0, size);
  const last = found.length > size ? events.at(-1)?.position : undefined;
  return {
    events,
    position: last ?? (judged === scanned ? reached : Math.max(after ?? 0, head)),
    more: last !== undefined || judged === scanned,
    expired: typeof position !== 'string' && gone > position.after,
  };
}

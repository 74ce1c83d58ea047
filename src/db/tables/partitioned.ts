import type { Config } from '../../config.js';

/**
 * A table in partitions by `key`, an id of version 7: one is dropped when all of its ids are older than `keepDays`, unless it is `needed`. Statements know its
 * ids (`:from`, `:to`), its name (`:name:`), and since when rows are kept (`:since`).
 */
export type PartitionedTable = {
  readonly name: string;
  readonly key: string;
  readonly keepDays: number;
  /** A condition: something else still names its rows, or some have to be kept. */
  readonly needed: string;
  /** What goes with the rows; more than once if something keeps the partition from going. */
  readonly before?: string;
};

const streamed = (of: string) =>
  `exists (select from log_stream_entries where source ${of} 'events' and record_id >= :from and record_id < :to)`;

/** In the order in which they go: attempts after their deliveries. */
export const partitionedTables = ({
  eventDays,
  securityEventDays,
}: Pick<Config, 'eventDays' | 'securityEventDays'>): readonly PartitionedTable[] => [
  { name: 'audit_logs', key: 'id', keepDays: Math.max(400, securityEventDays), needed: streamed('<>') },
  {
    name: 'events',
    key: 'id',
    keepDays: eventDays,
    needed: streamed('='),
    before: `insert into event_retention (environment_id, position)
      select g.environment_id, max(g.position) from :name: g join environments e on e.id = g.environment_id
      where g.position is not null group by g.environment_id
      on conflict (environment_id) do update set position = greatest(event_retention.position, excluded.position)`,
  },
  {
    name: 'webhook_deliveries',
    key: 'id',
    keepDays: 30,
    needed: `exists (select from webhook_queue where delivery_id >= :from and delivery_id < :to)
      or exists (select from :name: where completed_at >= :since)`,
    before: 'delete from troubled_deliveries where delivery_id >= :from and delivery_id < :to',
  },
  {
    name: 'webhook_delivery_attempts',
    key: 'delivery_id',
    keepDays: 30,
    needed: 'exists (select from webhook_deliveries where id >= :from and id < :to)',
  },
];

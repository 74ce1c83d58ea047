import { named } from '../../lib/named.js';
import type { Value } from '../page-parts.js';
import { listLastDurations } from '../../db/tables/delivery_figures.js';
import type { ColumnSpec, FilterSpec, ViewContext } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, figure, nothing, quiet, stack, state, text, time, words } from '../values.js';

const maxAttempts = 6;

const triggers: Record<string, string> = named({ event: 'Event', test: 'Test', redelivery: 'Resent' });

/** The state of a delivery as icon and word. */
export function deliveryState(record: ResourceObject): Value {
  switch (record.attributes['status']) {
    case 'succeeded':
      return state('good', 'Succeeded');
    case 'failed':
      return state('bad', 'Failed');
    case 'retrying':
      return state('warning', 'Retrying');
    default:
      return state('info', 'Pending');
  }
}

/** How long the last attempt of each took. */
export async function lastDurations({ req }: ViewContext, records: readonly ResourceObject[]): Promise<ReadonlyMap<string, Value>> {
  const ids = records.map(({ id }) => id);
  const durations = await listLastDurations(req.call.ctx.scope, ids);
  return new Map(durations.map(({ delivery_id, duration_ms }) => [delivery_id, text(`${figure(duration_ms)} ms`)]));
}

/** Rows of the history; they need {@link lastDurations} beside them. */
export const deliveryColumns: readonly ColumnSpec[] = [
  { label: 'Event', value: ({ attributes: a }) => stack(code(a['event_type']), quiet(words(a['event_id']))) },
  { label: 'Status', value: deliveryState },
  { label: 'Attempts', numeric: true, value: ({ attributes: a }) => text(`${words(a['attempt_count'])}/${maxAttempts}`) },
  {
    label: 'Last answer',
    numeric: true,
    value: ({ attributes: a }) => text(a['last_response_status'] ?? (a['failure_reason'] === null ? null : 'none')),
  },
  { label: 'Duration', numeric: true, value: (record, _look, { beside }) => beside?.get(record.id) ?? nothing },
  {
    label: 'Cause',
    value: ({ attributes: a }) => quiet(triggers[words(a['trigger'])] ?? ''),
  },
  { label: 'Created', value: ({ attributes: a }, { now }) => time(a['created_at'], now) },
  { label: 'Next attempt', value: ({ attributes: a }, { now }) => time(a['next_attempt_at'], now) },
];

const classes = [
  { value: '2xx', label: '2xx Success' },
  { value: '3xx', label: '3xx Redirect' },
  { value: '4xx', label: '4xx Refused' },
  { value: '5xx', label: '5xx Broken' },
];

/** The filters of a history; all of its state is in the address. */
export const deliveryFilters: readonly FilterSpec[] = [
  { name: 'status', label: 'Status' },
  { name: 'event_type', label: 'Event type' },
  { name: 'response_status', label: 'Last answer', choices: async () => classes, kind: 'select' },
  { name: 'since', label: 'Period', kind: 'period', filter: 'created_at', initial: '24h' },
  { name: 'event_id', label: 'Event id', kind: 'text' },
];

import { named } from '../../../lib/named.js';
import type { Value } from '../../parts/page-parts.js';
import { listLastDurations } from '../../../db/tables/delivery_figures.js';
import type { ColumnSpec, FilterSpec, ViewContext } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { code, figure, nothing, quiet, stack, state, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const maxAttempts = 6;

const triggers: Record<string, string> = named({ event: terms.event, test: 'Test', redelivery: 'Redelivery' });

export function deliveryState(record: ResourceObject): Value {
  switch (record.attributes['status']) {
    case 'succeeded':
      return state('good', 'Succeeded');
    case 'failed':
      return state('bad', terms.failed);
    case 'retrying':
      return state('warning', 'Retrying');
    default:
      return state('info', terms.pending);
  }
}

export async function lastDurations({ req }: ViewContext, records: readonly ResourceObject[]): Promise<ReadonlyMap<string, Value>> {
  const ids = records.map(({ id }) => id);
  const durations = await listLastDurations(req.call.ctx.scope, ids);
  return new Map(durations.map(({ delivery_id, duration_ms }) => [delivery_id, text(`${figure(duration_ms)} ms`)]));
}

/** Rows of the history; they need {@link lastDurations} beside them. */
export const deliveryColumns: readonly ColumnSpec[] = [
  { label: terms.event, value: ({ attributes: a }) => stack(code(a['event_type']), quiet(words(a['event_id']))) },
  { label: terms.status, value: deliveryState },
  { label: terms.attempts, numeric: true, value: ({ attributes: a }) => text(`${words(a['attempt_count'])}/${maxAttempts}`) },
  {
    label: 'Last response',
    numeric: true,
    value: ({ attributes: a }) => text(a['last_response_status'] ?? (a['failure_reason'] === null ? null : 'none')),
  },
  { label: terms.duration, numeric: true, value: (record, _view, { extras }) => extras?.get(record.id) ?? nothing },
  { label: terms.trigger, value: ({ attributes: a }) => quiet(triggers[words(a['trigger'])] ?? '') },
  { label: terms.created, value: ({ attributes: a }, { now }) => time(a['created_at'], now) },
  { label: terms.next_attempt, value: ({ attributes: a }, { now }) => time(a['next_attempt_at'], now) },
];

const classes = [
  { value: '2xx', label: '2xx Success' },
  { value: '3xx', label: '3xx Redirect' },
  { value: '4xx', label: '4xx Client error' },
  { value: '5xx', label: '5xx Server error' },
];

export const deliveryFilters: readonly FilterSpec[] = [
  { name: 'status', label: terms.status },
  { name: 'event_type', label: terms.event_type },
  { name: 'response_status', label: 'Last response', choices: async () => classes, kind: 'select' },
  { name: 'since', label: terms.period, kind: 'period', filter: 'created_at', initial: '24h' },
  { name: 'event_id', label: terms.event_id, kind: 'text' },
];

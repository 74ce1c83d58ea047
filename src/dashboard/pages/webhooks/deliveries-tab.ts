import { findDeliveryFigures, maxDeliveriesCounted } from '../../../db/tables/delivery_figures.js';
import { filterPart, filtersOf, listState } from '../../parts/lists/filters.js';
import { tableOf } from '../../parts/lists/list.js';
import type { Part, TablePart } from '../../parts/page-parts.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { relatedOf, resourceOf } from '../../parts/records/objects.js';
import { arrivedShare, figure, percentage } from '../../parts/values.js';
import { deliveryColumns, deliveryFilters, lastDurations } from './delivery-columns.js';
import { webhookDeliveriesPresentation } from './webhook-deliveries.js';
import { terms } from '../../parts/words.js';

/** What happened in the last 24 hours, in figures. */
export async function lastDay({ req, now }: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const counts = await findDeliveryFigures(req.call.ctx.scope, record.id, new Date(now.getTime() - 86_400_000));
  const tried = counts.succeeded + counts.failed + counts.retrying;
  const latest = tried + counts.pending >= maxDeliveriesCounted ? `of the latest ${figure(maxDeliveriesCounted)}` : null;
  const at = `${recordPath('webhooks', record.id)}/deliveries`;
  return [
    {
      kind: 'stats',
      title: terms.last_24_hours,
      items: [
        {
          label: 'Deliveries that arrived',
          figure: arrivedShare(counts) ?? '–',
          note: tried === 0 ? 'No deliveries' : (latest ?? `${figure(counts.succeeded)} of ${figure(tried)}`),
          path: `${at}?status=succeeded`,
        },
        {
          label: 'Attempts that succeeded',
          figure: counts.attempts === 0 ? '–' : percentage(counts.succeeded, counts.attempts),
          note: counts.attempts === 0 ? 'No attempts' : (latest ?? `${figure(counts.succeeded)} of ${figure(counts.attempts)}`),
          path: null,
        },
        { label: 'Failed permanently', figure: figure(counts.failed), note: null, path: `${at}?status=failed` },
        {
          label: 'p95 duration',
          figure: counts.p95_ms === null ? '–' : `${figure(counts.p95_ms)} ms`,
          note: counts.p95_ms === null ? 'No attempts' : '95% of attempts were faster',
          path: null,
        },
        {
          label: 'Being retried',
          figure: figure(counts.retrying),
          note: `${figure(counts.pending)} not tried yet`,
          path: `${at}?status=retrying`,
        },
      ],
    },
  ];
}

export async function deliveriesTab(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { req } = view;
  const resource = resourceOf(req.call, 'webhook_deliveries');
  const path = `${recordPath('webhooks', record.id)}/deliveries`;
  const sort = '-created_at';
  const state = listState(req, deliveryFilters, sort);
  const listQuery = { filters: filtersOf(state, deliveryFilters, view.now), after: state.after, before: state.before };
  const listing = await relatedOf(req.call, 'webhooks', record.id, 'deliveries', listQuery);
  const narrowed = deliveryFilters.some(({ name, initial = '' }) => name !== 'since' && (state.values[name] ?? '') !== initial);
  const empty: TablePart['empty'] = narrowed
    ? {
        title: terms.nothing_matches,
        text: 'No delivery fits these filters.',
        button: { label: terms.clear_filters, path, variant: 'quiet' },
      }
    : {
        title: terms.no_deliveries_in_this_period,
        text: 'Send a test to see one, or choose a longer period.',
        button: { label: terms.last_30_days, path: `${path}?since=30d`, variant: 'quiet' },
      };
  const spec = {
    id: 'deliveries',
    caption: terms.deliveries,
    heading: false,
    path,
    state,
    defaultSort: sort,
    empty,
    columns: deliveryColumns,
  };
  return [
    await filterPart(view, resource, deliveryFilters, path, state, sort),
    ...(await lastDay(view, record)),
    tableOf(view, webhookDeliveriesPresentation, { ...listing, extras: await lastDurations(view, listing.records) }, spec),
  ];
}

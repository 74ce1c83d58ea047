import { findDeliveryFigures, mostCounted } from '../../db/tables/delivery_figures.js';
import { filterPart, filtersOf, listState, tableOf } from '../resource-list.js';
import type { Part, TablePart } from '../page-parts.js';
import { recordPath, type ViewContext } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { relatedOf, resourceOf } from '../resource-objects.js';
import { figure, percentage } from '../values.js';
import { deliveryColumns, deliveryFilters, lastDurations } from './delivery-columns.js';
import { webhook_deliveries } from './webhook-deliveries.js';

/** What happened in the last 24 hours, in figures. */
export async function lastDay({ req, now }: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const counts = await findDeliveryFigures(req.call.ctx.scope, record.id, new Date(now.getTime() - 86_400_000));
  const settled = counts.succeeded + counts.failed;
  const rate = settled === 0 ? '–' : percentage(counts.succeeded, settled);
  const at = `${recordPath('webhooks', record.id)}/deliveries`;
  const all = settled + counts.pending + counts.retrying;
  return [
    {
      kind: 'stats',
      title: 'The last 24 hours',
      items: [
        {
          label: 'Success, 24 hours',
          figure: rate,
          note:
            settled === 0 ? 'Nothing was delivered' : all >= mostCounted ? `of the latest ${figure(mostCounted)}` : `of ${figure(settled)}`,
          path: null,
        },
        { label: 'Succeeded', figure: figure(counts.succeeded), note: null, path: `${at}?status=succeeded` },
        { label: 'Failed for good', figure: figure(counts.failed), note: null, path: `${at}?status=failed` },
        {
          label: 'p95 duration',
          figure: counts.p95_ms === null ? '–' : `${figure(counts.p95_ms)} ms`,
          note: counts.p95_ms === null ? 'Nothing was tried' : '95 % of attempts took no longer',
          path: null,
        },
        {
          label: 'Waiting',
          figure: figure(counts.pending + counts.retrying),
          note: `${figure(counts.retrying)} to be tried again`,
          path: `${at}?status=retrying`,
        },
      ],
    },
  ];
}

/** The delivery history of a webhook. */
export async function deliveriesTab(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { req } = look;
  const resource = resourceOf(req.call, 'webhook_deliveries');
  const path = `${recordPath('webhooks', record.id)}/deliveries`;
  const sort = '-created_at';
  const state = listState(req, deliveryFilters, sort);
  const asked = { filters: filtersOf(state, deliveryFilters, look.now), after: state.after, before: state.before };
  const listing = await relatedOf(req.call, 'webhooks', record.id, 'deliveries', asked);
  const narrowed = deliveryFilters.some(({ name, initial = '' }) => name !== 'since' && (state.values[name] ?? '') !== initial);
  const empty: TablePart['empty'] = narrowed
    ? { title: 'Nothing matches', text: 'No delivery fits these filters.', button: { label: 'Clear filters', path, variant: 'quiet' } }
    : {
        title: 'No deliveries in this period',
        text: 'Send a test to see one, or choose a longer period.',
        button: { label: 'Last 30 days', path: `${path}?since=30d`, variant: 'quiet' },
      };
  const spec = { id: 'deliveries', caption: 'Deliveries', heading: false, path, state, defaultSort: sort, empty, columns: deliveryColumns };
  return [
    await filterPart(look, resource, deliveryFilters, path, state, sort),
    ...(await lastDay(look, record)),
    tableOf(look, webhook_deliveries, { ...listing, beside: await lastDurations(look, listing.records) }, spec),
  ];
}

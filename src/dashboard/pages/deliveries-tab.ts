import { findDeliveryFigures, mostCounted } from '../../db/tables/delivery_figures.js';
import { filterPart, filtersOf, listState, tableOf } from '../resource-list.js';
import type { Part, TablePart } from '../page-parts.js';
import { recordPath, type ViewContext } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { relatedOf, resourceOf } from '../resource-objects.js';
import { figure, percentage } from '../values.js';
import { deliveryColumns, deliveryFilters, lastDurations } from './delivery-columns.js';
import { webhook_deliveries } from './webhook-deliveries.js';
import { fill, sentences, terms } from '../words.js';

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
      title: terms.last_24_hours,
      items: [
        {
          label: terms.success_rate_24_h,
          figure: rate,
          note:
            settled === 0
              ? terms.no_deliveries
              : all >= mostCounted
                ? fill(terms.of_the_latest_mostcounted, { mostcounted: figure(mostCounted) })
                : fill(terms.of_settled, { settled: figure(settled) }),
          path: null,
        },
        { label: terms.succeeded, figure: figure(counts.succeeded), note: null, path: `${at}?status=succeeded` },
        { label: terms.failed_permanently, figure: figure(counts.failed), note: null, path: `${at}?status=failed` },
        {
          label: terms.p95_duration,
          figure: counts.p95_ms === null ? '–' : fill(terms.value_ms, { value: figure(counts.p95_ms) }),
          note: counts.p95_ms === null ? terms.no_attempts : terms.n95_of_attempts_took_no_longer,
          path: null,
        },
        {
          label: terms.queued,
          figure: figure(counts.pending + counts.retrying),
          note: fill(terms.retrying_to_be_tried_again, { retrying: figure(counts.retrying) }),
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
    ? {
        title: terms.nothing_matches,
        text: sentences.no_delivery_fits_these_filters,
        button: { label: terms.clear_filters, path, variant: 'quiet' },
      }
    : {
        title: terms.no_deliveries_in_this_period,
        text: sentences.send_a_test_to_see,
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
    await filterPart(look, resource, deliveryFilters, path, state, sort),
    ...(await lastDay(look, record)),
    tableOf(look, webhook_deliveries, { ...listing, beside: await lastDurations(look, listing.records) }, spec),
  ];
}

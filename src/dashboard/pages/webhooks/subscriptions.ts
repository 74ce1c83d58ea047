import { countSubscriptions } from '../../../db/tables/webhooks.js';
import { isByNameOnly } from '../../../domain/events/catalogue.js';
import type { Part, Value } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { listOf, may } from '../../parts/records/objects.js';
import { code, number, stack, state, text, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

/** How many enabled webhooks get each event type; nothing for those who may not see webhooks. */
export async function subscriptionCounts({ req }: ViewContext, records: readonly ResourceObject[]): Promise<ReadonlyMap<string, Value>> {
  if (!may(req.call, 'webhooks', 'read')) return new Map();
  const counts = new Map((await countSubscriptions(req.call.ctx.scope)).map(({ event_type, count }) => [event_type, count]));
  const of = (name: string) => (counts.get(name) ?? 0) + (isByNameOnly(name) ? 0 : (counts.get('*') ?? 0));
  return new Map(records.map((record) => [record.id, number(of(words(record.attributes['name'])))]));
}

/** Which webhooks name the event type or get everything, the first hundred by name. */
export async function subscribers({ req }: ViewContext, name: string): Promise<readonly Part[]> {
  if (!may(req.call, 'webhooks', 'read')) return [];
  const events = isByNameOnly(name) ? name : `${name},*`;
  const { records } = await listOf(req.call, 'webhooks', { filters: { events }, sort: 'name', size: 100 });
  const rows = records.map(({ id, attributes: a }) => ({
    path: recordPath('webhooks', id),
    cells: [
      text(a['name']),
      stack(code(a['url'])),
      a['status'] === 'enabled' ? state('good', terms.enabled) : state('quiet', terms.disabled),
    ],
  }));
  const button = may(req.call, 'webhooks', 'write')
    ? { label: terms.create_webhook, path: '/dashboard/webhooks/new', variant: 'quiet' as const }
    : null;
  const columns = [terms.webhook, 'URL', terms.status];
  const nothing = ['No subscribed webhooks', 'No webhook gets this event.', button] as const;
  return [pageTable({ id: 'subscribers', caption: 'Subscribed webhooks', columns, rows, nothing })];
}

import { z } from 'zod';
import { eventGroups, isNamedEvent } from '../../domain/events/catalogue.js';
import { noReach } from '../../domain/reach/reach.js';
import { eventTypeDocuments } from '../../domain/events/documents.js';
import { once } from '../../lib/memo.js';
import { equalTo } from '../fields.js';
import { resource } from '../declaration.js';

export const event_types = resource({
  type: 'event_type',
  path: 'event_types',
  description:
    'What webhooks can subscribe to, with the JSON Schema of each payload’s data. A list has what `*` stands for and `token.issued`; under `filter[group]` also what a webhook gets by name only.',
  source: { keyType: 'text' },
  entries: once(() => eventTypeDocuments().map((one) => ({ ...one, name: one.id }))),
  attributes: z.object({
    name: z.string(),
    description: z.string(),
    group: z.string(),
    payload_schema: z.record(z.string(), z.unknown()).meta({ description: 'JSON Schema of `data`.' }),
    example: z.record(z.string(), z.unknown()).meta({ description: 'A whole payload.' }),
  }),
  reach: { of: () => noReach },
  isHidden: (row) => isNamedEvent(String(row['id'])),
  filters: {
    group: equalTo(
      'group',
      z.enum(eventGroups as [string, ...string[]]),
      'About one of these kinds of record; with those that a webhook gets by name only.',
    ),
  },
  sorts: { name: { expression: 'event_types.name', type: 'text' } },
  defaultSort: 'name',
});

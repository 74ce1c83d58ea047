import { z } from 'zod';
import { noReach } from '../../domain/reach/reach.js';
import { eventTypeDocuments } from '../../domain/events/documents.js';
import { resource } from '../resource.js';

const entries = eventTypeDocuments().map((one) => ({ ...one, name: one.id }));

/** What can happen: the catalogue of events. */
export const event_types = resource({
  type: 'event_type',
  path: 'event_types',
  title: 'Event types',
  description: 'What webhooks can subscribe to, with the JSON Schema of each payload’s data.',
  source: { table: 'event_types', key: 'id', keyType: 'text' },
  entries,
  attributes: z.object({
    name: z.string(),
    description: z.string(),
    group: z.string(),
    payload_schema: z.record(z.string(), z.unknown()).meta({ description: 'JSON Schema of `data`.' }),
    example: z.record(z.string(), z.unknown()).meta({ description: 'A whole payload.' }),
  }),
  reach: { of: () => noReach, attributes: {} },
  relationships: {},
  filters: {},
  sorts: { name: { expression: 'event_types.name', type: 'text' } },
  defaultSort: 'name',
});

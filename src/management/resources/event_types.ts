import { z } from 'zod';
import { catalogue, eventTypes } from '../../core/events/catalogue.js';
import { resource } from '../resource.js';

const entries = eventTypes.map((name) => {
  const { $schema: _dialect, ...payload_schema } = z.toJSONSchema(catalogue[name].data) as Record<string, unknown>;
  return { id: name, name, description: catalogue[name].description, group: name.split('.')[0] ?? name, payload_schema };
});

/** What can happen: the catalogue of events. */
export const event_types = resource({
  type: 'event_type',
  path: 'event_types',
  title: 'Event types',
  description: 'What webhooks can subscribe to, with the JSON Schema of each payload’s data.',
  source: { table: 'event_types', key: 'id', keyType: 'text' },
  entries,
  attributes: z.object({ name: z.string(), description: z.string(), group: z.string(), payload_schema: z.record(z.string(), z.unknown()) }),
  relationships: {},
  filters: {},
  sorts: { name: { expression: 'event_types.name', type: 'text' } },
  defaultSort: 'name',
});

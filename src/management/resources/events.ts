import { z } from 'zod';
import { isOneOf } from '../../db/lists/conditions.js';
import { numberedEvents, type EventRow } from '../../db/tables/events.js';
import { feedEventTypes, permissionsToReadEvent, reachOfDelivery, readableEventTypes } from '../../domain/reach/reach-of.js';
import { equalTo, isoTime } from '../fields.js';
import { resource } from '../declaration.js';

export const events = resource<EventRow>({
  type: 'event',
  path: 'events',
  description:
    'Everything that has happened, in one order without gaps, whether or not a webhook wants it; kept for 30 days, or for EVENT_DAYS. Without `sort` the list is a feed, the oldest first: `page[after]` is a cursor, `oldest` or `now`, `links.next` is never null, and `meta.more` says whether there is more by now. `Accept: text/event-stream` gets the same as it happens. Events of collections that the caller may not read are left out; named in the filter they are refused.',
  source: { visible: numberedEvents },
  attributes: z.object({
    event_type: z.string().meta({ description: 'What has happened, by a name of `GET /api/event_types`.' }),
    occurred_at: isoTime.meta({ description: 'When it happened: the `timestamp` of the payload.' }),
    payload: z.record(z.string(), z.unknown()).meta({ description: 'What webhooks are sent.' }),
    payload_text: z.string().meta({ description: 'The same, byte for byte.' }),
  }),
  computed: { payload: ({ body }) => JSON.parse(body) as unknown, payload_text: ({ body }) => body },
  reach: { of: (_tx, row) => reachOfDelivery(row) },
  seenBy: (actor) => isOneOf('event_type', readableEventTypes(actor)),
  isFeed: true,
  filters: {
    event_type: {
      ...equalTo('event_type', z.enum(feedEventTypes as [string, ...string[]]), 'Of one of these event types.'),
      needs: (values) => (values as string[]).flatMap(permissionsToReadEvent),
    },
  },
  sorts: { position: { expression: 'events.position', type: 'bigint' } },
  defaultSort: '-position',
  display: (row) => row.event_type,
});

import { z } from 'zod';
import { reachOfSignalStream } from '../../domain/reach/reach-of.js';
import { deliveredEventsOf } from '../../domain/signals/event-types.js';
import { overruleSignalStatus } from '../../domain/signals/streams.js';
import { invalidTransition } from '../../domain/refusal.js';
import { removeSignalStream, signalStreamStatuses, visibleSignalStreams, type SignalStreamRow } from '../../db/tables/signal_streams.js';
import { boundedText, equalTo, isoTime, stamps } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';
import { changed } from '../resource.js';

const status = z.enum(signalStreamStatuses);

export const signal_streams = resource<SignalStreamRow>({
  type: 'signal_stream',
  path: 'signal_streams',
  description:
    'What clients hear of people and sessions (Shared Signals Framework 1.0). Clients make and change their streams themselves, at /ssf/streams; what they send along as Authorization is never shown.',
  source: { visible: visibleSignalStreams },
  attributes: z.object({
    description: z.string().nullable().meta({ description: 'What its client says of it; null = nothing.' }),
    events_requested: z.array(z.string()).meta({ description: 'The names of the events that it gets.' }),
    method: z
      .enum(['push', 'poll'])
      .meta({ description: 'push = POSTed to its endpoint (RFC 8935), poll = fetched by its client (RFC 8936).' }),
    endpoint_url: z.string().nullable().meta({ description: 'Where signals are pushed to; null = it is polled.' }),
    has_authorization: z.boolean(),
    status: status.meta({ description: 'paused = what happens waits; disabled = nothing is kept.' }),
    status_reason: z.string().nullable(),
    paused_by: z
      .enum(['receiver', 'administrator', 'limit'])
      .nullable()
      .meta({ description: 'Who paused it; limit = 10,000 signals waited, or one for 7 days; null = it is not paused.' }),
    lag_seconds: z.int(),
    last_sent_at: isoTime.nullable(),
    last_error: z.string().nullable(),
    last_response_status: z.int().nullable(),
    failed_attempt_count: z.int(),
    ...stamps,
  }),
  computed: {
    events_requested: ({ events_requested }) => deliveredEventsOf(events_requested),
    failed_attempt_count: ({ attempt_count }) => attempt_count,
    has_authorization: ({ authorization_sealed }) => authorization_sealed !== null,
    // A row that was just written goes on as it was.
    lag_seconds: ({ lag_seconds }) => lag_seconds ?? 0,
  },
  reach: { of: async () => reachOfSignalStream() },
  relationships: { client: toOne('client', 'Who hears.') },
  filters: {
    client: equalTo('client_id', boundedText(512), 'Of one of these clients (ids).'),
    status: equalTo('status', status, 'Enabled, paused or disabled.'),
  },
  remove: { run: async (tx, _actor, row) => void (await removeSignalStream(tx.scope, row.id)) },
  actions: {
    pause: {
      method: 'PATCH',
      description: 'What happens waits from now on, whatever the client says; it is told.',
      audit: 'paused',
      touch: 'control',
      run: async (tx, _actor, row) => ({ row: changed(await overruleSignalStatus(tx, row, 'paused')) }),
    },
    resume: {
      method: 'PATCH',
      description: 'Lets a paused stream go on where it stood.',
      audit: 'resumed',
      touch: 'control',
      async run(tx, _actor, row) {
        if (row.status !== 'paused') throw invalidTransition('Only a paused stream can be resumed.');
        return { row: changed(await overruleSignalStatus(tx, row, 'enabled')) };
      },
    },
  },
  display: (stream) => stream.client_id,
});

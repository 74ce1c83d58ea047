import { permissionsToRead } from '../../domain/reach/reach-of.js';
import { named } from '../../lib/named.js';
import type { Part, Value } from '../page-parts.js';
import { recordPath, type ViewContext, type Presentation } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { relatedId, includedRecord, listOf } from '../resource-objects.js';
import { code, figure, link, nothing, state, text, time, words } from '../values.js';
import { deliveryColumns, deliveryFilters, deliveryState, lastDurations } from './delivery-columns.js';

const failures: Record<string, string> = named({
  non_2xx: 'The receiver did not answer with success',
  timeout: 'No answer within the time limit',
  dns: 'The name could not be resolved',
  connect: 'No connection: nothing listens there',
  tls: 'The certificate or the TLS handshake failed',
  redirect: 'The receiver redirected; redirects are not followed',
  blocked_address: 'The address is in a private network',
  webhook_disabled: 'The webhook was disabled',
  internal_error: 'The service could not make the request',
});

const reason = (value: unknown): Value => (typeof value === 'string' ? text(failures[value] ?? value) : nothing);

function attemptState({ attributes: a }: ResourceObject): Value {
  if (a['failure_reason'] === null) return state('good', `Answered ${words(a['response_status'])}`);
  return state('bad', a['response_status'] === null ? 'No answer' : `Answered ${words(a['response_status'])}`);
}

const size = (body: string, truncated: boolean) => `${figure(Buffer.byteLength(body))} bytes${truncated ? ', cut off at 16 KiB' : ''}`;

function attemptParts(look: ViewContext, { attributes: a }: ResourceObject): Part[] {
  const body = a['response_body'] as string | null;
  return [
    {
      kind: 'summary',
      title: null,
      rows: [
        { label: 'Started', value: time(a['started_at'], look.now) },
        { label: 'Duration', value: text(`${figure(a['duration_ms'] as number)} ms`) },
        { label: 'Status', value: text(a['response_status']) },
        { label: 'Why it failed', value: reason(a['failure_reason']) },
        ...(body === null
          ? []
          : [
              {
                label: `Response body (${size(body, a['response_truncated'] === true)})`,
                value: body === '' ? nothing : ({ kind: 'pre', text: body } as Value),
              },
            ]),
      ],
    },
  ];
}

function attempts(look: ViewContext, _record: ResourceObject, included: readonly ResourceObject[]): Part {
  const found = included
    .filter((one) => one.type === 'webhook_delivery_attempt')
    .sort((one, other) => Number(other.attributes['attempt_number']) - Number(one.attributes['attempt_number']));
  const items = found.map((one, index) => ({
    title: `Attempt ${words(one.attributes['attempt_number'])}`,
    state: attemptState(one),
    open: index === 0,
    parts: attemptParts(look, one),
  }));
  return items.length === 0
    ? { kind: 'text', title: 'Attempts', paragraphs: ['None yet. Reload this page in a moment.'] }
    : { kind: 'attempts', id: 'attempts', title: 'Attempts', items };
}

/** A table of the other deliveries of this event to this webhook; empty without any. */
async function siblings(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const filters = { event_id: words(record.attributes['event_id']), webhook: relatedId(record, 'webhook') ?? undefined };
  const listing = await listOf(look.req.call, 'webhook_deliveries', { filters, size: 20 });
  if (listing.records.length < 2) return [];
  const shown = { ...listing, beside: await lastDurations(look, listing.records) };
  const columns = deliveryColumns.filter(({ label }) => label !== 'Next attempt');
  const rows = listing.records.map((one) => ({
    path: one.id === record.id ? null : recordPath('webhook_deliveries', one.id),
    cells: columns.map((column) => column.value(one, look, shown)),
  }));
  const empty = { title: 'None', text: '', button: null };
  const heads = columns.map(({ label, numeric }) => ({ label, numeric }));
  return [
    { kind: 'table', id: 'siblings', caption: 'All deliveries of this event', heading: true, columns: heads, rows, empty, pager: null },
  ];
}

/** The payload, for actors who may read its event type. */
function payload(record: ResourceObject): Part[] {
  const event_type = words(record.attributes['event_type']);
  if (record.attributes['payload'] === null) {
    const needed = permissionsToRead(event_type).join(' and ');
    return [
      { kind: 'text', title: 'Payload', paragraphs: [`To see what was sent, and to send it again, you need the permission ${needed}.`] },
    ];
  }
  return [
    {
      kind: 'code',
      id: 'payload',
      title: 'Payload',
      text: 'Laid out for reading; it is sent on one line. The receiver gets the same event_id with every attempt, so that it can tell repetitions.',
      code: JSON.stringify(record.attributes['payload'], null, 2),
    },
    {
      kind: 'buttons',
      links: [{ label: 'Download the payload as sent', path: `${recordPath('webhook_deliveries', record.id)}/payload`, variant: 'quiet' }],
      posts: [],
    },
  ];
}

const verification = (event_type: string) => `// The raw body is the text above, byte for byte; X-Service-Event is ${event_type}.
import { createHmac, timingSafeEqual } from 'node:crypto';

const expected = Buffer.from(createHmac('sha256', signingSecret).update(rawBody).digest('hex'));
const received = Buffer.from(req.headers['x-service-signature'].replace(/^sha256=/, ''));
const genuine = received.length === expected.length && timingSafeEqual(received, expected);`;

/** Deliveries of events. */
export const webhook_deliveries: Presentation = {
  path: 'webhook_deliveries',
  title: 'Deliveries',
  under: 'webhooks',
  one: 'delivery',
  lead: 'Events on their way to all webhooks.',
  empty: { title: 'No deliveries in this period', text: 'Deliveries appear when a subscribed event happens, or when you send a test.' },
  columns: [
    ...deliveryColumns.slice(0, 1),
    { label: 'Webhook', value: (record, _look, { included }) => text(includedRecord(record, 'webhook', included)?.attributes['name']) },
    ...deliveryColumns.slice(1),
  ],
  include: 'webhook',
  beside: lastDurations,
  filters: deliveryFilters,
  recordInclude: 'webhook,attempts',
  name: (record) => words(record.attributes['event_type']),
  state: deliveryState,
  summary: (record, { now }, included) => {
    const a = record.attributes;
    const webhook = includedRecord(record, 'webhook', included);
    const id = relatedId(record, 'webhook');
    return [
      { label: 'Webhook', value: webhook ? link(words(webhook.attributes['name']), recordPath('webhooks', webhook.id)) : code(id) },
      {
        label: 'History',
        value: webhook ? link('All deliveries of this webhook', `${recordPath('webhooks', webhook.id)}/deliveries`) : nothing,
      },
      { label: 'URL', value: code(webhook?.attributes['url'], true) },
      { label: 'Event id', value: code(a['event_id'], true) },
      {
        label: 'Cause',
        value: text({ event: 'The event', test: 'A test', redelivery: 'Sent again by hand' }[words(a['trigger'])] ?? a['trigger']),
      },
      { label: 'Attempts', value: text(`${words(a['attempt_count'])} of at most 6`) },
      { label: 'Last failure', value: reason(a['failure_reason']) },
      { label: 'Next attempt', value: time(a['next_attempt_at'], now) },
      { label: 'Created', value: time(a['created_at'], now) },
      { label: 'Completed', value: time(a['completed_at'], now) },
      { label: 'Delivery id', value: code(record.id, true) },
    ];
  },
  more: async (look, record, included) => [
    attempts(look, record, included),
    ...(await siblings(look, record)),
    ...payload(record),
    {
      kind: 'code',
      id: 'verification',
      title: 'Check the signature',
      text: 'Node.js. The Standard Webhooks libraries work with the same secret.',
      code: verification(words(record.attributes['event_type'])),
    },
  ],
  actions: {
    redeliver: { label: 'Resend now', done: 'redelivered', leadsTo: (_record, answer) => recordPath('webhook_deliveries', answer.id) },
  },
};

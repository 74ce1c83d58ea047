import { terms } from '../../parts/words.js';
import { awaitFirstAttempt } from '../../../domain/webhooks/webhooks.js';
import { permissionsToReadEvent } from '../../../domain/reach/reach-of.js';
import { failureReason, failureWords } from '../../parts/health.js';
import type { Part, Value } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath, type ViewContext, type Presentation } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { relatedId, includedRecord, listOf } from '../../parts/records/objects.js';
import { code, figure, link, nothing, state, text, time, words } from '../../parts/values.js';
import { deliveryColumns, deliveryFilters, deliveryState, lastDurations } from './delivery-columns.js';

function attemptState({ attributes: a }: ResourceObject): Value {
  if (a['failure_reason'] === null) return state('good', `Response ${words(a['response_status'])}`);
  return state('bad', a['response_status'] === null ? 'No response' : `Response ${words(a['response_status'])}`);
}

const size = (body: string, truncated: boolean) => `${figure(Buffer.byteLength(body))} bytes${truncated ? ', cut off at 16 KiB' : ''}`;

function attemptParts(view: ViewContext, { attributes: a }: ResourceObject): Part[] {
  const body = a['response_body'] as string | null;
  return [
    {
      kind: 'summary',
      title: null,
      rows: [
        { label: 'Started', value: time(a['started_at'], view.now) },
        { label: terms.duration, value: text(`${figure(a['duration_ms'] as number)} ms`) },
        { label: terms.status, value: text(a['response_status']) },
        { label: terms.failure_reason, value: failureReason(a['failure_reason']) },
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

/** Of a response body what fits into a sentence. */
const maxExcerpt = 200;

const attemptsOf = (included: readonly ResourceObject[]): ResourceObject[] =>
  included
    .filter((one) => one.type === 'webhook_delivery_attempt')
    .sort((one, other) => Number(other.attributes['attempt_number']) - Number(one.attributes['attempt_number']));

/** What came of something that was sent by hand, in a sentence: the answer, with the beginning of its body, or that there is none yet. */
function answer(record: ResourceObject, included: readonly ResourceObject[]): Part[] {
  if (record.attributes['trigger'] === 'event') return [];
  const last = attemptsOf(included)[0]?.attributes;
  if (!last)
    return [
      { kind: 'notice', tone: 'info', text: 'Still under way: there is no answer yet.' },
      {
        kind: 'buttons',
        links: [{ label: 'Check again', path: recordPath('webhook_deliveries', record.id), variant: 'quiet' }],
        posts: [],
      },
    ];
  const { response_status, response_body, failure_reason, duration_ms } = last;
  const body = words(response_body).replace(/\s+/g, ' ').trim();
  const excerpt = body === '' ? '' : `: “${body.slice(0, maxExcerpt)}${body.length > maxExcerpt ? '…' : ''}”`;
  const what = response_status === null ? failureWords(failure_reason) : `The receiver answered ${words(response_status)}`;
  const text = `${what} after ${figure(duration_ms as number)} ms${excerpt}`;
  return [{ kind: 'notice', tone: failure_reason === null ? 'good' : 'bad', text: `${text}.` }];
}

function attempts(view: ViewContext, _record: ResourceObject, included: readonly ResourceObject[]): Part {
  const items = attemptsOf(included).map((one, index) => ({
    title: `Attempt ${words(one.attributes['attempt_number'])}`,
    state: attemptState(one),
    open: index === 0,
    parts: attemptParts(view, one),
  }));
  return items.length === 0
    ? { kind: 'text', title: terms.attempts, paragraphs: ['None yet.'] }
    : { kind: 'attempts', id: 'attempts', title: terms.attempts, items };
}

/** A table of the other deliveries of this event to this webhook; empty without any. */
async function siblings(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const filters = { event_id: words(record.attributes['event_id']), webhook: relatedId(record, 'webhook') ?? undefined };
  const listing = await listOf(view.req.call, 'webhook_deliveries', { filters, size: 20 });
  if (listing.records.length < 2) return [];
  const shown = { ...listing, extras: await lastDurations(view, listing.records) };
  const columns = deliveryColumns.filter(({ label }) => label !== terms.next_attempt);
  const rows = listing.records.map((one) => ({
    path: one.id === record.id ? null : recordPath('webhook_deliveries', one.id),
    cells: columns.map((column) => column.value(one, view, shown)),
  }));
  const heads = columns.map(({ label, numeric }) => ({ label, numeric }));
  return [pageTable({ id: 'siblings', caption: 'All deliveries of this event', columns: heads, rows, nothing: [terms.none, ''] })];
}

/** The payload, for actors who may read its event type. */
function payload(record: ResourceObject): Part[] {
  const event_type = words(record.attributes['event_type']);
  if (record.attributes['payload'] === null) {
    const needed = permissionsToReadEvent(event_type).join(' and ');
    return [
      { kind: 'text', title: 'Payload', paragraphs: [`To see what was sent, and to send it again, you need the permission ${needed}.`] },
    ];
  }
  return [
    {
      kind: 'code',
      id: 'payload',
      title: 'Payload',
      text: 'Formatted for display. Every attempt has the same event_id, so that the receiver can detect duplicates.',
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

export const webhookDeliveriesPresentation: Presentation = {
  path: 'webhook_deliveries',
  title: terms.deliveries,
  under: 'webhooks',
  one: 'delivery',
  lead: 'Events sent to all webhooks.',
  empty: { title: terms.no_deliveries_in_this_period, text: 'Deliveries appear when a subscribed event happens, or when you send a test.' },
  columns: [
    ...deliveryColumns.slice(0, 1),
    { label: terms.webhook, value: (record, _view, { included }) => text(includedRecord(record, 'webhook', included)?.attributes['name']) },
    ...deliveryColumns.slice(1),
  ],
  include: 'webhook',
  extras: lastDurations,
  filters: deliveryFilters,
  recordInclude: 'webhook,attempts',
  name: (record) => words(record.attributes['event_type']),
  state: deliveryState,
  showsId: false,
  summary: (record, { now }, included) => {
    const a = record.attributes;
    const webhook = includedRecord(record, 'webhook', included);
    const id = relatedId(record, 'webhook');
    return [
      { label: terms.webhook, value: webhook ? link(words(webhook.attributes['name']), recordPath('webhooks', webhook.id)) : code(id) },
      {
        label: 'History',
        value: webhook ? link('All deliveries of this webhook', `${recordPath('webhooks', webhook.id)}/deliveries`) : nothing,
      },
      { label: terms.url, value: code(webhook?.attributes['url'], true) },
      { label: terms.event_id, value: code(a['event_id'], true) },
      {
        label: terms.trigger,
        value: text({ event: 'The event', test: 'A test', redelivery: 'Manual redelivery' }[words(a['trigger'])] ?? a['trigger']),
      },
      { label: terms.attempts, value: text(`${words(a['attempt_count'])} of 6`) },
      { label: 'Last failure', value: failureReason(a['failure_reason']) },
      { label: terms.next_attempt, value: time(a['next_attempt_at'], now) },
      { label: terms.created, value: time(a['created_at'], now) },
      { label: 'Completed', value: time(a['completed_at'], now) },
      { label: 'Delivery ID', value: code(record.id, true) },
    ];
  },
  above: async (_view, record, included) => answer(record, included),
  more: async (view, record, included) => [
    attempts(view, record, included),
    ...(await siblings(view, record)),
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
    redeliver: {
      label: 'Redeliver',
      done: 'answered',
      settle: awaitFirstAttempt,
      leadsTo: (_record, answer) => recordPath('webhook_deliveries', answer.id),
    },
  },
};

import { fill, nouns, sentences, terms } from '../words.js';
import { permissionsToRead } from '../../domain/reach/reach-of.js';
import { named } from '../../lib/named.js';
import type { Part, Value } from '../page-parts.js';
import { recordPath, type ViewContext, type Presentation } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { relatedId, includedRecord, listOf } from '../resource-objects.js';
import { code, figure, link, nothing, state, text, time, words } from '../values.js';
import { deliveryColumns, deliveryFilters, deliveryState, lastDurations } from './delivery-columns.js';

const failures: Record<string, string> = named({
  non_2xx: terms.the_receiver_did_not_answer_with_success,
  timeout: terms.no_answer_within_the_time_limit,
  dns: terms.the_name_could_not_be_resolved,
  connect: terms.no_connection_nothing_listens_there,
  tls: terms.the_certificate_or_the_tls_handshake_failed,
  redirect: terms.the_receiver_redirected_redirects_are_not_followed,
  blocked_address: terms.the_address_is_in_a_private_network,
  webhook_disabled: terms.the_webhook_was_disabled,
  internal_error: terms.the_service_could_not_make_the_request,
});

const reason = (value: unknown): Value => (typeof value === 'string' ? text(failures[value] ?? value) : nothing);

function attemptState({ attributes: a }: ResourceObject): Value {
  if (a['failure_reason'] === null) return state('good', fill(terms.response_status, { response_status: words(a['response_status']) }));
  return state(
    'bad',
    a['response_status'] === null ? terms.no_response : fill(terms.response_status, { response_status: words(a['response_status']) }),
  );
}

const size = (body: string, truncated: boolean) =>
  fill(terms.size_in_bytes, { value: figure(Buffer.byteLength(body)), value_2: truncated ? terms.cut_off_at_16_kib : '' });

function attemptParts(look: ViewContext, { attributes: a }: ResourceObject): Part[] {
  const body = a['response_body'] as string | null;
  return [
    {
      kind: 'summary',
      title: null,
      rows: [
        { label: terms.started, value: time(a['started_at'], look.now) },
        { label: terms.duration, value: text(fill(terms.value_ms, { value: figure(a['duration_ms'] as number) })) },
        { label: terms.status, value: text(a['response_status']) },
        { label: terms.failure_reason, value: reason(a['failure_reason']) },
        ...(body === null
          ? []
          : [
              {
                label: fill(terms.response_body_value, { value: size(body, a['response_truncated'] === true) }),
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
    title: fill(terms.attempt_attempt_number, { attempt_number: words(one.attributes['attempt_number']) }),
    state: attemptState(one),
    open: index === 0,
    parts: attemptParts(look, one),
  }));
  return items.length === 0
    ? { kind: 'text', title: terms.attempts, paragraphs: [sentences.none_yet_reload_this_page] }
    : { kind: 'attempts', id: 'attempts', title: terms.attempts, items };
}

/** A table of the other deliveries of this event to this webhook; empty without any. */
async function siblings(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const filters = { event_id: words(record.attributes['event_id']), webhook: relatedId(record, 'webhook') ?? undefined };
  const listing = await listOf(look.req.call, 'webhook_deliveries', { filters, size: 20 });
  if (listing.records.length < 2) return [];
  const shown = { ...listing, beside: await lastDurations(look, listing.records) };
  const columns = deliveryColumns.filter(({ label }) => label !== terms.next_attempt);
  const rows = listing.records.map((one) => ({
    path: one.id === record.id ? null : recordPath('webhook_deliveries', one.id),
    cells: columns.map((column) => column.value(one, look, shown)),
  }));
  const empty = { title: terms.none, text: '', button: null };
  const heads = columns.map(({ label, numeric }) => ({ label, numeric }));
  return [
    { kind: 'table', id: 'siblings', caption: terms.all_deliveries_of_this_event, heading: true, columns: heads, rows, empty, pager: null },
  ];
}

/** The payload, for actors who may read its event type. */
function payload(record: ResourceObject): Part[] {
  const event_type = words(record.attributes['event_type']);
  if (record.attributes['payload'] === null) {
    const needed = permissionsToRead(event_type).join(' and ');
    return [
      {
        kind: 'text',
        title: terms.payload,
        paragraphs: [fill(sentences.to_see_what_was_sent, { needed })],
      },
    ];
  }
  return [
    {
      kind: 'code',
      id: 'payload',
      title: terms.payload,
      text: sentences.laid_out_for_reading_it,
      code: JSON.stringify(record.attributes['payload'], null, 2),
    },
    {
      kind: 'buttons',
      links: [
        { label: terms.download_the_payload_as_sent, path: `${recordPath('webhook_deliveries', record.id)}/payload`, variant: 'quiet' },
      ],
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
  title: terms.deliveries,
  under: 'webhooks',
  one: nouns.delivery,
  lead: sentences.webhook_deliveries_lead,
  empty: { title: terms.no_deliveries_in_this_period, text: sentences.deliveries_appear_when_a_subscribed },
  columns: [
    ...deliveryColumns.slice(0, 1),
    { label: terms.webhook, value: (record, _look, { included }) => text(includedRecord(record, 'webhook', included)?.attributes['name']) },
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
      { label: terms.webhook, value: webhook ? link(words(webhook.attributes['name']), recordPath('webhooks', webhook.id)) : code(id) },
      {
        label: terms.history,
        value: webhook ? link('All deliveries of this webhook', `${recordPath('webhooks', webhook.id)}/deliveries`) : nothing,
      },
      { label: terms.url, value: code(webhook?.attributes['url'], true) },
      { label: terms.event_id, value: code(a['event_id'], true) },
      {
        label: terms.trigger,
        value: text(
          { event: terms.the_event, test: terms.a_test, redelivery: terms.manual_redelivery }[words(a['trigger'])] ?? a['trigger'],
        ),
      },
      { label: terms.attempts, value: text(fill(terms.attempt_count_of_at_most, { attempt_count: words(a['attempt_count']) })) },
      { label: terms.last_failure, value: reason(a['failure_reason']) },
      { label: terms.next_attempt, value: time(a['next_attempt_at'], now) },
      { label: terms.created, value: time(a['created_at'], now) },
      { label: terms.completed, value: time(a['completed_at'], now) },
      { label: terms.delivery_id, value: code(record.id, true) },
    ];
  },
  more: async (look, record, included) => [
    attempts(look, record, included),
    ...(await siblings(look, record)),
    ...payload(record),
    {
      kind: 'code',
      id: 'verification',
      title: terms.check_the_signature,
      text: sentences.node_js_the_standard_webhooks,
      code: verification(words(record.attributes['event_type'])),
    },
  ],
  actions: {
    redeliver: { label: terms.redeliver, done: 'redelivered', leadsTo: (_record, answer) => recordPath('webhook_deliveries', answer.id) },
  },
};

import { downloadsOf } from '../../parts/lists/downloads.js';
import { listSuccessRates } from '../../../db/tables/delivery_figures.js';
import { webhookHealth } from '../../../domain/health/health.js';
import { awaitFirstAttempt } from '../../../domain/webhooks/webhooks.js';
import { allEvents, eventChoices, statusField } from '../../parts/forms/choices.js';
import { healthCell, healthNotice, healthState } from '../../parts/health.js';
import { recordPath, type ViewContext, type Presentation } from '../../parts/records/presentation.js';
import type { Value } from '../../parts/page-parts.js';
import type { ResourceObject } from '../../../management/documents.js';
import { may } from '../../parts/records/objects.js';
import { arrivedShare, code, nothing, percentage, quiet, stack, state, tags, text, time, words } from '../../parts/values.js';
import { deliveriesTab, lastDay } from './deliveries-tab.js';
import { terms } from '../../parts/words.js';
import { secretLead, secretRow, secretTexts } from './signing-secret.js';

const healthOf = ({ attributes }: ResourceObject) => webhookHealth(attributes as unknown as Parameters<typeof webhookHealth>[0]);

const soundState = ({ attributes: a }: ResourceObject): Value =>
  a['status'] === 'enabled' ? state('good', terms.enabled) : state('quiet', terms.disabled);

const webhookState = (record: ResourceObject): Value => healthState(healthOf(record), soundState(record));

/** The subscribed event types, with `*` in words. */
const eventTags = ({ attributes: a }: Pick<ResourceObject, 'attributes'>, most: number): Value =>
  tags(
    (a['events'] as string[]).map((name) => (name === '*' ? allEvents : name)),
    most,
  );

/** The success rate of each webhook's latest deliveries of the last 24 hours, by webhook id; webhooks without any are left out. */
async function successRates({ req, now }: ViewContext, records: readonly ResourceObject[]): Promise<ReadonlyMap<string, Value>> {
  const ids = records.map(({ id }) => id);
  const rates = await listSuccessRates(req.call.ctx.scope, ids, new Date(now.getTime() - 86_400_000));
  return new Map(
    rates.flatMap((rate) => {
      const share = arrivedShare(rate);
      if (share === null) return [];
      return [[rate.webhook_id, stack(text(share), quiet(`${percentage(rate.succeeded, rate.attempts)} of attempts`))] as const];
    }),
  );
}

export const webhooksPresentation: Presentation = {
  path: 'webhooks',
  title: terms.webhooks,
  navigation: { group: 'Events', icon: ['M10 17.25V11M10 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM6.5 17.25h7', 'M10 7h.1'] },
  one: 'webhook',
  lead: 'Get notified when something happens: signed, retried, and every attempt kept for 30 days.',
  empty: {
    title: 'No webhooks yet',
    text: 'A webhook POSTs each event to your server as it happens. The receiver checks the signature and answers 200:',
    code: "const expected = 'sha256=' + createHmac('sha256', secret).update(rawBody).digest('hex');\nif (!timingSafeEqual(Buffer.from(expected), Buffer.from(req.headers['x-service-signature']))) return res.sendStatus(401);\nres.sendStatus(200);",
  },
  columns: [
    { label: terms.webhook, sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['url']))) },
    { label: terms.events, value: (record) => eventTags(record, 2) },
    { label: terms.status, value: (record) => healthCell(healthOf(record), soundState(record)) },
    { label: 'Arrived (24 h)', numeric: true, value: (record, _view, { extras }) => extras?.get(record.id) ?? nothing },
    { label: 'Last delivery', value: (record, { now }) => time(record.attributes['last_delivery_at'], now) },
  ],
  extras: successRates,
  downloads: downloadsOf('webhooks', 'csv', 'json'),
  selected: { acts: ['delete'] },
  filters: [
    { name: 'search', label: 'Name, URL or ID', kind: 'search' },
    { name: 'status', label: terms.status },
  ],
  name: (record) => words(record.attributes['name']),
  state: webhookState,
  summary: ({ attributes: a }, { now }) => [
    { label: terms.url, value: code(a['url'], true) },
    { label: terms.events, value: eventTags({ attributes: a }, 100) },
    { label: terms.description, value: text(a['description']) },
    secretRow(a, now),
    { label: 'Last delivery', value: time(a['last_delivery_at'], now) },
    { label: 'Last success', value: time(a['last_success_at'], now) },
    { label: terms.created, value: time(a['created_at'], now) },
  ],
  above: async (_view, record) => healthNotice(healthOf(record)),
  more: lastDay,
  fields: [
    { name: 'name', label: terms.name, hint: terms.shown_only_to_administrators, attributes: { maxlength: 255 } },
    {
      name: 'url',
      label: terms.url,
      kind: 'url',
      hint: 'Where events are POSTed to.',
      attributes: { maxlength: 2048, autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'description', label: terms.description, attributes: { maxlength: 1000 } },
    { name: 'events', label: terms.events, kind: 'checks', choices: eventChoices, optional: false },
    statusField('Pending deliveries fail, and events in the meantime are never sent.'),
  ],
  create: { label: terms.create_webhook, title: 'Create a webhook', lead: secretLead, guarded: true },
  remove: {
    label: 'Delete webhook',
    text: 'Nothing more is sent, and its delivery history is deleted.',
    typed: (record) => words(record.attributes['name']),
  },
  actions: {
    test: {
      label: terms.send_test,
      done: 'answered',
      settle: awaitFirstAttempt,
      leadsTo: (_record, answer) => recordPath('webhook_deliveries', answer.id),
    },
    rotate_secret: {
      label: terms.rotate_secret,
      confirm: [
        'A new signing secret is generated and shown once. Everything from now on is signed with it.',
        'Deliveries in flight can still have the old signature: let the receiver accept both for a while. For 24 hours, the Standard Webhooks header is signed with both.',
      ],
      guarded: true,
      done: 'updated',
    },
  },
  secrets: secretTexts(
    'The receiver uses it to check the signature of every delivery: HMAC-SHA256 over the raw body, with this whole text as the key.',
    'Add it to the receiver now. Deliveries in flight may still be signed with the old one.',
  ),
  tabs: [{ name: 'deliveries', label: terms.deliveries, parts: deliveriesTab }],
  links: (record, { req }) => ({
    links: may(req.call, 'webhooks', 'write')
      ? [{ label: 'Redeliver failed', path: `${recordPath('webhooks', record.id)}/redeliver_failed`, dialog: true }]
      : [],
    posts: [],
  }),
};

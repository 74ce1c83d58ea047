import { listSuccessRates } from '../../db/tables/delivery_figures.js';
import { allEvents, eventChoices } from '../choices.js';
import { recordPath, type ViewContext, type Presentation } from '../presentation.js';
import type { Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { may } from '../resource-objects.js';
import { code, nothing, percentage, quiet, stack, state, tags, text, time, words } from '../values.js';
import { deliveriesTab, lastDay } from './deliveries-tab.js';
import { named } from '../../lib/named.js';

const reasons: Record<string, string> = named({
  receiver_gone: 'The receiver answered 410 Gone',
  consecutive_failures: '100 events in a row failed',
});

const webhookState = ({ attributes: a }: ResourceObject): Value =>
  a['status'] === 'enabled'
    ? state('good', 'Enabled')
    : a['disabled_reason'] === null
      ? state('quiet', 'Disabled')
      : state('bad', 'Disabled by the service');

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
  const settled = rates.filter(({ succeeded, failed }) => succeeded + failed > 0);
  return new Map(settled.map(({ webhook_id, succeeded, failed }) => [webhook_id, text(percentage(succeeded, succeeded + failed))]));
}

/** Receivers of events. */
export const webhooks: Presentation = {
  path: 'webhooks',
  title: 'Webhooks',
  navigation: { group: 'Events', icon: ['M10 17.25V11M10 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM6.5 17.25h7', 'M10 7h.1'] },
  one: 'webhook',
  lead: 'Addresses that are told when something happens here: signed, retried, and every attempt kept for 30 days.',
  empty: {
    title: 'No webhooks yet',
    text: 'A webhook POSTs each event to your server as it happens, so that you need not ask. The receiver checks the signature and answers 200:',
    code: "const expected = 'sha256=' + createHmac('sha256', secret).update(rawBody).digest('hex');\nif (!timingSafeEqual(Buffer.from(expected), Buffer.from(req.headers['x-service-signature']))) return res.sendStatus(401);\nres.sendStatus(200);",
  },
  columns: [
    { label: 'Webhook', sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['url']))) },
    { label: 'Events', value: (record) => eventTags(record, 2) },
    { label: 'Status', value: webhookState },
    { label: 'Success, 24 hours', numeric: true, value: (record, _look, { beside }) => beside?.get(record.id) ?? nothing },
    { label: 'Last delivery', value: (record, { now }) => time(record.attributes['last_delivery_at'], now) },
  ],
  beside: successRates,
  filters: [
    { name: 'search', label: 'Name or URL begins with', kind: 'search' },
    { name: 'status', label: 'Status' },
  ],
  name: (record) => words(record.attributes['name']),
  state: webhookState,
  summary: ({ attributes: a, id }, { now }) => [
    { label: 'URL', value: code(a['url'], true) },
    { label: 'Events', value: eventTags({ attributes: a }, 100) },
    { label: 'Description', value: text(a['description']) },
    {
      label: 'Signing secret',
      value: stack(
        code(`whsec_…${words(a['secret_hint'])}`),
        quiet(a['secret_rotated_at'] === null ? 'shown once, when it was made' : 'rotated'),
        ...(a['secret_rotated_at'] === null ? [] : [time(a['secret_rotated_at'], now)]),
      ),
    },
    ...(a['disabled_reason'] === null
      ? []
      : [{ label: 'Why disabled', value: text(reasons[words(a['disabled_reason'])] ?? a['disabled_reason']) }]),
    { label: 'Last delivery', value: time(a['last_delivery_at'], now) },
    { label: 'Last success', value: time(a['last_success_at'], now) },
    { label: 'Created', value: time(a['created_at'], now) },
    { label: 'Id', value: code(id, true) },
  ],
  more: lastDay,
  fields: [
    { name: 'name', label: 'Name', hint: 'For you: what receives it.', attributes: { maxlength: 255 } },
    {
      name: 'url',
      label: 'URL',
      kind: 'url',
      hint: 'Where events are POSTed to.',
      attributes: { maxlength: 2048, autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'description', label: 'Description', attributes: { maxlength: 1000 } },
    { name: 'events', label: 'Events', kind: 'checks', choices: eventChoices, optional: false },
    { name: 'status', label: 'Status', kind: 'radios', on: 'update', choices: async () => [{ value: 'enabled', label: 'Enabled' }, { value: 'disabled', label: 'Disabled', hint: 'Pending deliveries fail; what happens meanwhile is never sent.' }] }, // prettier-ignore
  ],
  create: {
    label: 'Create webhook',
    title: 'Create a webhook',
    lead: 'The signing secret is shown once, on the next page.',
    guarded: true,
  },
  remove: {
    label: 'Delete webhook',
    text: 'Nothing is sent any more, and its delivery history goes with it.',
    typed: (record) => words(record.attributes['name']),
  },
  actions: {
    test: { label: 'Send test', done: 'sent', leadsTo: (_record, answer) => recordPath('webhook_deliveries', answer.id) },
    rotate_secret: {
      label: 'Rotate secret',
      confirm: [
        'A new signing secret is made and shown once. Everything from now on is signed with it.',
        'Deliveries in flight may still carry the old signature: let the receiver accept both for a while. For 24 hours the Standard Webhooks header is signed with both.',
      ],
      guarded: true,
      done: 'updated',
    },
  },
  secrets: {
    create: {
      title: 'Save the signing secret',
      label: 'Signing secret',
      text: 'Give it to the receiver, which checks the signature of every delivery with it: HMAC-SHA256 over the raw body, keyed with this whole text.',
    },
    rotate_secret: {
      title: 'Save the new signing secret',
      label: 'Signing secret',
      text: 'Put it into the receiver now. Deliveries in flight may still be signed with the old one.',
    },
  },
  tabs: [{ name: 'deliveries', label: 'Deliveries', parts: deliveriesTab }],
  links: (record, { req }) => ({
    links: may(req.call, 'webhooks', 'write')
      ? [{ label: 'Resend failed', path: `${recordPath('webhooks', record.id)}/redeliver_failed`, dialog: true }]
      : [],
    posts: [],
  }),
};

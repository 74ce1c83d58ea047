import { listSuccessRates } from '../../db/tables/delivery_figures.js';
import { allEvents, eventChoices } from '../choices.js';
import { recordPath, type ViewContext, type Presentation } from '../presentation.js';
import type { Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { may } from '../resource-objects.js';
import { code, nothing, percentage, quiet, stack, state, tags, text, time, words } from '../values.js';
import { deliveriesTab, lastDay } from './deliveries-tab.js';
import { named } from '../../lib/named.js';
import { hints, nouns, sentences, terms } from '../words.js';

const reasons: Record<string, string> = named({
  receiver_gone: terms.the_receiver_answered_410_gone,
  consecutive_failures: terms.n100_events_in_a_row_failed,
});

const webhookState = ({ attributes: a }: ResourceObject): Value =>
  a['status'] === 'enabled'
    ? state('good', terms.enabled)
    : a['disabled_reason'] === null
      ? state('quiet', terms.disabled)
      : state('bad', terms.disabled_by_the_service);

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
  title: terms.webhooks,
  navigation: { group: 'Events', icon: ['M10 17.25V11M10 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM6.5 17.25h7', 'M10 7h.1'] },
  one: nouns.webhook,
  lead: sentences.webhooks_lead,
  empty: {
    title: terms.no_webhooks_yet,
    text: sentences.a_webhook_posts_each_event,
    code: "const expected = 'sha256=' + createHmac('sha256', secret).update(rawBody).digest('hex');\nif (!timingSafeEqual(Buffer.from(expected), Buffer.from(req.headers['x-service-signature']))) return res.sendStatus(401);\nres.sendStatus(200);",
  },
  columns: [
    { label: terms.webhook, sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['url']))) },
    { label: terms.events, value: (record) => eventTags(record, 2) },
    { label: terms.status, value: webhookState },
    { label: terms.success_rate_24_h, numeric: true, value: (record, _look, { beside }) => beside?.get(record.id) ?? nothing },
    { label: terms.last_delivery, value: (record, { now }) => time(record.attributes['last_delivery_at'], now) },
  ],
  beside: successRates,
  filters: [
    { name: 'search', label: terms.name_or_url_begins_with, kind: 'search' },
    { name: 'status', label: terms.status },
  ],
  name: (record) => words(record.attributes['name']),
  state: webhookState,
  summary: ({ attributes: a, id }, { now }) => [
    { label: terms.url, value: code(a['url'], true) },
    { label: terms.events, value: eventTags({ attributes: a }, 100) },
    { label: terms.description, value: text(a['description']) },
    {
      label: terms.signing_secret,
      value: stack(
        code(`whsec_…${words(a['secret_hint'])}`),
        quiet(a['secret_rotated_at'] === null ? terms.shown_once_when_it_was_made : 'rotated'),
        ...(a['secret_rotated_at'] === null ? [] : [time(a['secret_rotated_at'], now)]),
      ),
    },
    ...(a['disabled_reason'] === null
      ? []
      : [{ label: terms.disabled_reason, value: text(reasons[words(a['disabled_reason'])] ?? a['disabled_reason']) }]),
    { label: terms.last_delivery, value: time(a['last_delivery_at'], now) },
    { label: terms.last_success, value: time(a['last_success_at'], now) },
    { label: terms.created, value: time(a['created_at'], now) },
    { label: terms.id, value: code(id, true) },
  ],
  more: lastDay,
  fields: [
    { name: 'name', label: terms.name, hint: hints.log_streams_name, attributes: { maxlength: 255 } },
    {
      name: 'url',
      label: terms.url,
      kind: 'url',
      hint: hints.webhooks_url,
      attributes: { maxlength: 2048, autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'description', label: terms.description, attributes: { maxlength: 1000 } },
    { name: 'events', label: terms.events, kind: 'checks', choices: eventChoices, optional: false },
    { name: 'status', label: terms.status, kind: 'radios', on: 'update', choices: async () => [{ value: 'enabled', label: terms.enabled }, { value: 'disabled', label: terms.disabled, hint: hints.webhooks_disabled }] }, // prettier-ignore
  ],
  create: {
    label: terms.create_webhook,
    title: terms.create_a_webhook,
    lead: sentences.the_signing_secret_is_shown,
    guarded: true,
  },
  remove: {
    label: terms.delete_webhook,
    text: sentences.nothing_is_sent_any_more_and_its,
    typed: (record) => words(record.attributes['name']),
  },
  actions: {
    test: { label: terms.send_test, done: 'sent', leadsTo: (_record, answer) => recordPath('webhook_deliveries', answer.id) },
    rotate_secret: {
      label: terms.rotate_secret,
      confirm: [sentences.a_new_signing_secret_is_made_and, sentences.deliveries_in_flight_may_still],
      guarded: true,
      done: 'updated',
    },
  },
  secrets: {
    create: {
      title: terms.save_the_signing_secret,
      label: terms.signing_secret,
      text: sentences.give_it_to_the_receiver,
    },
    rotate_secret: {
      title: terms.save_the_new_signing_secret,
      label: terms.signing_secret,
      text: sentences.put_it_into_the_receiver_now_deliveries,
    },
  },
  tabs: [{ name: 'deliveries', label: terms.deliveries, parts: deliveriesTab }],
  links: (record, { req }) => ({
    links: may(req.call, 'webhooks', 'write')
      ? [{ label: terms.redeliver_failed, path: `${recordPath('webhooks', record.id)}/redeliver_failed`, dialog: true }]
      : [],
    posts: [],
  }),
};

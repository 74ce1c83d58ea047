import { z } from 'zod';
import { reachOfWebhook } from '../../domain/reach/reach-of.js';
import { type Problem, unfit } from '../../domain/refusal.js';
import type { Context } from '../../domain/context.js';
import {
  maxDescriptionLength,
  maxNameLength,
  subscribableEvents,
  webhookProblems,
  type WebhookInput,
} from '../../domain/webhooks/input.js';
import {
  createWebhook,
  deleteWebhook,
  maxRedeliveries,
  redeliverFailed,
  rotateSecret,
  sendTest,
  updateWebhook,
} from '../../domain/webhooks/webhooks.js';
import { failureReasons } from '../../db/tables/webhook_deliveries.js';
import type { WebhookRow } from '../../db/tables/webhooks.js';
import { equalTo, holding, searchFilter, stamps, stampSorts, textSort, isoTime } from '../fields.js';
import { resource } from '../declaration.js';
import { toMany } from '../links.js';
import { changed } from '../resource.js';

const status = z.enum(['enabled', 'disabled']);
const once = z.object({ signing_secret: z.string().meta({ description: 'Shown by this answer only.' }) });

const url = z.string().meta({ format: 'uri', description: 'Where events are sent: https; http only where private networks are allowed.' });
const events = z
  .array(z.string().meta({ enum: [...subscribableEvents] }))
  .min(1)
  .max(100)
  .meta({
    description:
      'Event types by name. `*` stands for all that `GET /api/event_types` lists without a filter, but for `token.issued`; the rest come by name only.',
  });

const moment = z.iso.datetime({ offset: true });
const period = z
  .strictObject({
    since: moment.meta({ description: 'Deliveries made at this time or later.' }),
    until: moment.optional().meta({ description: 'Deliveries made before this time; now unless given.' }),
  })
  .refine(({ since, until }) => until === undefined || Date.parse(since) < Date.parse(until), {
    path: ['until'],
    message: 'must be later than since',
    params: { code: 'invalid_period' },
  });
const redelivered = z.object({
  deliveries: z.int().meta({ description: 'How many deliveries were made, or are tried at once instead of later.' }),
  more: z.boolean().meta({ description: `Whether the limit of ${maxRedeliveries} was reached: ask again for the rest.` }),
});

const problems = (ctx: Context, input: Partial<WebhookInput>): Problem[] =>
  webhookProblems(input, { allowPrivateNetwork: ctx.config.allowPrivateNetwork }).map(({ attribute, path, code, detail }) =>
    unfit([attribute, ...path], code, `${attribute} ${detail}.`),
  );

export const webhooks = resource<WebhookRow, WebhookInput, Partial<WebhookInput>>({
  type: 'webhook',
  path: 'webhooks',
  description: 'Receivers of events. The signing secret is shown when it is made and never again.',
  attributes: z.object({
    disabled_reason: z.string().nullable(),
    secret_hint: z.string().meta({ description: 'The last four characters of the signing secret.' }),
    secret_rotated_at: isoTime.nullable(),
    last_delivery_at: isoTime.nullable(),
    last_success_at: isoTime.nullable(),
    failing_since: isoTime.nullable(),
    failed_attempt_count: z.int(),
    last_response_status: z.int().nullable(),
    last_failure_reason: z.enum(failureReasons).nullable(),
    ...stamps,
  }),
  reach: { of: (_tx, row) => reachOfWebhook(row) },
  settable: {
    name: ['plain', z.string().max(maxNameLength), 'needed'],
    url: ['control', url, 'needed'],
    events: ['reach and control', events, 'needed'],
    description: ['plain', z.string().max(maxDescriptionLength).nullable()],
    status: ['control', status],
  },
  relationships: { deliveries: toMany('webhook_delivery', 'webhook_id', 'What was sent, or will be.') },
  filters: {
    status: equalTo('status', status, 'Enabled or disabled.'),
    events: holding('events', z.enum(subscribableEvents as [string, ...string[]]), 'Subscribes to one of these by name.'),
    search: searchFilter(['webhooks.name', 'webhooks.url'], 'Name or URL'),
  },
  sorts: { ...stampSorts('webhooks'), name: textSort('webhooks.name') },
  create: {
    once,
    problems,
    async run(tx, _actor, input) {
      const { webhook, signing_secret } = await createWebhook(tx, input);
      return { row: webhook, once: { signing_secret } };
    },
  },
  update: { problems, run: async (tx, _actor, row, input) => ({ row: changed(await updateWebhook(tx, row, input)) }) },
  remove: { run: async (tx, _actor, row) => void (await deleteWebhook(tx, row.id)) },
  actions: {
    rotate_secret: {
      method: 'PATCH',
      description: 'Makes a new signing secret. Deliveries in flight may still be signed with the old one.',
      audit: 'secret_rotated',
      touch: 'control',
      once,
      async run(tx, _actor, row) {
        const { webhook, signing_secret } = changed(await rotateSecret(tx, row.id));
        return { row: webhook, once: { signing_secret } };
      },
    },
    test: {
      method: 'POST',
      description: 'Sends `webhook.test`, subscribed or not; answers the delivery.',
      audit: 'tested',
      touch: 'control',
      answers: 'webhook_delivery',
      run: async (tx, { actor_kind, actor_id }, row) => ({ row: await sendTest(tx, row, { actor_kind, actor_id }) }),
    },
    redeliver_failed: {
      method: 'POST',
      description:
        'Sends again, once each, the events that failed for good in a period and have not arrived since: the same bytes and event_id. What waits for another attempt is tried at once.',
      audit: 'failed_redelivered',
      touch: 'control',
      input: period,
      meta: redelivered,
      async run(tx, _actor, row, input) {
        const { since, until } = input as z.infer<typeof period>;
        const deliveries = await redeliverFailed(tx, row.id, new Date(since), until === undefined ? undefined : new Date(until));
        return { row, meta: { deliveries, more: deliveries === maxRedeliveries }, noted: { ...input, deliveries } };
      },
    },
  },
  display: (webhook) => webhook.name,
});

import type { Request, Response } from 'express';
import { countRedeliveries } from '../../../db/tables/webhook_deliveries.js';
import { maxRedeliveries } from '../../../domain/webhooks/webhooks.js';
import { requirePermissions } from '../../../management/authorize.js';
import { perform } from '../../../management/write-steps.js';
import { figure, figureUpTo, words } from '../../parts/values.js';
import type { Choice, Field, Part } from '../../parts/page-parts.js';
import { recordPath } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { recordOf, resourceOf } from '../../parts/records/objects.js';
import { addressedId } from '../../parts/records/record.js';
import type { Render } from '../../parts/render.js';
import { terms } from '../../parts/words.js';

const periods: readonly (Choice & { readonly seconds: number })[] = [
  { value: '1h', label: 'Of the last hour', seconds: 3600 },
  { value: '24h', label: 'Of the last 24 hours', seconds: 86_400 },
  { value: '7d', label: 'Of the last 7 days', seconds: 604_800 },
  { value: '30d', label: 'Of the last 30 days', seconds: 2_592_000 },
];

/** How many events a choice takes. */
function takes({ failed, retrying }: { failed: number; retrying: number }): string {
  const all = [
    ...(failed > 0 ? [`${figureUpTo(failed, maxRedeliveries)} failed`] : []),
    ...(retrying > 0 ? [`${figureUpTo(retrying, maxRedeliveries)} being retried`] : []),
  ];
  return all.length > 0 ? all.join(', ') : terms.none;
}

async function show(render: Render, req: Request, res: Response, record: ResourceObject, error: string | null): Promise<void> {
  const path = recordPath('webhooks', record.id);
  const { scope, clock } = req.call.ctx;
  const since = periods.map(({ seconds }) => new Date(clock.now().getTime() - seconds * 1000));
  const counts = await countRedeliveries(scope, record.id, since, maxRedeliveries);
  const field: Field = {
    kind: 'radios',
    name: 'period',
    label: 'Which deliveries',
    hint: null,
    optional: false,
    value: '24h',
    chosen: [],
    choices: periods.map(({ value, label }, index) => ({ value, label, hint: takes(counts[index] ?? { failed: 0, retrying: 0 }) })),
    error,
    attributes: {},
  };
  const form: Part = {
    kind: 'form',
    id: 'redeliver',
    text: [
      'Each event that failed permanently and hasn’t arrived since is sent again: the same bytes and the same event_id, signed with the current secret. Deliveries being retried are retried immediately.',
      `At most ${figure(maxRedeliveries)} at a time.`,
    ],
    action: `${path}/redeliver_failed`,
    hidden: {},
    sections: [{ title: null, text: null, fields: [field] }],
    button: { label: 'Redeliver', variant: 'primary' },
    cancel: `${path}/deliveries`,
  };
  const crumbs = [
    { label: terms.webhooks, path: '/dashboard/webhooks' },
    { label: words(record.attributes['name']), path },
  ];
  render(
    req,
    res,
    {
      title: 'Redeliver failed deliveries',
      crumbs,
      errors: error === null ? {} : { period: error },
      labels: { period: field.label },
      parts: [form],
    },
    error === null ? 200 : 422,
  );
}

/** GET /dashboard/webhooks/{id}/redeliver_failed */
export const redeliverFailedPage = (render: Render) => async (req: Request, res: Response) => {
  requirePermissions(req.call, 'webhooks:write');
  await show(render, req, res, (await recordOf(req.call, 'webhooks', addressedId(req))).record, null);
};

/** POST /dashboard/webhooks/{id}/redeliver_failed */
export const resendFailed = (render: Render) => async (req: Request, res: Response) => {
  const { call } = req;
  const id = addressedId(req);
  const period = periods.find(({ value }) => value === req.form.get('period'));
  if (!period) {
    requirePermissions(call, 'webhooks:write');
    return show(render, req, res, (await recordOf(call, 'webhooks', id)).record, 'Choose a period.');
  }
  const since = new Date(call.ctx.clock.now().getTime() - period.seconds * 1000).toISOString();
  const { meta } = await perform(call, {
    kind: 'act',
    resource: resourceOf(call, 'webhooks'),
    id,
    name: 'redeliver_failed',
    document: { meta: { since } },
  });
  res.redirect(303, `${recordPath('webhooks', id)}/deliveries?done=${meta?.['deliveries'] === 0 ? 'nothing_to_redeliver' : 'redelivered'}`);
};

import type { Request, Response } from 'express';
import { maxRedeliveries } from '../domain/webhooks/webhooks.js';
import { requirePermissions } from '../management/authorize.js';
import { actOnRecord } from '../management/operations.js';
import { figure, words } from './values.js';
import type { Choice, Field, Part } from './page-parts.js';
import { recordPath } from './presentation.js';
import type { ResourceObject } from '../management/documents.js';
import { recordOf, resourceOf } from './resource-objects.js';
import { addressedId } from './resource-record.js';
import type { Render } from './render.js';
import { fill, sentences, terms } from './words.js';

const periods: readonly (Choice & { readonly seconds: number })[] = [
  { value: '1h', label: terms.of_the_last_hour, seconds: 3600 },
  { value: '24h', label: terms.of_the_last_24_hours, seconds: 86_400 },
  { value: '7d', label: terms.of_the_last_7_days, seconds: 604_800 },
  { value: '30d', label: terms.of_the_last_30_days, seconds: 2_592_000 },
];

function show(render: Render, req: Request, res: Response, record: ResourceObject, error: string | null): void {
  const path = recordPath('webhooks', record.id);
  const field: Field = {
    kind: 'radios',
    name: 'period',
    label: terms.which_failed_deliveries,
    hint: null,
    optional: false,
    value: '24h',
    chosen: [],
    choices: periods,
    error,
    attributes: {},
  };
  const form: Part = {
    kind: 'form',
    id: 'redeliver',
    text: [
      sentences.each_event_that_failed_for,
      fill(sentences.at_most_maxredeliveries_at_a, { maxredeliveries: figure(maxRedeliveries) }),
    ],
    action: `${path}/redeliver_failed`,
    hidden: {},
    sections: [{ title: null, text: null, fields: [field] }],
    button: { label: terms.redeliver_failed_deliveries, variant: 'primary' },
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
      title: terms.redeliver_failed_deliveries,
      crumbs,
      errors: error === null ? {} : { period: error },
      labels: { period: field.label },
      parts: [form],
    },
    error === null ? 200 : 422,
  );
}

/** GET /dashboard/webhooks/{id}/redeliver_failed */
export function redeliverFailedPage(render: Render) {
  return async (req: Request, res: Response): Promise<void> => {
    requirePermissions(req.call, 'webhooks:write');
    show(render, req, res, (await recordOf(req.call, 'webhooks', addressedId(req))).record, null);
  };
}

/** POST /dashboard/webhooks/{id}/redeliver_failed */
export function resendFailed(render: Render) {
  return async (req: Request, res: Response): Promise<void> => {
    const { call } = req;
    const id = addressedId(req);
    const period = periods.find(({ value }) => value === req.form.get('period'));
    if (!period) {
      requirePermissions(call, 'webhooks:write');
      return show(render, req, res, (await recordOf(call, 'webhooks', id)).record, sentences.choose_a_period);
    }
    const since = new Date(call.ctx.clock.now().getTime() - period.seconds * 1000).toISOString();
    const { meta } = await actOnRecord(call, resourceOf(call, 'webhooks'), id, 'redeliver_failed', {
      document: () => ({ meta: { since } }),
    });
    res.redirect(
      303,
      `${recordPath('webhooks', id)}/deliveries?done=${meta?.['deliveries'] === 0 ? 'nothing_to_redeliver' : 'redelivered'}`,
    );
  };
}

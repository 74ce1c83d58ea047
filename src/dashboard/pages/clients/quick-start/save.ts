import type { Request, Response } from 'express';
import { ApiError } from '../../../../errors.js';
import { perform } from '../../../../management/write-steps.js';
import { notFound } from '../../../../management/problems.js';
import type { Render } from '../../../parts/render.js';
import { recordOf, resourceOf } from '../../../parts/records/objects.js';
import type { Presentation } from '../../../parts/records/presentation.js';
import type { ResourceObject } from '../../../../management/documents.js';
import { addressedId, recordFrame } from '../../../parts/records/record.js';
import { sentenceOf } from '../../../parts/texts.js';
import type { ClientGuide } from './guides.js';
import { guidesFor, lackingOf, quickStartPath } from './steps.js';

/** Makes the settings: of the client, and of the API that was chosen. @throws {ApiError} */
async function makeSettings(req: Request, record: ResourceObject, guide: ClientGuide): Promise<void> {
  const { call } = req;
  const attributes = lackingOf(record, guide);
  const change = (path: string, id: string, of: Record<string, unknown>) => {
    const resource = resourceOf(call, path);
    return perform(call, { kind: 'update', resource, id, document: { data: { type: resource.type, id, attributes: of } } });
  };
  if (Object.keys(attributes).length > 0) await change('clients', record.id, attributes);
  const api = req.form.get('api_resource') ?? '';
  if (api === '' || guide.token_typ === null) return;
  await change('api_resources', api, { token_typ: guide.token_typ });
}

/** POST /dashboard/clients/{id}/quick_start: the settings that the chosen guide asks for. */
export const saveQuickStart = (render: Render, presentation: Presentation) => async (req: Request, res: Response) => {
  const { record } = await recordOf(req.call, 'clients', addressedId(req));
  const guide = guidesFor(record).find(({ name }) => name === req.form.get('guide'));
  const tab = presentation.tabs?.find(({ name }) => name === 'quick_start');
  if (!guide || !tab) throw notFound();
  try {
    await makeSettings(req, record, guide);
  } catch (error) {
    const first = error instanceof ApiError ? error.errors[0] : undefined;
    if (!first || first.code === 'insufficient_scope') throw error;
    const view = { req, now: req.call.ctx.clock.now() };
    const { dangers: _dangers, ...frame } = recordFrame(view, presentation, record, [], tab.name);
    return render(
      req,
      res,
      { ...frame, errors: { form: sentenceOf(first, undefined) }, parts: await tab.parts(view, record) },
      first.status,
    );
  }
  res.redirect(303, `${quickStartPath(record.id)}?${new URLSearchParams({ guide: guide.name, done: 'updated' }).toString()}`);
};

import type { Request, Response } from 'express';
import { ApiError } from '../../errors.js';
import { updateRecord } from '../../management/operations.js';
import { notFound } from '../../management/problems.js';
import type { Render } from '../render.js';
import { recordOf, resourceOf } from '../resource-objects.js';
import type { ResourceObject } from '../../management/documents.js';
import { addressedId, recordFrame } from '../resource-record.js';
import { sentenceOf } from '../texts.js';
import type { ClientGuide } from './client-guides.js';
import { clients } from './clients.js';
import { guidesFor, lackingOf, quickStartPath } from './quick-start.js';

/** Makes the settings: of the client, and of the API that was chosen. @throws {ApiError} */
async function makeSettings(req: Request, record: ResourceObject, guide: ClientGuide): Promise<void> {
  const { call } = req;
  const attributes = lackingOf(record, guide);
  const input = (of: Record<string, unknown>) => ({ attributes: of, relationships: {}, document: {} });
  if (Object.keys(attributes).length > 0) await updateRecord(call, resourceOf(call, 'clients'), record.id, () => input(attributes));
  const api = req.form.get('api_resource') ?? '';
  if (api === '' || guide.token_typ === null) return;
  await updateRecord(call, resourceOf(call, 'api_resources'), api, () => input({ token_typ: guide.token_typ }));
}

/** POST /dashboard/clients/{id}/quick_start: the settings that the chosen guide asks for. */
export function saveQuickStart(render: Render) {
  return async (req: Request, res: Response): Promise<void> => {
    const { record } = await recordOf(req.call, 'clients', addressedId(req));
    const guide = guidesFor(record).find(({ name }) => name === req.form.get('guide'));
    const tab = clients.tabs?.find(({ name }) => name === 'quick_start');
    if (!guide || !tab) throw notFound();
    try {
      await makeSettings(req, record, guide);
    } catch (error) {
      const first = error instanceof ApiError ? error.errors[0] : undefined;
      if (!first || first.code === 'insufficient_scope') throw error;
      const look = { req, now: req.call.ctx.clock.now() };
      const { dangers: _dangers, ...frame } = recordFrame(look, clients, record, [], tab.name);
      return render(
        req,
        res,
        { ...frame, errors: { form: sentenceOf(first, undefined) }, parts: await tab.parts(look, record) },
        first.status,
      );
    }
    res.redirect(303, `${quickStartPath(record.id)}?${new URLSearchParams({ guide: guide.name, done: 'updated' }).toString()}`);
  };
}

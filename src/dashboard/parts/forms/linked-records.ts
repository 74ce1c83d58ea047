import type { Request, Response } from 'express';
import { ApiError } from '../../../errors.js';
import { perform } from '../../../management/write-steps.js';
import { notFound } from '../../../management/problems.js';
import type { Choice, Part } from '../page-parts.js';
import { recordPath, type ViewContext, type Presentation } from '../records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { recordOf, relatedIds, resourceOf, recordVersion } from '../records/objects.js';
import { withHeld } from './choices.js';
import { addressedId, recordFrame } from '../records/record.js';
import { sentenceOf } from '../texts.js';
import type { Render } from '../render.js';

/** A to-many relationship as a form. `name` is that of the relationship, and of the tab that shows the form. */
export type Linking = {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly button: string;
  readonly choices: readonly Choice[];
};

/** The form of a tab that chooses what a record is linked to: all that it is linked to can be kept, however many others there are to choose from. */
export async function linkForm(
  view: ViewContext,
  path: string,
  { id }: ResourceObject,
  { name, label, hint, button, choices: offered }: Linking,
): Promise<Part> {
  const { record, included } = await recordOf(view.req.call, path, id, name);
  const [chosen, choices] = [relatedIds(record, name), withHeld(offered, included)];
  const field = { kind: 'checks' as const, name, label, hint, optional: true, value: '', chosen, choices, error: null, attributes: {} };
  return {
    kind: 'form',
    id: `${name}-form`,
    action: `${recordPath(path, id)}/${name}`,
    hidden: { _version: String(recordVersion(record)) },
    sections: [{ title: null, text: null, fields: [field] }],
    button: { label: button, variant: 'primary' },
    cancel: null,
  };
}

/** POST /dashboard/{collection}/{id}/{relationship}: the record is then linked to exactly what was ticked. */
export function saveLinked(render: Render, presentation: Presentation, name: string) {
  return async (req: Request, res: Response): Promise<void> => {
    const { call } = req;
    const resource = resourceOf(call, presentation.path);
    const { record } = await recordOf(call, presentation.path, addressedId(req));
    const type = resource.relationships[name]?.to ?? '';
    const prefix = `${name}:`;
    const chosen = Object.keys(req.form.all).filter((one) => one.startsWith(prefix));
    const linkage = chosen.map((one) => ({ type, id: one.slice(prefix.length) }));
    try {
      const expected = [Number(req.form.get('_version') ?? 0)];
      await perform(call, { kind: 'replace', resource, id: record.id, name, document: { data: linkage }, expected });
    } catch (error) {
      const first = error instanceof ApiError ? error.errors[0] : undefined;
      if (!first || first.code === 'insufficient_scope') throw error;
      const view = { req, now: call.ctx.clock.now() };
      const { dangers: _dangers, ...frame } = recordFrame(view, presentation, record, [], name);
      const tab = presentation.tabs?.find((one) => one.name === name);
      if (!tab) throw notFound();
      const changed = `Someone else changed this ${presentation.one} in the meantime. These are its current ${name}: select them again.`;
      const form = first.status === 412 ? changed : sentenceOf(first, undefined);
      const status = first.status === 412 ? 409 : first.status;
      return render(req, res, { ...frame, errors: { form }, parts: await tab.parts(view, record) }, status);
    }
    res.redirect(303, `${recordPath(presentation.path, record.id)}/${name}?done=updated`);
  };
}

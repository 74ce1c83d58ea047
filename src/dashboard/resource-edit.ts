import type { Request, Response } from 'express';
import { notFound } from '../management/problems.js';
import { requirePermissions } from '../management/authorize.js';
import { updateRecord } from '../management/operations.js';
import { permissionFor, type Resource } from '../management/resource.js';
import { brandingPreview } from './branding-preview.js';
import { boundFields, fieldSections, initialEntries, sentEntries, type BoundField, type Entries } from './form-fields.js';
import { readForm } from './form-input.js';
import { proofOf, confirmInForm } from './confirmation.js';
import type { Part } from './page-parts.js';
import { recordPath, type ViewContext, type Presentation } from './presentation.js';
import { managedNotice } from './managed-notice.js';
import { mayLink, reachNote } from './reach-note.js';
import type { ResourceObject } from '../management/documents.js';
import { relatedIds, recordOf, resourceOf, recordVersion } from './resource-objects.js';
import { attempt, labelsOf, withOthers } from './resource-forms.js';
import { addressedId, readableIncludes } from './resource-record.js';
import type { Render } from './render.js';

type Editing = { readonly record: ResourceObject; readonly fields: readonly BoundField[]; readonly resource: Resource };

async function editing(req: Request, presentation: Presentation): Promise<Editing> {
  const resource = resourceOf(req.call, presentation.path);
  if (!presentation.fields || !resource.update) throw notFound();
  requirePermissions(req.call, permissionFor(resource, 'write'));
  const many = presentation.fields.filter((field) => field.relationship === 'many' && field.on !== 'create').map((field) => field.name);
  const include = many.length > 0 ? readableIncludes(req, { ...presentation, recordInclude: many.join(',') }) : undefined;
  const { record } = await recordOf(req.call, presentation.path, addressedId(req), include);
  if (!(presentation.edit?.when?.(record) ?? true)) throw notFound();
  // A relationship that the actor may not read is left alone.
  const fields = boundFields(resource, presentation.fields, 'update').filter(
    ({ spec }) => spec.relationship !== 'many' || (include?.split(',').includes(spec.name) && mayLink(req.call, resource, spec)),
  );
  return { record, fields, resource };
}

async function renderEdit(
  render: Render,
  presentation: Presentation,
  req: Request,
  res: Response,
  at: Editing,
  entries: Entries,
  errors: Record<string, string>,
  status: number,
  before: readonly Part[] = [],
): Promise<void> {
  const { record, fields, resource } = at;
  const look: ViewContext = { req, now: req.call.ctx.clock.now() };
  const path = recordPath(presentation.path, record.id);
  const name = presentation.name(record);
  const proof = presentation.edit?.guarded ? await proofOf(req, `${path}/edit`, errors) : null;
  const sections = await fieldSections(look, presentation, fields, entries, errors);
  const form: Part = {
    kind: 'form',
    id: 'edit',
    action: path,
    hidden: { _version: String(recordVersion(record)) },
    sections: proof && proof.fields.length > 0 ? [...sections, { title: null, text: null, fields: proof.fields }] : sections,
    button: { label: 'Save', variant: 'primary' },
    cancel: path,
    preview: brandingPreview(fields, entries),
  };
  const crumbs = [
    { label: presentation.title, path: `/dashboard/${presentation.path}` },
    { label: name, path },
  ];
  const around = presentation.formParts?.(req, record);
  const lead = (await reachNote(req.call, resource, record.id)) ?? presentation.edit?.lead ?? null;
  render(
    req,
    res,
    {
      title: `Edit ${presentation.one}`,
      document_title: `Edit · ${name}`,
      crumbs,
      lead,
      errors,
      labels: labelsOf(fields),
      parts: [
        ...before,
        ...(await managedNotice(req.call, resource.type, record.id)),
        ...(around?.above ?? []),
        ...(proof?.instead ?? [form]),
        ...(around?.below ?? []),
      ],
    },
    status,
  );
}

/** GET /dashboard/{collection}/{id}/edit */
export function editPage(render: Render, presentation: Presentation) {
  return async (req: Request, res: Response): Promise<void> => {
    const at = await editing(req, presentation);
    await renderEdit(
      render,
      presentation,
      req,
      res,
      at,
      initialEntries(at.fields, at.record, (name) => relatedIds(at.record, name)),
      {},
      200,
    );
  };
}

/** A table of what somebody else has changed since the form was opened, beside this form's values. */
function changedMeanwhile(at: Editing, entries: Entries): Part[] {
  const now = initialEntries(at.fields, at.record, (name) => relatedIds(at.record, name));
  const inForm = (from: Entries, name: string) => from.texts[name] ?? (from.chosen[name] ?? []).join(', ');
  const different = at.fields.filter(({ spec, kind }) => kind !== 'password' && inForm(now, spec.name) !== inForm(entries, spec.name));
  const rows = different.map(({ spec }) => ({
    path: null,
    cells: [
      { kind: 'text' as const, text: spec.label },
      { kind: 'text' as const, text: inForm(now, spec.name) },
      { kind: 'text' as const, text: inForm(entries, spec.name) },
    ],
  }));
  const empty = { title: 'Nothing differs', text: 'What is stored now is what this form has.', button: null };
  const columns = [{ label: 'Field' }, { label: 'Stored now' }, { label: 'In your form' }];
  return [{ kind: 'table', id: 'changed', caption: 'What differs', heading: true, columns, rows, empty, pager: null }];
}

/** POST /dashboard/{collection}/{id} */
export function update(render: Render, presentation: Presentation) {
  return async (req: Request, res: Response): Promise<void> => {
    const at = await editing(req, presentation);
    const entries = sentEntries(at.fields, req.form.all);
    const read = readForm(at.resource, at.fields, entries, at.record);
    if (Object.keys(read.errors).length > 0) {
      const errors = await withOthers(req.call, at.resource, at.fields, entries, read.input, read.errors, at.record.id);
      return renderEdit(render, presentation, req, res, at, entries, errors, 422);
    }
    const unproven = presentation.edit?.guarded ? await confirmInForm(req, res) : {};
    if (Object.keys(unproven).length > 0) return renderEdit(render, presentation, req, res, at, entries, unproven, 422);
    const expected = [Number(req.form.get('_version') ?? 0)];
    const result = await attempt(at.fields, entries, () =>
      updateRecord(req.call, at.resource, at.record.id, () => read.input, { expected }),
    );
    if (!('errors' in result)) return res.redirect(303, `${recordPath(presentation.path, at.record.id)}?done=updated`);
    if (result.status !== 412) return renderEdit(render, presentation, req, res, at, entries, result.errors, result.status);
    const form = 'Somebody changed this meanwhile. Compare, then save again to put your version in its place.';
    return renderEdit(
      render,
      presentation,
      req,
      res,
      await editing(req, presentation),
      entries,
      { form },
      409,
      changedMeanwhile(at, entries),
    );
  };
}

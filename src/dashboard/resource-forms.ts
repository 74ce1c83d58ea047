import type { Request, Response } from 'express';
import { ApiError } from '../errors.js';
import { createRecord, requirePermissions, updateRecord } from '../management/operations.js';
import { idOf as idOfRow, permissionFor, type Resource } from '../management/resource.js';
import { notFound } from '../management/problems.js';
import { boundFields, fieldSections, initialEntries, sentEntries, type BoundField, type Entries } from './form-fields.js';
import { errorsByField, meantBy } from './form-input.js';
import type { Render } from './frame.js';
import { passwordFields, passwordLabels, type Prove } from './fresh-sign-in.js';
import { once, onceField } from './once.js';
import type { FieldSection, Part } from './page-parts.js';
import { placeOf, type Look, type Presentation } from './presentation.js';
import { linkedIds, recordOf, resourceOf, versionOf, type Shown } from './records.js';
import { secretPage } from './secrets.js';
import { idOf, readableIncludes } from './resource-record.js';

/** What the pages of forms are made with. */
export type Tools = { readonly render: Render; readonly prove: Prove };

const labelsOf = (fields: readonly BoundField[]): Record<string, string> => ({
  ...Object.fromEntries(fields.map(({ spec }) => [spec.name, spec.label])),
  ...passwordLabels,
});

/** The sections of a form with, at the end, the password field when one is due. */
async function sectionsOf(
  look: Look,
  presentation: Presentation,
  fields: readonly BoundField[],
  entries: Entries,
  errors: Record<string, string>,
  guarded: boolean,
): Promise<FieldSection[]> {
  const sections = await fieldSections(look, presentation, fields, entries, errors);
  const password = guarded ? passwordFields(look.req, errors) : [];
  return password.length > 0 ? [...sections, { title: null, text: null, fields: password }] : sections;
}

/** Runs the operation; a refusal becomes errors on the form, unless the record or the permission isn't there. */
export async function attempt<T>(
  fields: readonly BoundField[],
  entries: Entries,
  work: () => Promise<T>,
): Promise<{ done: T } | { errors: Record<string, string>; status: number }> {
  try {
    return { done: await work() };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const [first] = error.errors;
    if (first?.code === 'insufficient_scope' || (first?.status === 404 && first.source === undefined)) throw error;
    return { errors: errorsByField(error, fields, entries), status: first?.status === 412 ? 412 : 422 };
  }
}

function creation(req: Request, presentation: Presentation, resource: Resource) {
  if (!presentation.create || !presentation.fields || !resource.create) throw notFound();
  return { create: presentation.create, fields: boundFields(resource, presentation.createFields?.(req) ?? presentation.fields, 'create') };
}

async function renderCreate(
  tools: Tools,
  presentation: Presentation,
  req: Request,
  res: Response,
  entries: Entries,
  errors: Record<string, string>,
  status: number,
): Promise<void> {
  const { create, fields } = creation(req, presentation, resourceOf(req.call, presentation.path));
  const look: Look = { req, now: req.call.ctx.clock.now() };
  const path = `/dashboard/${presentation.path}`;
  const form: Part = {
    kind: 'form',
    id: 'create',
    action: path,
    hidden: onceField(),
    sections: await sectionsOf(look, presentation, fields, entries, errors, create.guarded ?? false),
    button: { label: create.button ?? create.label, variant: 'primary' },
    cancel: path,
  };
  const crumbs = [{ label: presentation.title, path }];
  tools.render(
    req,
    res,
    { title: create.title, crumbs, lead: create.lead ?? null, errors, labels: labelsOf(fields), parts: [form] },
    status,
  );
}

/** GET /dashboard/{collection}/new. The query may name what the form starts with. */
export function newPage(tools: Tools, presentation: Presentation) {
  return async (req: Request, res: Response): Promise<void> => {
    const resource = resourceOf(req.call, presentation.path);
    const { fields } = creation(req, presentation, resource);
    requirePermissions(req.call, permissionFor(resource, 'write'));
    const initial = initialEntries(fields, null);
    const query = new URL(req.originalUrl, 'http://own.invalid').searchParams;
    const given = Object.fromEntries(
      Object.keys(initial.texts).flatMap((name) => (query.has(name) ? [[name, (query.get(name) ?? '').slice(0, 2048)]] : [])),
    );
    await renderCreate(tools, presentation, req, res, { ...initial, texts: { ...initial.texts, ...given } }, {}, 200);
  };
}

/** POST /dashboard/{collection} */
export function create(tools: Tools, presentation: Presentation) {
  return async (req: Request, res: Response): Promise<void> => {
    const { call } = req;
    const resource = resourceOf(call, presentation.path);
    const { create: spec, fields } = creation(req, presentation, resource);
    requirePermissions(call, permissionFor(resource, 'write'));
    const entries = sentEntries(fields, req.form.all);
    const refuse = (errors: Record<string, string>, status = 422) => renderCreate(tools, presentation, req, res, entries, errors, status);
    if (spec.guarded) {
      const unproven = await tools.prove(req, res);
      if (Object.keys(unproven).length > 0) return refuse(unproven);
    }
    const meant = meantBy(resource, fields, entries, null);
    if (Object.keys(meant.errors).length > 0) return refuse({ ...meant.errors });
    const place = (outcome: { row: Record<string, unknown> } | null) =>
      outcome ? placeOf(presentation.path, idOfRow(resource, outcome.row)) : `/dashboard/${presentation.path}`;
    const result = await attempt(fields, entries, () => once(req, place, (options) => createRecord(call, resource, meant.input, options)));
    if ('errors' in result) return refuse(result.errors, result.status);
    if ('again' in result.done) return res.redirect(303, `${result.done.again}?done=already_sent`);
    const outcome = result.done.first;
    if (outcome.once || outcome.meta) return secretPage(tools.render, req, res, presentation, 'create', outcome, place(outcome));
    res.redirect(303, `${place(outcome)}?done=created`);
  };
}

type Editing = { readonly record: Shown; readonly fields: readonly BoundField[]; readonly resource: Resource };

async function editing(req: Request, presentation: Presentation): Promise<Editing> {
  const resource = resourceOf(req.call, presentation.path);
  if (!presentation.fields || !resource.update) throw notFound();
  requirePermissions(req.call, permissionFor(resource, 'write'));
  const many = presentation.fields.filter((field) => field.relationship === 'many' && field.on !== 'create').map((field) => field.name);
  const include = many.length > 0 ? readableIncludes(req, { ...presentation, recordInclude: many.join(',') }) : undefined;
  const { record } = await recordOf(req.call, presentation.path, idOf(req), include);
  if (!(presentation.edit?.when?.(record) ?? true)) throw notFound();
  // A relationship that the actor may not read is left alone.
  const fields = boundFields(resource, presentation.fields, 'update').filter(
    ({ spec }) => spec.relationship !== 'many' || include?.split(',').includes(spec.name),
  );
  return { record, fields, resource };
}

async function renderEdit(
  tools: Tools,
  presentation: Presentation,
  req: Request,
  res: Response,
  at: Editing,
  entries: Entries,
  errors: Record<string, string>,
  status: number,
  before: readonly Part[] = [],
): Promise<void> {
  const { record, fields } = at;
  const look: Look = { req, now: req.call.ctx.clock.now() };
  const path = placeOf(presentation.path, record.id);
  const name = presentation.name(record);
  const form: Part = {
    kind: 'form',
    id: 'edit',
    action: path,
    hidden: { _version: String(versionOf(record)) },
    sections: await sectionsOf(look, presentation, fields, entries, errors, false),
    button: { label: 'Save', variant: 'primary' },
    cancel: path,
  };
  const crumbs = [
    { label: presentation.title, path: `/dashboard/${presentation.path}` },
    { label: name, path },
  ];
  const lead = presentation.edit?.lead ?? null;
  tools.render(
    req,
    res,
    {
      title: `Edit ${presentation.one}`,
      document_title: `Edit · ${name}`,
      crumbs,
      lead,
      errors,
      labels: labelsOf(fields),
      parts: [...before, form],
    },
    status,
  );
}

/** GET /dashboard/{collection}/{id}/edit */
export function editPage(tools: Tools, presentation: Presentation) {
  return async (req: Request, res: Response): Promise<void> => {
    const at = await editing(req, presentation);
    await renderEdit(
      tools,
      presentation,
      req,
      res,
      at,
      initialEntries(at.fields, at.record, (name) => linkedIds(at.record, name)),
      {},
      200,
    );
  };
}

/** What somebody else changed since the form was opened, beside what this form has. */
function changedMeanwhile(at: Editing, entries: Entries): Part[] {
  const now = initialEntries(at.fields, at.record, (name) => linkedIds(at.record, name));
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
export function update(tools: Tools, presentation: Presentation) {
  return async (req: Request, res: Response): Promise<void> => {
    const at = await editing(req, presentation);
    const entries = sentEntries(at.fields, req.form.all);
    const meant = meantBy(at.resource, at.fields, entries, at.record);
    if (Object.keys(meant.errors).length > 0) return renderEdit(tools, presentation, req, res, at, entries, { ...meant.errors }, 422);
    const expected = [Number(req.form.get('_version') ?? 0)];
    const result = await attempt(at.fields, entries, () => updateRecord(req.call, at.resource, at.record.id, meant.input, { expected }));
    if (!('errors' in result)) return res.redirect(303, `${placeOf(presentation.path, at.record.id)}?done=updated`);
    if (result.status !== 412) return renderEdit(tools, presentation, req, res, at, entries, result.errors, result.status);
    const form = 'Somebody changed this meanwhile. Compare, then save again to put your version in its place.';
    return renderEdit(
      tools,
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

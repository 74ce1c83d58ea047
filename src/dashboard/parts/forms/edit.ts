import type { Request, Response } from 'express';
import { notFound } from '../../../management/problems.js';
import { requirePermissions } from '../../../management/authorize.js';
import { perform } from '../../../management/write-steps.js';
import { permissionFor, type Resource, type ResourceRow } from '../../../management/resource.js';
import { boundFields, fieldSections, initialEntries, sentEntries, type BoundField, type Entries } from './fields.js';
import { withHeld } from './choices.js';
import { readForm } from './input.js';
import { proofOf, confirmInForm } from './confirmation.js';
import type { Part } from '../page-parts.js';
import { pageTable } from '../page-tables.js';
import { recordPath, type FormSubject, type ViewContext, type Presentation } from '../records/presentation.js';
import { managedNotice } from '../records/managed-notice.js';
import { mayLink, reachNote } from '../records/reach-note.js';
import type { ResourceObject } from '../../../management/documents.js';
import { relatedIds, resourceOf, recordVersion } from '../records/objects.js';
import { attempt, labelsOf, withOthers } from './create.js';
import { readableIncludes, recordToName } from '../records/record.js';
import { listAddress } from '../list-address.js';
import { named } from '../../../lib/named.js';
import type { Render } from '../render.js';

type Editing = {
  readonly record: ResourceObject;
  /** What its name is made of, and what the fields link to. */
  readonly included: readonly ResourceObject[];
  readonly row: ResourceRow;
  /** Those of the page. */
  readonly fields: readonly BoundField[];
  /** Those of all pages. */
  readonly all: readonly BoundField[];
  readonly resource: Resource;
  readonly subject: FormSubject | undefined;
};

const subjectsOf = ({ subjects }: Presentation, record: ResourceObject) => subjects?.filter(({ when }) => when?.(record) ?? true);

/** The page of a form by subject that the address names; without a name the first. Undefined: the form has one page. @throws {ApiError} 404 */
function addressedSubject({ params }: Request, presentation: Presentation, record: ResourceObject): FormSubject | undefined {
  const subjects = subjectsOf(presentation, record);
  const name = params['subject'];
  const subject = name === undefined ? subjects?.[0] : subjects?.find((one) => one.name === name);
  if (name !== undefined && !subject) throw notFound();
  return subject;
}

/** A refusal that concerns a field of another page is told with its label. */
function onThisPage(errors: Readonly<Record<string, string>>, { fields, all }: Editing): Record<string, string> {
  const [here, labels] = [labelsOf(fields), labelsOf(all)];
  const shown: Record<string, string> = named();
  for (const [name, text] of Object.entries(errors))
    if (name === 'form' || Object.hasOwn(here, name)) shown[name] = text;
    else shown['form'] ??= `${labels[name] ?? name}: ${text}`;
  return shown;
}

/** A field of a relationship offers what the record is linked to, too: what a form doesn't show would go with the next save. */
function withAllHeld(field: BoundField, record: ResourceObject, included: readonly ResourceObject[]): BoundField {
  const { relationship, choices, name } = field.spec;
  if (relationship !== 'many' || !choices) return field;
  const ids = new Set(relatedIds(record, name));
  const held = included.filter(({ id }) => ids.has(id));
  return { ...field, spec: { ...field.spec, choices: async (view) => withHeld(await choices(view), held) } };
}

async function editing(req: Request, presentation: Presentation): Promise<Editing> {
  const resource = resourceOf(req.call, presentation.path);
  if (!presentation.fields || !resource.update) throw notFound();
  requirePermissions(req.call, permissionFor(resource, 'write'));
  const many = presentation.fields.filter((field) => field.relationship === 'many' && field.on !== 'create').map((field) => field.name);
  const { record, row, included } = await recordToName(req, presentation, many);
  if (!(presentation.edit?.when?.(record) ?? true)) throw notFound();
  const subject = addressedSubject(req, presentation, record);
  const specs = subject?.fields ?? presentation.fields;
  // A relationship that the actor may not read is left alone.
  const readable = readableIncludes(req, presentation.path, many.join(','));
  const all = boundFields(resource, presentation.editFields?.(record) ?? presentation.fields, 'update');
  const fields = (presentation.editFields ? all : boundFields(resource, specs, 'update')).filter(
    ({ spec }) => spec.relationship !== 'many' || (readable?.split(',').includes(spec.name) && mayLink(req.call, resource, spec)),
  );
  return { record, row, included, fields: fields.map((field) => withAllHeld(field, record, included)), all, resource, subject };
}

const subjectTabs = (subjects: readonly FormSubject[], path: string, current: FormSubject | undefined) =>
  subjects.map((one) => ({ label: one.title, path: `${path}/edit/${one.name}`, current: one === current }));

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
  const { record, included, fields, resource, subject } = at;
  const view: ViewContext = { req, now: req.call.ctx.clock.now() };
  const path = recordPath(presentation.path, record.id);
  const name = presentation.name(record, included);
  const shown = onThisPage(errors, at);
  const proof = presentation.edit?.guarded ? await proofOf(req, `${path}/edit`, errors) : null;
  const sections = await fieldSections(view, subject ?? presentation, fields, entries, errors);
  const form: Part = {
    kind: 'form',
    id: 'edit',
    action: subject ? `${path}/edit/${subject.name}` : path,
    hidden: { _version: String(recordVersion(record)) },
    sections: proof && proof.fields.length > 0 ? [...sections, { title: null, text: null, fields: proof.fields }] : sections,
    button: { label: 'Save', variant: 'primary' },
    cancel: path,
    bar: true,
    preview: presentation.preview?.(entries.texts, record) ?? null,
    draft: presentation.draft?.(req, record) ?? null,
  };
  const crumbs = [
    { label: presentation.title, path: listAddress(req, presentation.path) },
    { label: name, path },
  ];
  const around = presentation.formParts?.(req, record);
  const lead = (await reachNote(req.call, resource, record.id)) ?? subject?.text ?? presentation.edit?.lead ?? null;
  render(
    req,
    res,
    {
      title: `Edit ${presentation.one}`,
      document_title: `Edit · ${name}`,
      crumbs,
      lead,
      tabs: subjectTabs(subjectsOf(presentation, record) ?? [], path, subject),
      errors: shown,
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

/** GET /dashboard/{collection}/{id}/edit, and by subject .../edit/{subject} */
export const editPage = (render: Render, presentation: Presentation) => async (req: Request, res: Response) => {
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

/** A table of what somebody else has changed since the form was opened, beside this form's values. */
function changedMeanwhile(at: Editing, entries: Entries): Part[] {
  const now = initialEntries(at.fields, at.record, (name) => relatedIds(at.record, name));
  const inForm = (from: Entries, name: string) => from.texts[name] ?? (from.chosen[name] ?? []).join(', ');
  const different = at.fields.filter(({ spec, kind }) => kind !== 'password' && inForm(now, spec.name) !== inForm(entries, spec.name));
  const rows = different.map(({ spec }) => ({
    cells: [
      { kind: 'text' as const, text: spec.label },
      { kind: 'text' as const, text: inForm(now, spec.name) },
      { kind: 'text' as const, text: inForm(entries, spec.name) },
    ],
  }));
  const columns = ['Field', 'Stored value', 'Your value'];
  const nothing = ['No differences', 'The stored values match this form.'] as const;
  return [pageTable({ id: 'changed', caption: 'Differences', columns, rows, nothing })];
}

/** POST /dashboard/{collection}/{id}, and by subject .../edit/{subject}: what the page has, and nothing else. */
export function postEdit(render: Render, presentation: Presentation) {
  return async (req: Request, res: Response): Promise<void> => {
    const at = await editing(req, presentation);
    const entries = sentEntries(at.fields, req.form.all);
    const read = readForm(at.resource, at.fields, entries, at.record);
    const write = { kind: 'update', resource: at.resource, id: at.record.id, document: read.document, seen: at.row } as const;
    if (Object.keys(read.errors).length > 0) {
      const errors = await withOthers(req.call, write, at.all, entries, read.errors);
      return renderEdit(render, presentation, req, res, at, entries, errors, 422);
    }
    const unproven = presentation.edit?.guarded ? await confirmInForm(req, res) : {};
    if (Object.keys(unproven).length > 0) return renderEdit(render, presentation, req, res, at, entries, unproven, 422);
    const expected = [Number(req.form.get('_version') ?? 0)];
    const result = await attempt(at.all, entries, () => perform(req.call, { ...write, expected }));
    if (!('errors' in result)) return res.redirect(303, `${recordPath(presentation.path, at.record.id)}?done=updated`);
    if (result.status !== 412) return renderEdit(render, presentation, req, res, at, entries, result.errors, result.status);
    const form = 'Someone else changed this in the meantime. Compare, then save again to use your version.';
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

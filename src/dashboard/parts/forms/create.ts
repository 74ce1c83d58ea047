import type { Request, Response } from 'express';
import { ApiError } from '../../../errors.js';
import type { Call } from '../../../management/call.js';
import { requirePermissions } from '../../../management/authorize.js';
import type { Write, WriteResult } from '../../../management/write-state.js';
import { checkWrite } from '../../../management/write-steps.js';
import { idOf, permissionFor, type Resource } from '../../../management/resource.js';
import { notFound } from '../../../management/problems.js';
import { boundFields, fieldSections, initialEntries, sentEntries, type BoundField, type Entries } from './fields.js';
import { errorsByField, readForm, type FormDocument } from './input.js';
import type { Render } from '../render.js';
import { passwordLabels, proofOf, confirmInForm } from './confirmation.js';
import { writeOnce, onceField } from './once.js';
import type { Part } from '../page-parts.js';
import { recordPath, type ViewContext, type Presentation } from '../records/presentation.js';
import { mayLink } from '../records/reach-note.js';
import { may, recordOf, resourceOf } from '../records/objects.js';
import { secretPage } from './secrets.js';

export const labelsOf = (fields: readonly BoundField[]): Record<string, string> => ({
  ...Object.fromEntries(fields.map(({ spec }) => [spec.name, spec.label])),
  ...passwordLabels,
});

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
    const status = first?.status === 412 || first?.code === 'scope_escalation' ? first.status : 422;
    return { errors: errorsByField(error, fields, entries), status };
  }
}

/** The errors that a form has before its operation begins, and those that the operation would find. */
export async function withOthers(
  call: Call,
  write: Write,
  fields: readonly BoundField[],
  entries: Entries,
  errors: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const result = await attempt(fields, entries, () => checkWrite(call, write));
  return { ...('errors' in result ? result.errors : {}), ...errors };
}

function creation(req: Request, presentation: Presentation, resource: Resource) {
  if (!presentation.create || !presentation.fields || !resource.create) throw notFound();
  const specs = (presentation.createFields?.(req) ?? presentation.fields).filter((spec) => mayLink(req.call, resource, spec));
  return { create: presentation.create, fields: boundFields(resource, specs, 'create') };
}

async function renderCreate(
  render: Render,
  presentation: Presentation,
  req: Request,
  res: Response,
  entries: Entries,
  errors: Record<string, string>,
  status: number,
): Promise<void> {
  const { create, fields } = creation(req, presentation, resourceOf(req.call, presentation.path));
  const view: ViewContext = { req, now: req.call.ctx.clock.now() };
  const path = `/dashboard/${presentation.path}`;
  const back = req.method === 'GET' ? req.originalUrl : `${path}/new`;
  const proof = create.guarded ? await proofOf(req, back, errors) : null;
  const sections = await fieldSections(view, presentation, fields, entries, errors);
  const form: Part = {
    kind: 'form',
    id: 'create',
    action: create.path === undefined ? path : `${path}/${create.path}`,
    hidden: onceField(),
    sections: proof && proof.fields.length > 0 ? [...sections, { title: null, text: null, fields: proof.fields }] : sections,
    button: { label: create.button ?? create.label, variant: 'primary' },
    cancel: path,
    draft: presentation.draft?.(req, null) ?? null,
  };
  const crumbs = [{ label: presentation.title, path }];
  const around = presentation.formParts?.(req, null);
  render(
    req,
    res,
    {
      title: create.title,
      crumbs,
      lead: typeof create.lead === 'function' ? create.lead(req) : (create.lead ?? null),
      errors,
      labels: labelsOf(fields),
      parts: [...(around?.above ?? []), ...(proof?.instead ?? [form]), ...(around?.below ?? [])],
    },
    status,
  );
}

/** GET /dashboard/{collection}/new. The query may name what the form starts with. */
export const newPage = (render: Render, presentation: Presentation) => async (req: Request, res: Response) => {
  const resource = resourceOf(req.call, presentation.path);
  const { fields } = creation(req, presentation, resource);
  requirePermissions(req.call, permissionFor(resource, 'write'));
  const initial = initialEntries(fields, null);
  const query = new URL(req.originalUrl, 'http://own.invalid').searchParams;
  const given = Object.fromEntries(
    Object.keys(initial.texts).flatMap((name) => (query.has(name) ? [[name, (query.get(name) ?? '').slice(0, 2048)]] : [])),
  );
  await renderCreate(render, presentation, req, res, { ...initial, texts: { ...initial.texts, ...given } }, {}, 200);
};

const completed = ({ data }: FormDocument, { complete }: NonNullable<Presentation['create']>): FormDocument =>
  complete ? { data: { ...data, attributes: complete(data.attributes) } } : { data };

/** What is said of a new record below its secret; nothing to somebody who may only write. */
async function partsAfter(
  req: Request,
  { path, create }: Presentation,
  { row, resource, once: shown = {} }: WriteResult,
): Promise<readonly Part[]> {
  if (!create?.after || !may(req.call, path, 'read')) return [];
  const { record } = await recordOf(req.call, path, idOf(resource, row));
  return create.after({ req, now: req.call.ctx.clock.now() }, record, shown);
}

/** POST /dashboard/{collection} */
export const create = (render: Render, presentation: Presentation) => async (req: Request, res: Response) => {
  const { call } = req;
  const resource = resourceOf(call, presentation.path);
  const { create: spec, fields } = creation(req, presentation, resource);
  requirePermissions(call, permissionFor(resource, 'write'));
  const entries = sentEntries(fields, req.form.all);
  const refuse = (errors: Record<string, string>, status = 422) => renderCreate(render, presentation, req, res, entries, errors, status);
  const read = readForm(resource, fields, entries, null);
  const document = completed(read.document, spec);
  const write = { kind: 'create', resource, id: null, document, followedBy: spec.followedBy } as const;
  const errors = { ...(spec.guarded ? await confirmInForm(req, res) : {}), ...read.errors };
  if (Object.keys(errors).length > 0) return refuse(await withOthers(call, write, fields, entries, errors));
  const pathAfter = ({ row }: { row: Record<string, unknown> }) => recordPath(presentation.path, idOf(resource, row));
  const result = await attempt(fields, entries, () => writeOnce(req, pathAfter, write));
  if ('errors' in result) return refuse(result.errors, result.status);
  if ('again' in result.done) return res.redirect(303, `${result.done.again}?done=already_sent`);
  const outcome = result.done.first;
  if (outcome.once || outcome.meta) {
    const after = await partsAfter(req, presentation, outcome);
    return secretPage(render, req, res, presentation, 'create', outcome, pathAfter(outcome), after);
  }
  const next = spec.next === undefined || !may(call, presentation.path, 'read') ? '' : `/${spec.next}`;
  res.redirect(303, `${pathAfter(outcome)}${next}?done=${spec.done ?? 'created'}`);
};

import type { Request, Response } from 'express';
import { ApiError } from '../../../errors.js';
import { requirePermissions } from '../../../management/authorize.js';
import type { WriteResult } from '../../../management/write-state.js';
import { perform } from '../../../management/write-steps.js';
import { notFound } from '../../../management/problems.js';
import { idOf, permissionFor } from '../../../management/resource.js';
import { consequencesOf } from '../records/consequences.js';
import { passwordLabels, proofOf, confirmInForm } from './confirmation.js';
import { writeOnce, onceField } from './once.js';
import type { Field, Part } from '../page-parts.js';
import { recordPath, type Presentation } from '../records/presentation.js';
import { reachNote } from '../records/reach-note.js';
import type { ResourceObject } from '../../../management/documents.js';
import { resourceOf } from '../records/objects.js';
import { recordToName } from '../records/record.js';
import { secretPage } from './secrets.js';
import { sentenceOf } from '../texts.js';
import { named } from '../../../lib/named.js';
import { listAddress } from '../list-address.js';
import type { Render } from '../render.js';
import { terms } from '../words.js';

export type Question = {
  /** What the record is called where its links tell that. */
  readonly name?: string;
  readonly title: string;
  readonly text: readonly string[];
  /** The act, as `consequences` know it: what it takes along is told with numbers. */
  readonly verb: string;
  readonly action: string;
  readonly button: string;
  readonly danger: boolean;
  readonly guarded: boolean;
  readonly typed: string | null;
  /** Path of the cancel link; the record's unless given. */
  readonly back?: string | null;
};

const typedName = 'confirmation';

function typedField(typed: string, errors: Readonly<Record<string, string>>): Field {
  const attributes = { autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', maxlength: 512 };
  return {
    kind: 'text',
    name: typedName,
    label: `Type ${typed} to confirm`,
    hint: null,
    optional: false,
    value: '',
    chosen: [],
    choices: [],
    error: errors[typedName] ?? null,
    attributes,
  };
}

/** Renders the confirmation page; with errors after a refused submission. */
export async function ask(
  render: Render,
  presentation: Presentation,
  req: Request,
  res: Response,
  record: ResourceObject,
  question: Question,
  errors: Record<string, string> = named(),
  status = 200,
): Promise<void> {
  const path = recordPath(presentation.path, record.id);
  const proof = question.guarded ? await proofOf(req, question.action, errors) : null;
  const fields = [...(question.typed === null ? [] : [typedField(question.typed, errors)]), ...(proof?.fields ?? [])];
  const form: Part = {
    kind: 'form',
    id: 'confirm',
    text: question.text,
    consequences: proof?.instead ? [] : await consequencesOf(req.call, presentation.path, [record.id], question.verb),
    action: question.action,
    hidden: onceField(),
    sections: fields.length > 0 ? [{ title: null, text: null, fields }] : [],
    button: { label: question.button, variant: question.danger ? 'danger' : 'primary' },
    cancel: question.back ?? path,
  };
  const crumbs = [
    { label: presentation.title, path: listAddress(req, presentation.path) },
    { label: question.name ?? presentation.name(record), path },
  ];
  render(
    req,
    res,
    { title: question.title, crumbs, errors, labels: { [typedName]: 'Confirmation', ...passwordLabels }, parts: proof?.instead ?? [form] },
    status,
  );
}

/** Errors of a submitted confirmation, by field: the typed name, and the fresh sign-in; empty when it may be done. */
async function unanswered(render: Render, req: Request, res: Response, question: Question): Promise<Record<string, string>> {
  const errors: Record<string, string> = named();
  if (question.typed !== null && req.form.all[typedName]?.trim() !== question.typed)
    errors[typedName] = `Type ${question.typed} exactly as shown.`;
  return { ...errors, ...(question.guarded && Object.keys(errors).length === 0 ? await confirmInForm(req, res) : {}) };
}

/** The error of a refused action for its page, with its status. @throws other errors */
function refusalOf(error: unknown): { errors: { form: string }; status: number } {
  if (!(error instanceof ApiError)) throw error;
  const [first] = error.errors;
  if (!first || first.code === 'insufficient_scope' || first.status === 404) throw error;
  return { errors: { form: sentenceOf(first, undefined) }, status: first.code === 'scope_escalation' ? 403 : 409 };
}

async function findAction(req: Request, presentation: Presentation) {
  const resource = resourceOf(req.call, presentation.path);
  const verb = String(req.params['tab'] ?? '');
  const spec = presentation.actions && Object.hasOwn(presentation.actions, verb) ? presentation.actions[verb] : undefined;
  if (!spec || !resource.actions?.[verb]) throw notFound();
  requirePermissions(req.call, permissionFor(resource, 'write'));
  const { record, row, included } = await recordToName(req, presentation);
  const note = resource.actions[verb]?.touch === 'plain' ? null : await reachNote(req.call, resource, record.id);
  const question: Question = {
    name: presentation.name(record, included),
    title: spec.label,
    text: [...(note === null ? [] : [note]), ...(spec.confirm ?? [])],
    verb,
    action: `${recordPath(presentation.path, record.id)}/${verb}`,
    button: spec.label,
    danger: spec.danger ?? false,
    guarded: spec.guarded ?? false,
    typed: null,
  };
  return { resource, verb, spec, record, row, question };
}

/** GET /dashboard/{collection}/{id}/{verb}: asks. */
export const actionPage = (render: Render, presentation: Presentation) => async (req: Request, res: Response) => {
  const { record, question } = await findAction(req, presentation);
  await ask(render, presentation, req, res, record, question);
};

/** The page with the link of a connection test: a form may not lead to another site (`form-action`). */
function testPage(render: Render, presentation: Presentation, req: Request, res: Response, record: ResourceObject, url: string): void {
  const path = recordPath(presentation.path, record.id);
  const text: Part = {
    kind: 'text',
    title: null,
    paragraphs: [
      'This is a real sign-in at the provider, but nothing is changed here. The last page shows the provider’s answer and the result.',
      'The address works for an hour.',
    ],
  };
  const links: Part = {
    kind: 'buttons',
    links: [
      { label: 'Start the test sign-in', path: url, variant: 'primary' },
      { label: 'Back', path },
    ],
    posts: [],
  };
  const crumbs = [
    { label: presentation.title, path: listAddress(req, presentation.path) },
    { label: presentation.name(record), path },
  ];
  render(req, res, { title: terms.test_connection, crumbs, parts: [text, links] });
}

/** POST /dashboard/{collection}/{id}/{verb} */
export const act = (render: Render, presentation: Presentation) => async (req: Request, res: Response) => {
  const { resource, verb, spec, record, row, question } = await findAction(req, presentation);
  const missing = await unanswered(render, req, res, question);
  if (Object.keys(missing).length > 0) return ask(render, presentation, req, res, record, question, missing, 422);
  const pathAfter = (outcome: WriteResult) => {
    const answer = { id: idOf(outcome.resource, outcome.row) };
    return spec.leadsTo?.(record, answer) ?? recordPath(presentation.path, record.id);
  };
  try {
    const result = await writeOnce(req, pathAfter, { kind: 'act', resource, id: record.id, name: verb, seen: row });
    if ('again' in result) return res.redirect(303, `${result.again}?done=already_sent`);
    const outcome = result.first;
    if (outcome.once) return secretPage(render, req, res, presentation, verb, outcome, pathAfter(outcome));
    if (typeof outcome.meta?.['login_url'] === 'string') return testPage(render, presentation, req, res, record, outcome.meta['login_url']);
    await spec.settle?.(req.call.ctx, idOf(outcome.resource, outcome.row));
    res.redirect(303, `${pathAfter(outcome)}?done=${spec.done}`);
  } catch (error) {
    const { errors, status } = refusalOf(error);
    await ask(render, presentation, req, res, record, question, errors, status);
  }
};

async function removal(req: Request, presentation: Presentation) {
  const resource = resourceOf(req.call, presentation.path);
  const { remove } = presentation;
  if (!remove || !resource.remove) throw notFound();
  requirePermissions(req.call, permissionFor(resource, 'write'));
  const { record, included } = await recordToName(req, presentation);
  const name = presentation.name(record, included);
  const note = resource.reach.remove === 'plain' ? null : await reachNote(req.call, resource, record.id);
  const question: Question = {
    name,
    title: `${remove.label}: ${name}`,
    text: [...(note === null ? [] : [note]), remove.text],
    verb: 'delete',
    action: `${recordPath(presentation.path, record.id)}/delete`,
    button: remove.label,
    danger: true,
    guarded: true,
    typed: remove.typed?.(record) ?? null,
    back: remove.leadsTo?.(record) ?? null,
  };
  return { resource, record, question };
}

/** GET /dashboard/{collection}/{id}/delete: asks. */
export const deletePage = (render: Render, presentation: Presentation) => async (req: Request, res: Response) => {
  const { record, question } = await removal(req, presentation);
  await ask(render, presentation, req, res, record, question);
};

/** POST /dashboard/{collection}/{id}/delete */
export const destroy = (render: Render, presentation: Presentation) => async (req: Request, res: Response) => {
  const { resource, record, question } = await removal(req, presentation);
  const missing = await unanswered(render, req, res, question);
  if (Object.keys(missing).length > 0) return ask(render, presentation, req, res, record, question, missing, 422);
  try {
    await perform(req.call, { kind: 'delete', resource, id: record.id });
  } catch (error) {
    const { errors, status } = refusalOf(error);
    return ask(render, presentation, req, res, record, question, errors, status);
  }
  const done = { done: 'deleted' };
  res.redirect(303, question.back ? `${question.back}?done=deleted` : listAddress(req, presentation.path, done));
};

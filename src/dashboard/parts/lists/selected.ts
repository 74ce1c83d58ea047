import type { Request, Response } from 'express';
import { ApiError, PageError } from '../../../errors.js';
import { requirePermissions } from '../../../management/authorize.js';
import type { ResourceObject } from '../../../management/documents.js';
import { notFound } from '../../../management/problems.js';
import { permissionFor } from '../../../management/resource.js';
import type { Write } from '../../../management/write-state.js';
import { perform } from '../../../management/write-steps.js';
import { confirmInForm, passwordLabels, proofOf } from '../forms/confirmation.js';
import { listAddress } from '../list-address.js';
import type { Field, Part } from '../page-parts.js';
import { pageTable } from '../page-tables.js';
import { consequencesOf } from '../records/consequences.js';
import { recordOf, resourceOf } from '../records/objects.js';
import { recordPath, type Presentation, type SelectedLink } from '../records/presentation.js';
import type { Render } from '../render.js';
import { listed, sentenceOf } from '../texts.js';
import { figure, text } from '../values.js';
import { named } from '../../../lib/named.js';
import { errorTexts } from '../../../http/pages/error-texts.js';
import { terms } from '../words.js';
import { exportSelected } from './export.js';
import { exportActs, selectedIds, selectedName } from './selection.js';

/** As many as a page of the API has. */
const mostSelected = 100;
const typedName = 'confirmation';
const linkedName = 'linked';

/** What is done with each of the selected records. */
type Plan = {
  readonly act: string;
  readonly label: string;
  readonly text: readonly string[];
  readonly danger: boolean;
  /** Asks for the number of records, and for a fresh sign-in. */
  readonly guarded: boolean;
  readonly done: string;
  readonly link: SelectedLink | null;
  applies(record: ResourceObject): boolean;
  write(record: ResourceObject): Pick<Write, 'kind' | 'name' | 'document'>;
};

/** @throws {ApiError} 404 for what can't be done with several */
function planOf(req: Request, { path, selected, actions, remove }: Presentation): Plan {
  const act = req.form.get('act') ?? '';
  const resource = resourceOf(req.call, path);
  const common = { act, link: null, guarded: false };
  const { link } = selected ?? {};
  if (link?.name === act) {
    const to = resource.relationships[act]?.to ?? '';
    const chosen = { data: [{ type: to, id: req.form.get(linkedName) ?? '' }] };
    const text = ['What each of them has already stays.'];
    const write = () => ({ kind: 'add' as const, name: act, document: chosen });
    return { ...common, label: link.label, text, danger: false, done: 'updated', link, applies: () => true, write };
  }
  if (!selected?.acts.includes(act)) throw notFound();
  if (act === 'delete') {
    if (!remove || !resource.remove) throw notFound();
    const applies = (record: ResourceObject) => remove.when?.(record) ?? true;
    const rest = { text: ['This can’t be undone.'], danger: true, guarded: true, done: 'deleted' };
    return { ...common, ...rest, label: terms.delete, applies, write: () => ({ kind: 'delete' }) };
  }
  const action = actions?.[act];
  if (!action) throw notFound();
  const { label, confirm = [], danger = false, guarded = false, done, when } = action;
  const write = () => ({ kind: 'act' as const, name: act });
  return { ...common, label, text: confirm, danger, guarded, done, applies: (record) => when?.(record) ?? true, write };
}

async function selectedRecords(req: Request, path: string): Promise<readonly ResourceObject[]> {
  const ids = selectedIds(req.form.all);
  if (ids.length > mostSelected) throw new PageError(400, 'too_many_selected', `Select at most ${mostSelected} at a time.`);
  const found: ResourceObject[] = [];
  for (const id of ids) {
    try {
      found.push((await recordOf(req.call, path, id)).record);
    } catch (error) {
      if (!(error instanceof ApiError) || error.errors[0]?.status !== 404) throw error;
    }
  }
  return found;
}

const field = (kind: Field['kind'], name: string, label: string, error: string | null, more: Partial<Field> = {}): Field => ({
  kind, name, label, hint: null, optional: false, value: '', chosen: [], choices: [], error, attributes: { autocomplete: 'off' }, ...more,
}); // prettier-ignore

async function ask(
  render: Render,
  req: Request,
  res: Response,
  presentation: Presentation,
  plan: Plan,
  records: readonly ResourceObject[],
  errors: Record<string, string>,
): Promise<void> {
  const { path } = presentation;
  const fitting = records.filter((record) => plan.applies(record));
  const left = records.length - fitting.length;
  const view = { req, now: req.call.ctx.clock.now() };
  const choices = plan.link ? [{ value: '', label: '' }, ...(await plan.link.choices(view))] : [];
  const proof = plan.guarded ? await proofOf(req, `/dashboard/${path}`, errors) : null;
  const fields = [
    ...(plan.link ? [field('select', linkedName, plan.link.field, errors[linkedName] ?? null, { choices, value: req.form.get(linkedName) ?? '' })] : []),
    ...(plan.guarded ? [field('text', typedName, `Type ${fitting.length} to go on`, errors[typedName] ?? null)] : []),
    ...(proof?.fields ?? []),
  ]; // prettier-ignore
  const names = fitting.map((record) => presentation.name(record));
  const form: Part = {
    kind: 'form',
    id: 'confirm',
    text: [
      `${listed(names, 10)}.`,
      ...plan.text,
      ...(left > 0 ? [`${figure(left)} of those selected ${left === 1 ? 'is' : 'are'} left out: nothing would change.`] : []),
    ],
    consequences: await consequencesOf(req.call, path, fitting.map(({ id }) => id), plan.act),
    action: `/dashboard/${path}/selected`,
    hidden: { act: plan.act, confirmed: 'yes', ...Object.fromEntries(fitting.map(({ id }) => [selectedName(id), 'on'])) },
    sections: fields.length > 0 ? [{ title: null, text: null, fields }] : [],
    button: { label: plan.label, variant: plan.danger ? 'danger' : 'primary' },
    cancel: listAddress(req, path),
  }; // prettier-ignore
  const labels = { [typedName]: 'Confirmation', [linkedName]: plan.link?.field ?? '', ...passwordLabels };
  const crumbs = [{ label: presentation.title, path: listAddress(req, path) }];
  const title = `${plan.label}: ${figure(fitting.length)} selected`;
  render(req, res, { title, crumbs, errors, labels, parts: [form] }, Object.keys(errors).length > 0 ? 422 : 200);
}

/** What the confirmation lacks, by field. */
async function missingOf(req: Request, res: Response, plan: Plan, count: number): Promise<Record<string, string>> {
  const errors: Record<string, string> = named();
  if (plan.link && !req.form.get(linkedName)) errors[linkedName] = errorTexts.required;
  if (plan.guarded && req.form.get(typedName)?.trim() !== String(count)) errors[typedName] = `Type ${count} exactly as shown.`;
  if (plan.guarded && Object.keys(errors).length === 0) Object.assign(errors, await confirmInForm(req, res));
  return errors;
}

type Failure = { readonly record: ResourceObject; readonly sentence: string };

/** Each by itself: one that is refused leaves the others done. */
async function performEach(req: Request, path: string, plan: Plan, records: readonly ResourceObject[]): Promise<readonly Failure[]> {
  const resource = resourceOf(req.call, path);
  const failures: Failure[] = [];
  for (const record of records) {
    try {
      await perform(req.call, { resource, id: record.id, ...plan.write(record) });
    } catch (error) {
      const first = error instanceof ApiError ? error.errors[0] : undefined;
      if (!first || first.code === 'insufficient_scope') throw error;
      failures.push({ record, sentence: sentenceOf(first, undefined) });
    }
  }
  return failures;
}

/** Who stayed as they were, and why. */
function partly(render: Render, req: Request, res: Response, presentation: Presentation, plan: Plan, of: number, failures: readonly Failure[]): void {
  const back = listAddress(req, presentation.path);
  const rows = failures.map(({ record, sentence }) => ({
    path: recordPath(presentation.path, record.id),
    cells: [text(presentation.name(record)), text(sentence)],
  }));
  const columns = [presentation.title, terms.reason];
  const counts = `${figure(of - failures.length)} of ${figure(of)} done. The others stay as they were.`;
  render(req, res, {
    title: `${plan.label}: ${figure(failures.length)} refused`,
    crumbs: [{ label: presentation.title, path: back }],
    parts: [
      { kind: 'notice', tone: 'warning', text: counts },
      pageTable({ id: 'refused', caption: 'Refused', columns, rows }),
      { kind: 'buttons', links: [{ label: `Back to ${presentation.title.toLowerCase()}`, path: back }], posts: [] },
    ],
  }, 409);
} // prettier-ignore

/** GET /dashboard/{collection}/selected: the list, for whoever loads the page of a form anew that was sent. */
export const listAgain =
  ({ path }: Presentation) =>
  (req: Request, res: Response): void =>
    res.redirect(303, listAddress(req, path));

/** POST /dashboard/{collection}/selected: asks, then does the same with each of the records that were selected in the list; or sends them as a file. */
export const actOnSelected = (render: Render, presentation: Presentation) => async (req: Request, res: Response) => {
  const { path } = presentation;
  const { call, form } = req;
  const records = await selectedRecords(req, path);
  const format = exportActs.find((one) => one === form.get('act'));
  const isFile = format !== undefined;
  if (!isFile) requirePermissions(call, permissionFor(resourceOf(call, path), 'write'));
  if (records.length === 0) return res.redirect(303, listAddress(req, path, { done: 'nothing_selected' }));
  if (isFile) return exportSelected(req, res, presentation, format, records);
  const plan = planOf(req, presentation);
  if (form.get('confirmed') === undefined) {
    if (!records.some((record) => plan.applies(record))) return res.redirect(303, listAddress(req, path, { done: 'nothing_to_change' }));
    return ask(render, req, res, presentation, plan, records, named());
  }
  const missing = await missingOf(req, res, plan, records.length);
  if (Object.keys(missing).length > 0) return ask(render, req, res, presentation, plan, records, missing);
  const failures = await performEach(req, path, plan, records);
  if (failures.length > 0) return partly(render, req, res, presentation, plan, records.length, failures);
  res.redirect(303, listAddress(req, path, { done: plan.done }));
};

import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { listPageTexts } from '../../../db/tables/page_texts.js';
import { queryOf } from '../../../http/request/form.js';
import { isLanguage, type Language } from '../../../lib/languages/languages.js';
import { catalogueOf, type MessageKey } from '../../../lib/languages/messages.js';
import { maxOwnText, textProblem } from '../../../lib/languages/own-texts.js';
import { named } from '../../../lib/named.js';
import { requirePermissions } from '../../../management/authorize.js';
import { notFound } from '../../../management/problems.js';
import { perform } from '../../../management/write-steps.js';
import { confirmInForm, passwordLabels, proofOf } from '../../parts/forms/confirmation.js';
import { languageChoices } from '../../parts/forms/choices.js';
import { attempt } from '../../parts/forms/create.js';
import type { Field, Part } from '../../parts/page-parts.js';
import { resourceOf } from '../../parts/records/objects.js';
import type { Render } from '../../parts/render.js';
import { terms } from '../../parts/words.js';
import { areaOfGroup, groupTitle, keysOf } from './page-text-areas.js';
import { hasPreview, pageTextDraftPath } from './page-text-preview.js';

const at = '/dashboard/page_texts';
const prefix = 'text:';

type Own = { readonly id: string; readonly text: string };

/** The texts of a page in one language: those of its own by key, and a mark of what they are, by which a form knows that they have changed. */
type Editing = {
  readonly group: string;
  readonly locale: Language;
  readonly keys: readonly MessageKey[];
  readonly own: ReadonlyMap<string, Own>;
  readonly version: string;
};

const pathOf = (group: string, locale: Language) => `${at}/edit?${new URLSearchParams({ group, locale })}`;

/** What the address names. @throws {ApiError} 403, 404 */
async function editing(req: Request): Promise<Editing> {
  requirePermissions(req.call, 'page_texts:read', 'page_texts:write');
  const query = queryOf(req);
  const [group, tag] = [query.get('group') ?? '', query.get('locale')];
  const keys = keysOf(group);
  if (keys.length === 0) throw notFound(terms.nothing_here);
  const { ctx } = req.call;
  const locale = tag !== undefined && isLanguage(tag) ? tag : ctx.environment.default_locale;
  const stored = await listPageTexts(ctx.db.knex, ctx.environment.id);
  const rows = stored.filter((row) => row.locale === locale && keys.some((key) => key === row.key));
  const marks = rows.map(({ id, text }) => `${id} ${text}`).toSorted();
  return {
    group,
    locale,
    keys,
    own: new Map(rows.map(({ key, id, text }) => [key, { id, text }])),
    version: createHash('sha256').update(marks.join('\n')).digest('hex').slice(0, 16),
  };
}

function fieldOf(
  { locale, own }: Editing,
  key: MessageKey,
  values: ReadonlyMap<string, string>,
  errors: Readonly<Record<string, string>>,
): Field {
  const builtIn = catalogueOf(locale)[key];
  const isOwn = own.has(key);
  return {
    kind: 'textarea',
    name: prefix + key,
    label: catalogueOf('en')[key],
    attribute: key,
    hint: isOwn ? `Built-in text: ${builtIn}` : null,
    optional: false,
    value: values.get(key) ?? own.get(key)?.text ?? builtIn,
    chosen: [],
    choices: [],
    error: errors[prefix + key] ?? null,
    attributes: { rows: 1, maxlength: maxOwnText, lang: locale, dir: 'auto' },
  };
}

async function show(
  render: Render,
  req: Request,
  res: Response,
  page: Editing,
  { values = new Map<string, string>(), errors = named<string>(), status = 200 } = {},
): Promise<void> {
  const { group, locale, keys, version } = page;
  const area = areaOfGroup(group);
  const path = pathOf(group, locale);
  const proof = await proofOf(req, path, errors);
  const draft = pageTextDraftPath(group, locale);
  const form: Part = {
    kind: 'form',
    id: 'texts',
    action: path,
    hidden: { _version: version },
    sections: [
      { title: null, text: null, fields: keys.map((key) => fieldOf(page, key, values, errors)) },
      ...(proof.fields.length > 0 ? [{ title: null, text: null, fields: proof.fields }] : []),
    ],
    button: { label: 'Save', variant: 'primary' },
    cancel: at,
    bar: true,
    draft: hasPreview(group) ? { source: draft, action: draft } : null,
  };
  const language: Part = {
    kind: 'filters',
    action: `${at}/edit`,
    fields: [{ name: 'locale', label: terms.language, value: locale, kind: 'select', choices: await languageChoices() }],
    hidden: { group },
    clear: null,
    button: 'Show',
  };
  render(
    req,
    res,
    {
      title: area.title,
      document_title: `${groupTitle(group)} · ${terms.page_texts}`,
      lead: 'Change any text. An empty field restores the built-in text. Placeholders in braces are replaced with links and names.',
      crumbs: [
        { label: terms.page_texts, path: at },
        { label: terms.change_texts, path: `${at}/new` },
      ],
      tabs: area.groups.map((one) => ({ label: groupTitle(one), path: pathOf(one, locale), current: one === group })),
      errors,
      labels: { ...Object.fromEntries(keys.map((key) => [prefix + key, catalogueOf('en')[key]])), ...passwordLabels },
      parts: [language, ...(proof.instead ?? [form])],
    },
    status,
  );
}

/** GET /dashboard/page_texts/edit: all texts of a page in one language. */
export const pageTextForm = (render: Render) => async (req: Request, res: Response) => show(render, req, res, await editing(req));

/** Stores what differs; a text that is the built-in one, or empty, is none of its own. @throws {ApiError} */
async function save(req: Request, { keys, locale, own }: Editing, values: ReadonlyMap<string, string>): Promise<void> {
  const resource = resourceOf(req.call, 'page_texts');
  const { type } = resource;
  for (const key of keys) {
    const [text = '', before] = [values.get(key), own.get(key)];
    const isBuiltIn = text === '' || text === catalogueOf(locale)[key];
    if (before === undefined && !isBuiltIn)
      await perform(req.call, { kind: 'create', resource, id: null, document: { data: { type, attributes: { key, locale, text } } } });
    if (before !== undefined && isBuiltIn) await perform(req.call, { kind: 'delete', resource, id: before.id });
    if (before !== undefined && !isBuiltIn && before.text !== text)
      await perform(req.call, {
        kind: 'update',
        resource,
        id: before.id,
        document: { data: { type, id: before.id, attributes: { text } } },
      });
  }
}

/** POST /dashboard/page_texts/edit: nothing is stored while one of the texts can't be. */
export const savePageTexts = (render: Render) => async (req: Request, res: Response) => {
  const page = await editing(req);
  const values = new Map(
    page.keys.map((key) => [
      key,
      (req.form.get(prefix + key) ?? '')
        .split('\n')
        .map((line) => line.trim())
        .join(' ')
        .trim(),
    ]),
  );
  const errors: Record<string, string> = named();
  for (const [key, text] of values) {
    const problem = text === '' ? null : textProblem(key, page.locale, text);
    if (problem) errors[prefix + key] = `This ${problem.detail}`;
  }
  const refuse = (more: Readonly<Record<string, string>>, status: number) =>
    show(render, req, res, page, { values, errors: named({ ...more }), status });
  if (Object.keys(errors).length > 0) return refuse(errors, 422);
  const unproven = await confirmInForm(req, res);
  if (Object.keys(unproven).length > 0) return refuse(unproven, 422);
  if (req.form.get('_version') !== page.version)
    return refuse(
      { form: 'Someone else changed these texts in the meantime. Your changes are still here: check them, then save again.' },
      409,
    );
  const result = await attempt([], { texts: {}, chosen: {} }, () => save(req, page, values));
  if ('errors' in result) return refuse(result.errors, result.status);
  res.redirect(303, `${pathOf(page.group, page.locale)}&done=updated`);
};

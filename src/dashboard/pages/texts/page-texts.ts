import type { Request } from 'express';
import { isLanguage, languageTags, type Language } from '../../../lib/languages/languages.js';
import { catalogueOf, type MessageKey } from '../../../lib/languages/messages.js';
import { isPageTextKey, maxOwnText, placeholdersOf, type Placeholder } from '../../../lib/languages/own-texts.js';
import { once } from '../../../lib/memo.js';
import type { ResourceObject } from '../../../management/documents.js';
import { languageChoices } from '../../parts/forms/choices.js';
import type { Part, Value } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { areaOf } from './page-text-areas.js';
import { hasPreview } from './page-text-preview.js';
import { recordPath, type FieldSpec, type Presentation } from '../../parts/records/presentation.js';
import { code, quiet, spoken, stack, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const languageNames = once(() => new Intl.DisplayNames('en', { type: 'language' }));
const nameOf = (tag: Language) => languageNames().of(tag) ?? tag;
const language = (tag: unknown): Value => stack(text(nameOf(tag as Language)), quiet(words(tag)));

const keyOf = ({ attributes: { key } }: ResourceObject) => key as MessageKey;
const localeOf = ({ attributes: { locale } }: ResourceObject) => locale as Language;

/** What the page says without it; nothing for a key that a release has taken away. */
const builtIn = (key: MessageKey, tag: Language): Value => (isPageTextKey(key) ? spoken(catalogueOf(tag)[key], tag) : quiet(terms.gone));

const kindOf = ({ counts, needed }: Placeholder): string =>
  [
    counts ? 'A number, which plurals can go by.' : 'A text or link, which the page puts there.',
    ...(needed ? ['Required in every text, because people rely on it.'] : []),
  ].join(' ');

const example = ({ name, counts }: Placeholder): string => (counts ? `{${name}, plural, one {# …} other {# …}}` : `{${name}}`);

const placeholders = (key: MessageKey): Part =>
  pageTable({
    id: 'placeholders',
    caption: 'Placeholders',
    columns: ['Placeholder', terms.what_it_is, terms.how_to_write_it],
    rows: placeholdersOf(key).map((one) => ({
      cells: [code(`{${one.name}}`), text(kindOf(one)), code(example(one))],
      mark: one.needed ? terms.mail_template_required : null,
    })),
    nothing: ['No placeholders', 'The text is shown as written.'],
  });

/** What the text is in every language; of a new one each leads to the form that starts from it. */
const everyLanguage = (key: MessageKey): Part =>
  pageTable({
    id: 'languages',
    caption: 'Built-in texts',
    columns: [terms.language, terms.built_in_text],
    rows: languageTags.map((tag) => ({
      path: `/dashboard/page_texts/new?key=${key}&locale=${tag}`,
      cells: [text(nameOf(tag)), spoken(catalogueOf(tag)[key], tag)],
    })),
    nothing: ['Built-in texts', ''],
  });

const about = (key: MessageKey, tag: Language): Part => ({
  kind: 'summary',
  title: null,
  rows: [
    { label: 'Page', value: text(areaOf(key).title) },
    { label: 'Key', value: code(key) },
    { label: `Built-in text in ${nameOf(tag)}`, value: builtIn(key, tag) },
  ],
});

function chosen(req: Request): { readonly key: MessageKey; readonly tag: Language } {
  const sent = req.method === 'POST' ? req.form : new URL(req.originalUrl, 'http://own.invalid').searchParams;
  const [key, tag] = [sent.get('key') ?? '', sent.get('locale') ?? ''];
  return { key: isPageTextKey(key) ? key : 'login.title', tag: isLanguage(tag) ? tag : req.ctx.environment.default_locale };
}

const fieldsFor = (key: MessageKey, tag: Language): readonly FieldSpec[] => [
  { name: 'key', label: 'Key', kind: 'hidden', on: 'create', initial: key },
  {
    name: 'locale',
    label: terms.language,
    kind: 'select',
    choices: languageChoices,
    hint: 'To start from the built-in text of another language, choose it below.',
    on: 'create',
    initial: tag,
  },
  {
    name: 'text',
    label: terms.text,
    kind: 'textarea',
    initial: catalogueOf(tag)[key],
    hint: 'Plain text on one line, in ICU MessageFormat, without markup. Placeholders in braces are replaced with links and names.',
    attributes: { rows: 3, maxlength: maxOwnText, dir: 'auto' },
  },
];

export const pageTextsPresentation: Presentation = {
  path: 'page_texts',
  title: terms.page_texts,
  under: 'settings',
  one: 'page text',
  lead: 'Your own texts for the sign-in, registration, account and consent pages, in each language.',
  empty: { title: 'No page texts yet', text: 'All pages use the built-in texts, in fifteen languages. Change one to use your own words.' },
  columns: [
    { label: terms.text, value: ({ attributes: a }) => spoken(words(a['text']), a['locale'] as Language) },
    { label: 'Key', sort: 'key', value: (record) => stack(code(keyOf(record)), quiet(areaOf(keyOf(record)).title)) },
    { label: terms.language, value: ({ attributes: a }) => language(a['locale']) },
    { label: terms.changed, sort: 'updated_at', value: (record, { now }) => time(record.attributes['updated_at'], now) },
  ],
  filters: [
    { name: 'key', label: 'Key', kind: 'search' },
    { name: 'locale', label: terms.language, kind: 'select', choices: languageChoices },
  ],
  name: ({ attributes: a }) => `${words(a['key'])} (${words(a['locale'])})`,
  summary: (record, { now }) => [
    { label: terms.text, value: spoken(words(record.attributes['text']), localeOf(record)) },
    { label: terms.built_in_text, value: builtIn(keyOf(record), localeOf(record)) },
    { label: terms.language, value: language(localeOf(record)) },
    { label: 'Page', value: text(areaOf(keyOf(record)).title) },
    { label: 'Key', value: code(keyOf(record), true) },
    { label: terms.changed, value: time(record.attributes['updated_at'], now) },
    { label: terms.created, value: time(record.attributes['created_at'], now) },
  ],
  fields: fieldsFor('login.title', 'en'),
  createFields: (req) => {
    const { key, tag } = chosen(req);
    return fieldsFor(key, tag);
  },
  formParts: (req, record) => {
    const { key, tag } = record ? { key: keyOf(record), tag: localeOf(record) } : chosen(req);
    if (!isPageTextKey(key)) return { above: [], below: [] };
    return { above: [about(key, tag)], below: [placeholders(key), ...(record ? [] : [everyLanguage(key)])] };
  },
  tabs: [
    {
      name: 'preview',
      label: terms.preview,
      when: (record) => hasPreview(keyOf(record)),
      parts: async (_view, record) => [
        { kind: 'preview', id: 'page', title: areaOf(keyOf(record)).title, path: `${recordPath('page_texts', record.id)}/rendered` },
      ],
    },
  ],
  create: { label: terms.change_texts, title: terms.change_texts, button: 'Save text', guarded: true },
  edit: { guarded: true },
  remove: { label: 'Restore the built-in text', text: 'The page shows the built-in text again.' },
};

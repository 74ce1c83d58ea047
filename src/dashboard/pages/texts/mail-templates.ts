import type { Request } from 'express';
import { builtInText } from '../../../domain/mail/built-in.js';
import { mailLanguage } from '../../../domain/mail/mail-language.js';
import { mailNames, mailSpec, variablesOf, type MailName } from '../../../domain/mail/mails.js';
import { templateLimits } from '../../../domain/mail/template-problems.js';
import type { VariableKind } from '../../../domain/mail/variables.js';
import { languageTags, type Language } from '../../../lib/languages/languages.js';
import { once } from '../../../lib/memo.js';
import type { ResourceObject } from '../../../management/documents.js';
import { languageChoices } from '../../parts/forms/choices.js';
import type { Choice, Part, Value } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath, type FieldSpec, type Presentation, type ViewContext } from '../../parts/records/presentation.js';
import { draftPath, sampleOf } from './rendered-mail.js';
import { code, quiet, stack, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const titleOf = (name: unknown): string => mailSpec(name as MailName).title;
const languageNames = once(() => new Intl.DisplayNames('en', { type: 'language' }));

const language = (locale: unknown): Value =>
  typeof locale === 'string' ? stack(text(languageNames().of(locale) ?? locale), quiet(locale)) : quiet('All other languages');

const uses: Readonly<Record<VariableKind, string>> = {
  text: '',
  optional: 'Optional: {{#name}}…{{/name}} shows its content only if present.',
  message: 'Optional: {{#name}}…{{/name}} shows its content only if present.',
  code: 'Not in the subject.',
  address: 'An address: in text, or as href="{{name}}". Not in the subject.',
  mailbox: 'May be absent. In text, or as href="mailto:{{name}}".',
  flag: 'Yes or no: {{#name}}…{{/name}} if so, {{^name}}…{{/name}} if not.',
  list: 'A list: {{#name}}{{.}}{{/name}} once for each.',
  sentence: '',
  duration: '',
};

function variablesPart(name: MailName): Part {
  const { needed } = mailSpec(name);
  return pageTable({
    id: 'variables',
    caption: 'Variables',
    columns: ['Variable', terms.what_it_is, terms.how_to_write_it],
    rows: Object.entries(variablesOf(name)).map(([each, { kind, description }]) => ({
      cells: [code(`{{${each}}}`), text(description), text(uses[kind].replaceAll('name', each))],
      mark: needed.includes(each) ? (needed.length === 1 ? terms.mail_template_required : 'one is required') : null,
    })),
    nothing: ['No variables', ''],
  });
}

const about = (name: MailName): Part => ({
  kind: 'summary',
  title: null,
  rows: [
    { label: 'Mail', value: text(mailSpec(name).title) },
    { label: 'Sent', value: text(mailSpec(name).sent) },
  ],
});

const known = (name: string | null | undefined): MailName => mailNames.find((one) => one === name) ?? 'register_code';

const sent = (req: Request, name: string): string | null =>
  (req.method === 'POST' ? req.form.get(name) : new URL(req.originalUrl, 'http://own.invalid').searchParams.get(name)) ?? null;

const chosen = (req: Request): MailName => known(sent(req, 'name'));

/** The language whose built-in text a new template starts from: the one asked for, else the environment's. */
const chosenLanguage = (req: Request): Language => mailLanguage([sent(req, 'locale'), req.call.ctx.environment.default_locale]).builtIn;

const languageChoice = (req: Request): Part => ({
  kind: 'filters',
  action: '/dashboard/mail_templates/new',
  fields: [
    {
      name: 'locale',
      label: terms.built_in_text,
      value: chosenLanguage(req),
      kind: 'select',
      choices: languageTags.map((tag) => ({ value: tag, label: languageNames().of(tag) ?? tag })),
    },
  ],
  hidden: { name: chosen(req) },
  clear: null,
  button: 'Start from it',
});

const localeChoices = async (): Promise<Choice[]> => [...(await languageChoices()), { value: '', label: 'All other languages' }];

const fieldsFor = (name: MailName, start: Language): readonly FieldSpec[] => [
  { name: 'name', label: 'Mail', kind: 'hidden', on: 'create', initial: name },
  {
    name: 'locale',
    label: terms.language,
    kind: 'select',
    choices: localeChoices,
    hint: '“All other languages” replaces the built-in translations: everyone without a template in their own language gets this text.',
    on: 'create',
    initial: start,
  },
  {
    name: 'subject',
    label: terms.subject,
    initial: builtInText(name, start).subject,
    attributes: { maxlength: templateLimits.subject, dir: 'auto' },
  },
  {
    name: 'text',
    label: terms.text,
    kind: 'source',
    initial: builtInText(name, start).text,
    hint: 'Plain text. The name of the environment and the support address are added below.',
    attributes: { rows: 16, maxlength: templateLimits.text, dir: 'auto' },
  },
  {
    name: 'html',
    label: 'HTML',
    kind: 'source',
    hint: 'Leave empty to generate it from the text, in your brand colors. Otherwise, enter the content for our email layout, or a whole document that starts with <!doctype html>.',
    attributes: { rows: 10, maxlength: templateLimits.html, spellcheck: 'false' },
  },
];

const previewParts = async ({ req }: ViewContext, record: ResourceObject): Promise<readonly Part[]> => {
  const sample = sampleOf(req, record);
  return [
    { kind: 'summary', title: null, rows: [{ label: terms.subject, value: text(sample.subject) }] },
    { kind: 'preview', id: 'html', title: 'HTML', path: `${recordPath('mail_templates', record.id)}/rendered` },
    { kind: 'code', id: 'text', title: terms.text, text: null, code: sample.text },
  ];
};

export const mailTemplatesPresentation: Presentation = {
  path: 'mail_templates',
  title: terms.mail_templates,
  under: 'settings',
  one: 'mail template',
  lead: 'The emails that the service sends, in each language. Emails without a template use the built-in text in the person’s language.',
  empty: { title: 'No mail templates yet', text: 'All emails have built-in text in fifteen languages. Create a template to change one.' },
  columns: [
    { label: 'Mail', sort: 'name', value: ({ attributes: a }) => stack(text(titleOf(a['name'])), quiet(words(a['name']))) },
    { label: terms.language, value: ({ attributes: a }) => language(a['locale']) },
    { label: terms.subject, value: ({ attributes: a }) => text(a['subject']) },
    { label: terms.changed, sort: 'updated_at', value: (record, { now }) => time(record.attributes['updated_at'], now) },
  ],
  filters: [
    { name: 'name', label: 'Mail', kind: 'select', choices: async () => mailNames.map((value) => ({ value, label: titleOf(value) })) },
    { name: 'locale', label: terms.language, kind: 'search' },
  ],
  name: ({ attributes: a }) => (a['locale'] === null ? titleOf(a['name']) : `${titleOf(a['name'])} (${words(a['locale'])})`),
  summary: ({ attributes: a }, { now }) => [
    { label: 'Mail', value: stack(text(titleOf(a['name'])), quiet(words(a['name']))) },
    { label: 'Sent', value: text(mailSpec(a['name'] as MailName).sent) },
    { label: terms.language, value: language(a['locale']) },
    { label: terms.subject, value: text(a['subject']) },
    { label: 'HTML', value: text(a['html'] === null ? 'Follows from the text' : 'Its own') },
    { label: terms.changed, value: time(a['updated_at'], now) },
    { label: terms.created, value: time(a['created_at'], now) },
  ],
  more: async (_view, { attributes: a }) => [
    { kind: 'code', id: 'text', title: terms.text, text: null, code: words(a['text']) },
    ...(a['html'] === null ? [] : [{ kind: 'code' as const, id: 'html', title: 'HTML', text: null, code: words(a['html']) }]),
  ],
  get fields() {
    return fieldsFor('register_code', 'en');
  },
  createFields: (req) => fieldsFor(chosen(req), chosenLanguage(req)),
  draft: (req, record) => {
    const [name, locale] = record
      ? [record.attributes['name'] as MailName, record.attributes['locale'] as string | null]
      : [chosen(req), chosenLanguage(req)];
    const action = draftPath(name, locale);
    return { source: record ? `${recordPath('mail_templates', record.id)}/rendered` : action, action };
  },
  formParts: (req, record) => {
    const name = record ? (record.attributes['name'] as MailName) : chosen(req);
    return { above: [about(name), ...(record ? [] : [languageChoice(req)])], below: [variablesPart(name)] };
  },
  tabs: [{ name: 'preview', label: terms.preview, parts: previewParts }],
  create: { label: 'Create mail template', title: terms.create_a_mail_template, guarded: true },
  edit: { guarded: true },
  remove: { label: 'Delete mail template', text: 'The email uses the built-in text again, or the template for all other languages.' },
  actions: { test: { label: 'Send a test to me', done: 'test_mail_sent' } },
};

import type { Request } from 'express';
import { builtInTexts } from '../../domain/mail/built-in.js';
import { mailNames, mailSpec, variablesOf, type MailName } from '../../domain/mail/mails.js';
import { templateLimits } from '../../domain/mail/template-problems.js';
import type { VariableKind } from '../../domain/mail/variables.js';
import type { ResourceObject } from '../../management/documents.js';
import type { Part, Value } from '../page-parts.js';
import { recordPath, type FieldSpec, type Presentation, type ViewContext } from '../presentation.js';
import { sampleOf } from '../rendered-mail.js';
import { code, quiet, stack, text, time, words } from '../values.js';

const titleOf = (name: unknown): string => mailSpec(name as MailName).title;
const languageNames = new Intl.DisplayNames('en', { type: 'language' });

const language = (locale: unknown): Value =>
  typeof locale === 'string' ? stack(text(languageNames.of(locale) ?? locale), quiet(locale)) : quiet('all others');

const uses: Readonly<Record<VariableKind, string>> = {
  text: '',
  optional: 'May be absent: {{#name}}…{{/name}} where there is one.',
  code: 'Not in the subject.',
  address: 'An address: in text, or as href="{{name}}". Not in the subject.',
  mailbox: 'May be absent. In text, or as href="mailto:{{name}}".',
  flag: 'Yes or no: {{#name}}…{{/name}} if so, {{^name}}…{{/name}} if not.',
  list: 'A list: {{#name}}{{.}}{{/name}} once for each.',
  number: '',
  duration: '',
};

/** What a template of the mail can name. */
function variablesPart(name: MailName): Part {
  const { needed } = mailSpec(name);
  return {
    kind: 'table',
    id: 'variables',
    caption: 'Variables',
    heading: true,
    columns: [{ label: 'Variable' }, { label: 'What it is' }, { label: 'How to write it' }],
    rows: Object.entries(variablesOf(name)).map(([each, { kind, description }]) => ({
      path: null,
      cells: [code(`{{${each}}}`), text(description), text(uses[kind].replaceAll('name', each))],
      mark: needed.includes(each) ? (needed.length === 1 ? 'needed' : 'one is needed') : null,
    })),
    empty: { title: 'No variables', text: '', button: null },
    pager: null,
  };
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

/** The mail that a new template is for. */
const chosen = (req: Request): MailName =>
  known(req.method === 'POST' ? req.form.get('name') : new URL(req.originalUrl, 'http://own.invalid').searchParams.get('name'));

/** The fields, with the built-in words of a mail to start from. */
const fieldsFor = (name: MailName): readonly FieldSpec[] => [
  { name: 'name', label: 'Mail', kind: 'hidden', on: 'create', initial: name },
  {
    name: 'locale',
    label: 'Language',
    hint: 'A language tag such as de or pt-BR: for people of this language. Empty: for whoever has no template in theirs.',
    on: 'create',
    attributes: { maxlength: 64, autocapitalize: 'none', spellcheck: 'false' },
  },
  {
    name: 'subject',
    label: 'Subject',
    initial: builtInTexts[name].subject,
    attributes: { maxlength: templateLimits.subject },
  },
  {
    name: 'text',
    label: 'Text',
    kind: 'source',
    initial: builtInTexts[name].text,
    hint: 'Plain text. The name of the environment and the support address stand below it by themselves.',
    attributes: { rows: 16, maxlength: templateLimits.text },
  },
  {
    name: 'html',
    label: 'HTML',
    kind: 'source',
    hint: 'Empty: it follows from the text, in the colours of your branding. Otherwise its content, which the frame of our mails is put around, or a whole document that begins with <!doctype html>.',
    attributes: { rows: 10, maxlength: templateLimits.html, spellcheck: 'false' },
  },
];

const previewParts = async ({ req }: ViewContext, record: ResourceObject): Promise<readonly Part[]> => {
  const sample = sampleOf(req, record);
  return [
    { kind: 'summary', title: null, rows: [{ label: 'Subject', value: text(sample.subject) }] },
    { kind: 'preview', id: 'html', title: 'HTML', path: `${recordPath('mail_templates', record.id)}/rendered` },
    { kind: 'code', id: 'text', title: 'Text', text: null, code: sample.text },
  ];
};

/** What the service's mails say, where an environment has words of its own. */
export const mail_templates: Presentation = {
  path: 'mail_templates',
  title: 'Mail templates',
  navigation: { group: 'Environment', icon: ['M3 5.5h14v9.5H3z', 'M3.5 6l6.5 5 6.5-5'] },
  one: 'mail template',
  lead: 'The words of the mails that the service sends, in each language. A mail without a template has the built-in words, in English.',
  empty: {
    title: 'No mail templates yet',
    text: 'All mails have the built-in words. A template gives one of them words, a language and a look of your own.',
  },
  columns: [
    { label: 'Mail', sort: 'name', value: ({ attributes: a }) => stack(text(titleOf(a['name'])), quiet(words(a['name']))) },
    { label: 'Language', value: ({ attributes: a }) => language(a['locale']) },
    { label: 'Subject', value: ({ attributes: a }) => text(a['subject']) },
    { label: 'Changed', sort: 'updated_at', value: (record, { now }) => time(record.attributes['updated_at'], now) },
  ],
  filters: [
    { name: 'name', label: 'Mail', kind: 'select', choices: async () => mailNames.map((value) => ({ value, label: titleOf(value) })) },
    { name: 'locale', label: 'Language', kind: 'search' },
  ],
  name: ({ attributes: a }) => (a['locale'] === null ? titleOf(a['name']) : `${titleOf(a['name'])} (${words(a['locale'])})`),
  summary: ({ id, attributes: a }, { now }) => [
    { label: 'Mail', value: stack(text(titleOf(a['name'])), quiet(words(a['name']))) },
    { label: 'Sent', value: text(mailSpec(a['name'] as MailName).sent) },
    { label: 'Language', value: language(a['locale']) },
    { label: 'Subject', value: text(a['subject']) },
    { label: 'HTML', value: text(a['html'] === null ? 'Follows from the text' : 'Its own') },
    { label: 'Changed', value: time(a['updated_at'], now) },
    { label: 'Created', value: time(a['created_at'], now) },
    { label: 'Id', value: code(id, true) },
  ],
  more: async (_look, { attributes: a }) => [
    { kind: 'code', id: 'text', title: 'Text', text: null, code: words(a['text']) },
    ...(a['html'] === null ? [] : [{ kind: 'code' as const, id: 'html', title: 'HTML', text: null, code: words(a['html']) }]),
  ],
  fields: fieldsFor('register_code'),
  createFields: (req) => fieldsFor(chosen(req)),
  formParts: (req, record) => {
    const name = record ? (record.attributes['name'] as MailName) : chosen(req);
    return { above: [about(name)], below: [variablesPart(name)] };
  },
  tabs: [{ name: 'preview', label: 'Preview', parts: previewParts }],
  create: { label: 'Create mail template', title: 'Create a mail template', guarded: true },
  edit: { guarded: true },
  remove: {
    label: 'Delete mail template',
    text: 'The mail has the built-in words again, or those of the template for all other languages.',
  },
  actions: { test: { label: 'Send a test to me', done: 'test_mail_sent' } },
};

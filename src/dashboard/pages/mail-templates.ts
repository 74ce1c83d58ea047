import type { Request } from 'express';
import { builtInText } from '../../domain/mail/built-in.js';
import { mailLanguage } from '../../domain/mail/mail-language.js';
import { mailNames, mailSpec, variablesOf, type MailName } from '../../domain/mail/mails.js';
import { templateLimits } from '../../domain/mail/template-problems.js';
import type { VariableKind } from '../../domain/mail/variables.js';
import { languageTags, type Language } from '../../lib/languages/languages.js';
import type { ResourceObject } from '../../management/documents.js';
import type { Part, Value } from '../page-parts.js';
import { recordPath, type FieldSpec, type Presentation, type ViewContext } from '../presentation.js';
import { sampleOf } from '../rendered-mail.js';
import { code, quiet, stack, text, time, words } from '../values.js';
import { nouns, sentences, terms } from '../words.js';

const titleOf = (name: unknown): string => mailSpec(name as MailName).title;
const languageNames = new Intl.DisplayNames('en', { type: 'language' });

const language = (locale: unknown): Value =>
  typeof locale === 'string' ? stack(text(languageNames.of(locale) ?? locale), quiet(locale)) : quiet(terms.all_others);

const uses: Readonly<Record<VariableKind, string>> = {
  text: '',
  optional: sentences.may_be_absent_name_name,
  code: sentences.not_in_the_subject,
  address: sentences.an_address_in_text_or,
  mailbox: sentences.may_be_absent_in_text,
  flag: sentences.yes_or_no_name_name,
  list: sentences.a_list_name_name_once,
  sentence: '',
  duration: '',
};

/** What a template of the mail can name. */
function variablesPart(name: MailName): Part {
  const { needed } = mailSpec(name);
  return {
    kind: 'table',
    id: 'variables',
    caption: terms.variables,
    heading: true,
    columns: [{ label: terms.variable }, { label: terms.what_it_is }, { label: terms.how_to_write_it }],
    rows: Object.entries(variablesOf(name)).map(([each, { kind, description }]) => ({
      path: null,
      cells: [code(`{{${each}}}`), text(description), text(uses[kind].replaceAll('name', each))],
      mark: needed.includes(each) ? (needed.length === 1 ? terms.mail_template_required : terms.one_is_required) : null,
    })),
    empty: { title: terms.no_variables, text: '', button: null },
    pager: null,
  };
}

const about = (name: MailName): Part => ({
  kind: 'summary',
  title: null,
  rows: [
    { label: terms.mail, value: text(mailSpec(name).title) },
    { label: terms.sent, value: text(mailSpec(name).sent) },
  ],
});

const known = (name: string | null | undefined): MailName => mailNames.find((one) => one === name) ?? 'register_code';

const sent = (req: Request, name: string): string | null =>
  (req.method === 'POST' ? req.form.get(name) : new URL(req.originalUrl, 'http://own.invalid').searchParams.get(name)) ?? null;

/** The mail that a new template is for. */
const chosen = (req: Request): MailName => known(sent(req, 'name'));

/** The language whose built-in text a new template starts from: the one asked for, else the environment's. */
const chosenLanguage = (req: Request): Language => mailLanguage([sent(req, 'locale'), req.call.ctx.environment.default_locale]).builtIn;

/** The choice of the language to start from. */
const languageChoice = (req: Request): Part => ({
  kind: 'filters',
  action: '/dashboard/mail_templates/new',
  fields: [
    {
      name: 'locale',
      label: terms.built_in_text,
      value: chosenLanguage(req),
      kind: 'select',
      choices: languageTags.map((tag) => ({ value: tag, label: languageNames.of(tag) ?? tag })),
    },
  ],
  hidden: { name: chosen(req) },
  clear: null,
  button: terms.start_from_it,
});

/** The fields, with the built-in text of a mail in a language to start from. */
const fieldsFor = (name: MailName, start: Language): readonly FieldSpec[] => [
  { name: 'name', label: terms.mail, kind: 'hidden', on: 'create', initial: name },
  {
    name: 'locale',
    label: terms.language,
    hint: sentences.a_language_tag_such_as,
    on: 'create',
    attributes: { maxlength: 64, autocapitalize: 'none', spellcheck: 'false' },
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
    hint: sentences.plain_text_the_name_of,
    attributes: { rows: 16, maxlength: templateLimits.text, dir: 'auto' },
  },
  {
    name: 'html',
    label: terms.html,
    kind: 'source',
    hint: sentences.empty_it_follows_from_the,
    attributes: { rows: 10, maxlength: templateLimits.html, spellcheck: 'false' },
  },
];

const previewParts = async ({ req }: ViewContext, record: ResourceObject): Promise<readonly Part[]> => {
  const sample = sampleOf(req, record);
  return [
    { kind: 'summary', title: null, rows: [{ label: terms.subject, value: text(sample.subject) }] },
    { kind: 'preview', id: 'html', title: terms.html, path: `${recordPath('mail_templates', record.id)}/rendered` },
    { kind: 'code', id: 'text', title: terms.text, text: null, code: sample.text },
  ];
};

/** What the service's mails say, where an environment has words of its own. */
export const mail_templates: Presentation = {
  path: 'mail_templates',
  title: terms.mail_templates,
  navigation: { group: 'Environment', icon: ['M3 5.5h14v9.5H3z', 'M3.5 6l6.5 5 6.5-5'] },
  one: nouns.mail_template,
  lead: sentences.the_words_of_the_mails,
  empty: {
    title: terms.no_mail_templates_yet,
    text: sentences.all_mails_have_the_built,
  },
  columns: [
    { label: terms.mail, sort: 'name', value: ({ attributes: a }) => stack(text(titleOf(a['name'])), quiet(words(a['name']))) },
    { label: terms.language, value: ({ attributes: a }) => language(a['locale']) },
    { label: terms.subject, value: ({ attributes: a }) => text(a['subject']) },
    { label: terms.changed, sort: 'updated_at', value: (record, { now }) => time(record.attributes['updated_at'], now) },
  ],
  filters: [
    { name: 'name', label: terms.mail, kind: 'select', choices: async () => mailNames.map((value) => ({ value, label: titleOf(value) })) },
    { name: 'locale', label: terms.language, kind: 'search' },
  ],
  name: ({ attributes: a }) => (a['locale'] === null ? titleOf(a['name']) : `${titleOf(a['name'])} (${words(a['locale'])})`),
  summary: ({ id, attributes: a }, { now }) => [
    { label: terms.mail, value: stack(text(titleOf(a['name'])), quiet(words(a['name']))) },
    { label: terms.sent, value: text(mailSpec(a['name'] as MailName).sent) },
    { label: terms.language, value: language(a['locale']) },
    { label: terms.subject, value: text(a['subject']) },
    { label: terms.html, value: text(a['html'] === null ? terms.follows_from_the_text : terms.its_own) },
    { label: terms.changed, value: time(a['updated_at'], now) },
    { label: terms.created, value: time(a['created_at'], now) },
    { label: terms.id, value: code(id, true) },
  ],
  more: async (_look, { attributes: a }) => [
    { kind: 'code', id: 'text', title: terms.text, text: null, code: words(a['text']) },
    ...(a['html'] === null ? [] : [{ kind: 'code' as const, id: 'html', title: terms.html, text: null, code: words(a['html']) }]),
  ],
  fields: fieldsFor('register_code', 'en'),
  createFields: (req) => fieldsFor(chosen(req), chosenLanguage(req)),
  formParts: (req, record) => {
    const name = record ? (record.attributes['name'] as MailName) : chosen(req);
    return { above: [about(name), ...(record ? [] : [languageChoice(req)])], below: [variablesPart(name)] };
  },
  tabs: [{ name: 'preview', label: terms.preview, parts: previewParts }],
  create: { label: terms.create_mail_template, title: terms.create_a_mail_template, guarded: true },
  edit: { guarded: true },
  remove: {
    label: terms.delete_mail_template,
    text: sentences.the_mail_has_the_built,
  },
  actions: { test: { label: terms.send_a_test_to_me, done: 'test_mail_sent' } },
};

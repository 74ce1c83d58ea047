import { detailFieldKinds, type DetailField } from '../../../lib/authorization-details.js';
import { languages, languageTags } from '../../../lib/languages/languages.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Value } from '../../parts/page-parts.js';
import { apiResourceChoices, statusField } from '../../parts/forms/choices.js';
import type { LineSpec } from '../../parts/records/line-spec.js';
import { includedRecord } from '../../parts/records/objects.js';
import { recordPath, type Presentation } from '../../parts/records/presentation.js';
import { code, lines, link, quiet, state, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

/** A field as a line of a form: `amount money required max 500 EUR`, `access choice required = read, write`. */
const fieldLine: LineSpec = {
  rows: true,
  show(member) {
    const { name, kind, list, required, max, currency, choices } = member as DetailField;
    const pieces = [
      name,
      kind,
      list && 'list',
      required && 'required',
      max && `max ${max}`,
      currency,
      choices && `= ${choices.join(', ')}`,
    ];
    return pieces.filter(Boolean).join(' ');
  },
  read(line) {
    const [before = '', ...values] = line.split('=');
    const [name = '', kind, ...marks] = before.trim().split(/\s+/);
    const at = marks.indexOf('max');
    const [, max] = at < 0 ? [] : marks.splice(at, 2);
    const currencyAt = marks.findIndex((one) => /^[A-Z]{3}$/.test(one));
    const [currency] = currencyAt < 0 ? [] : marks.splice(currencyAt, 1);
    const [list, required] = ['list', 'required'].map((one) => marks.includes(one));
    const isKind = (detailFieldKinds as readonly (string | undefined)[]).includes(kind);
    if (!isKind || marks.some((one) => one !== 'list' && one !== 'required') || (at >= 0 && !/^\d{1,15}$/.test(max ?? '')))
      return undefined;
    const choices = values.length === 0 ? undefined : values.join('=').split(',').map((one) => one.trim()).filter((one) => one !== ''); // prettier-ignore
    return {
      name,
      kind,
      ...(list && { list: true }),
      ...(required && { required: true }),
      ...(max && { max: Number(max) }),
      ...(currency && { currency }),
      ...(choices && { choices }),
    };
  },
  wrong: `A line has the form: amount money required max 500 EUR. The kinds are ${detailFieldKinds.join(', ')}; after a choice come its values: access choice required = read, write.`,
};

const otherLanguages = 'Other languages';

const apiOf = (record: ResourceObject, included: readonly ResourceObject[]) => includedRecord(record, 'api_resource', included);

const statusOf = ({ attributes: a }: ResourceObject): Value =>
  a['status'] === 'enabled' ? state('good', terms.enabled) : state('quiet', terms.disabled);

const sentenceOf = ({ attributes: a }: ResourceObject): [string, string][] => Object.entries(a['sentence'] as Record<string, string>);

export const authorizationDetailTypesPresentation: Presentation = {
  path: 'authorization_detail_types',
  title: terms.authorization_details,
  under: 'api_resources',
  one: 'type of authorization details',
  lead: 'What applications can ask people for beyond scopes, such as one payment (RFC 9396). People are asked in your words.',
  empty: { title: 'No authorization details yet', text: 'Add an API resource first, then the types of details that it understands.' },
  include: 'api_resource',
  columns: [
    { label: terms.name, sort: 'name', value: (record) => code(record.attributes['name']) },
    { label: terms.api, value: (record, _view, { included }) => text(apiOf(record, included)?.attributes['name']) },
    { label: 'Sentence', value: (record) => text(sentenceOf(record)[0]?.[1]) },
    { label: terms.status, value: statusOf },
  ],
  filters: [
    { name: 'search', label: terms.search, kind: 'search' },
    { name: 'status', label: terms.status },
  ],
  name: (record) => words(record.attributes['name']),
  state: statusOf,
  summary: (record, { now }, included) => {
    const api = apiOf(record, included);
    const { attributes: a } = record;
    return [
      { label: terms.api, value: api ? link(words(api.attributes['name']), recordPath('api_resources', api.id)) : quiet('–') },
      { label: 'Fields', value: lines((a['fields'] as DetailField[]).map(fieldLine.show)) },
      { label: 'Sentence', value: lines(sentenceOf(record).map(([language, sentence]) => `${language}: ${sentence}`)) },
      { label: 'Asked', value: text(a['remember'] === true ? 'Once for the same detail' : 'Every time') },
      { label: terms.created, value: time(a['created_at'], now) },
    ];
  },
  fields: [
    { name: 'api_resource', label: terms.api_resource, relationship: 'one', on: 'create', choices: apiResourceChoices },
    {
      name: 'name',
      label: terms.name,
      hint: 'The type in authorization_details, such as payment_initiation. Clients know it by this name.',
      on: 'create',
      attributes: { maxlength: 200, autocapitalize: 'none', spellcheck: 'false' },
    },
    {
      name: 'fields',
      label: 'Fields',
      line: fieldLine,
      hint: 'One per line: amount money required max 500 EUR. The kinds are text, number, money, date and choice; then list, required, max and the currency; the values of a choice after =.',
      attributes: { spellcheck: 'false', autocapitalize: 'none' },
    },
    ...languageTags.map((tag) => ({
      name: `sentence.${tag}`,
      label: `Sentence (${languages[tag].name})`,
      ...(tag === 'en'
        ? { hint: 'What people are asked, with every field in braces: Pay {amount} to {payee}. One language is enough.' }
        : { section: otherLanguages }),
      attributes: { maxlength: 500, lang: tag, dir: languages[tag].dir },
    })),
    {
      name: 'remember',
      label: 'Ask once',
      hint: 'People aren’t asked again about a detail that they allowed the same application before.',
    },
    statusField('No application can ask for it, and details that were allowed no longer count.'),
  ],
  sections: [{ title: otherLanguages, folded: true }],
  create: { label: 'Add type', title: 'Add a type of authorization details' },
  edit: {},
  remove: {
    label: 'Delete type',
    text: 'No application can ask for it any more, and details that were allowed no longer count, even if you add a type of the same name.',
  },
};

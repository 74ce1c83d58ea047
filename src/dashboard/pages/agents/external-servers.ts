import { clientChoices, signingAlgorithmChoices, statusField } from '../../parts/forms/choices.js';
import { includedRecord, relatedId } from '../../parts/records/objects.js';
import type { LineSpec } from '../../parts/records/line-spec.js';
import { recordPath, type FieldSpec, type Presentation } from '../../parts/records/presentation.js';
import { code, duration, lines, link, quiet, stack, state, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';
import { accessCheckTab } from './access-check-tab.js';
import { refusedAssertionsTab } from './refused-tabs.js';

const address = { maxlength: 2048, inputmode: 'url', autocapitalize: 'none', spellcheck: 'false' } as const;

const tenants = [
  { value: 'none', label: terms.none },
  { value: 'environment', label: 'This environment' },
  { value: 'organization', label: 'The organization of the sign-in', hint: 'Without an organization there is no assertion.' },
];

type Resource = { readonly identifier: string; readonly scopes: readonly string[] };

const resourceLine: LineSpec = {
  rows: true,
  show: (member) => [(member as Resource).identifier, ...(member as Resource).scopes].join(' '),
  read(text) {
    const [identifier = '', ...scopes] = text.split(/[\s,]+/);
    return scopes.length === 0 ? undefined : { identifier, scopes };
  },
  wrong: 'Enter an identifier and at least one scope, separated by spaces: https://mcp.example.com/ read',
};

const fields: readonly FieldSpec[] = [
  { name: 'name', label: terms.name, attributes: { maxlength: 100 } },
  { name: 'issuer', label: terms.issuer, hint: 'The aud of the assertions, and the audience that clients name.', attributes: address },
  { name: 'audiences', label: 'Other audiences', hint: 'Other addresses that clients may name, one per line.', attributes: address },
  {
    name: 'resources',
    label: terms.resources,
    line: resourceLine,
    optional: false,
    hint: 'The APIs behind it, one per line: the identifier, then the scopes that assertions may hold: https://mcp.example.com/ read write',
    attributes: { spellcheck: 'false', autocapitalize: 'none' },
  },
  {
    name: 'sign_in_client',
    label: 'Sign-in client',
    relationship: 'one',
    optional: true,
    hint: 'The client through which people sign in to it, if they do. Assertions then use the same subject.',
    choices: clientChoices,
  },
  { name: 'include_email', label: terms.email_address, hint: 'Assertions contain it once it is verified.' },
  { name: 'tenant', label: 'Tenant', kind: 'radios', initial: 'none', choices: async () => tenants },
  { name: 'aud_tenant', label: 'Audience tenant', hint: 'The tenant at the external server (aud_tenant). Leave empty if it has none.' },
  { name: 'lifetime', label: 'Assertion lifetime', initial: '300' },
  { name: 'signing_alg', label: terms.signing_algorithm, initial: 'RS256', choices: signingAlgorithmChoices },
  { name: 'require_proof', label: terms.dpop, hint: 'Only issue assertions that are bound to a key of the client.' },
  statusField('Nobody gets assertions for it.'),
];

export const externalServersPresentation: Presentation = {
  path: 'external_servers',
  title: 'External servers',
  under: 'advanced',
  one: 'external server',
  lead: 'Other authorization servers, such as those of MCP servers, that accept identity assertions (ID-JAG) for your users.',
  empty: { title: 'No external servers yet', text: 'Add the authorization server of an API that your clients call for your users.' },
  recordInclude: 'sign_in_client',
  columns: [
    { label: terms.name, sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['issuer']))) },
    {
      label: terms.status,
      value: ({ attributes: a }) => (a['status'] === 'enabled' ? state('good', terms.enabled) : state('quiet', terms.disabled)),
    },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: 'Name or issuer', kind: 'search' },
    { name: 'status', label: terms.status },
  ],
  name: (record) => words(record.attributes['name']),
  state: ({ attributes: a }) => (a['status'] === 'enabled' ? state('good', terms.enabled) : state('quiet', terms.disabled)),
  summary: (record, { now }, included) => {
    const { attributes: a } = record;
    const client = includedRecord(record, 'sign_in_client', included);
    const signsIn = client
      ? link(words(client.attributes['name']), recordPath('clients', client.id))
      : text(relatedId(record, 'sign_in_client'));
    return [
      { label: terms.issuer, value: code(a['issuer'], true) },
      { label: 'Other audiences', value: lines(a['audiences']) },
      { label: terms.resources, value: lines((a['resources'] as Resource[]).map(resourceLine.show)) },
      { label: 'Sign-in client', value: signsIn },
      { label: terms.email_address, value: text(a['include_email'] === true ? 'In assertions' : 'Not in assertions') },
      { label: 'Tenant', value: text(tenants.find(({ value }) => value === a['tenant'])?.label) },
      { label: 'Audience tenant', value: text(a['aud_tenant']) },
      { label: 'Assertion lifetime', value: duration(a['lifetime']) },
      { label: terms.signing_algorithm, value: text(a['signing_alg']) },
      { label: terms.dpop, value: text(a['require_proof'] === true ? terms.required : 'Optional') },
      { label: terms.created, value: time(a['created_at'], now) },
    ];
  },
  fields,
  tabs: [accessCheckTab, refusedAssertionsTab('Assertions that clients ask for and don’t get appear here.')],
  create: { label: 'Add external server', title: 'Add an external server', button: 'Add external server', guarded: true },
  edit: { guarded: true },
  remove: { label: 'Delete external server', text: 'Assertions for it are no longer issued. Tokens it has issued stay valid there.' },
};

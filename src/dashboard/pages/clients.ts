import type { Request } from 'express';
import { recordPath, type FieldSpec, type Presentation } from '../presentation.js';
import type { Part, Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { includedRecord, may, relatedOf } from '../resource-objects.js';
import { code, duration, lines, number, quiet, stack, state, tags, text, time, web, yesNo, words } from '../values.js';
import { connectionsTab, credentialsTab } from './client-tabs.js';
import { grantChoices, grantLabels, kinds, methodChoices, methodLabels } from './client-kinds.js';
import { quickStartTab } from './client-snippets.js';

const clientState = (record: ResourceObject): Value =>
  record.attributes['status'] === 'enabled' ? state('good', 'Enabled') : state('bad', 'Disabled');
const isOwn = (record: ResourceObject) => record.attributes['is_system'] !== true;
const hasSecret = (record: ResourceObject) => record.attributes['secret_hint'] !== null;

/** Whether people sign in to it. */
const signsIn = (record: ResourceObject) => (record.attributes['grant_types'] as string[]).includes('authorization_code');

const [where, tokens, looks] = ['Where it runs', 'Tokens', 'How people see it'];
const uris = { spellcheck: false, autocapitalize: 'none' };

const redirects: FieldSpec = {
  name: 'redirect_uris',
  label: 'Redirect URIs',
  hint: 'One a line, compared exactly: https://app.example.com/callback. For development http://localhost:3001/callback is fine.',
  section: where,
  attributes: uris,
};
const settings: readonly FieldSpec[] = [
  { name: 'name', label: 'Name', hint: 'People see it when they sign in.', attributes: { maxlength: 100 } },
  { name: 'description', label: 'Description', hint: 'For administrators only.', attributes: { maxlength: 500 } },
  { name: 'status', label: 'Status', kind: 'radios', on: 'update', choices: async () => [{ value: 'enabled', label: 'Enabled' }, { value: 'disabled', label: 'Disabled', hint: 'Gets no tokens; those that it has stop working.' }] }, // prettier-ignore
  redirects,
  { name: 'post_logout_redirect_uris', label: 'Redirect URIs after sign-out', section: where, attributes: uris },
  {
    name: 'allowed_origins',
    label: 'Allowed origins',
    hint: 'Pages at these origins may call the token endpoint from the browser (CORS): https://app.example.com',
    section: where,
    attributes: uris,
  },
  {
    name: 'backchannel_logout_uri',
    label: 'Back-channel logout URI',
    hint: 'Is told when a session ends (OpenID Connect Back-Channel Logout).',
    section: where,
  },
  {
    name: 'grant_types',
    label: 'Grant types',
    kind: 'checks',
    section: tokens,
    choices: async () => grantChoices(Object.keys(grantLabels)),
    optional: false,
  },
  {
    name: 'token_endpoint_auth_method',
    label: 'How it proves itself',
    section: tokens,
    choices: async () => methodChoices(['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none']),
  },
  {
    name: 'jwks_uri',
    label: 'Address of its public keys (jwks_uri)',
    hint: 'For private_key_jwt and signed authorization requests.',
    section: tokens,
    attributes: uris,
  },
  { name: 'scopes', label: 'Scopes that it may ask for', hint: 'One a line; leave it empty for all.', section: tokens },
  { name: 'access_token_format', label: 'Access tokens without a resource', section: tokens, choices: async () => [{ value: 'opaque', label: 'Opaque' }, { value: 'jwt', label: 'JWT' }] }, // prettier-ignore
  { name: 'require_pkce', label: 'Require PKCE', hint: 'Always on for public clients.', section: tokens },
  {
    name: 'introspection_allowed',
    label: 'May ask about tokens of other clients',
    hint: 'For APIs that look tokens up at /oauth/introspect. Clients that registered themselves never may.',
    section: tokens,
  },
  { name: 'id_token_lifetime', label: 'ID token lifetime', hint: 'Seconds; empty for the environment’s.', section: tokens },
  { name: 'refresh_token_lifetime', label: 'Refresh token lifetime', hint: 'Seconds; empty for the environment’s.', section: tokens },
  { name: 'token_rate_limit', label: 'Token requests a minute', hint: 'Empty for the default of 10.', section: tokens },
  { name: 'first_party', label: 'Your own application: skip the consent page', section: looks },
  { name: 'client_uri', label: 'Home page', kind: 'url', section: looks },
  { name: 'logo_uri', label: 'Logo', kind: 'url', section: looks },
  { name: 'policy_uri', label: 'Privacy policy', kind: 'url', section: looks },
  { name: 'tos_uri', label: 'Terms of service', kind: 'url', section: looks },
];

/** The fields for a new client of the kind that the address or the form names. */
function createFields(req: Request): readonly FieldSpec[] {
  const named =
    req.method === 'POST'
      ? req.form.get('application_type')
      : new URL(req.originalUrl, 'http://own.invalid').searchParams.get('application_type');
  const type = named && Object.hasOwn(kinds, named) ? named : 'web';
  const kind = kinds[type] as (typeof kinds)[string];
  const people = type !== 'machine';
  const method = kind.methods[0] ?? 'none';
  return [
    { name: 'application_type', label: 'Kind', kind: 'hidden', initial: type },
    {
      name: 'name',
      label: 'Name',
      hint: people ? 'People see it when they sign in.' : 'For you: which service this is.',
      attributes: { maxlength: 100 },
    },
    ...(people ? [{ ...redirects, section: undefined as unknown as string, optional: false }] : []),
    ...(type === 'spa'
      ? [
          {
            name: 'allowed_origins',
            label: 'Allowed origins',
            hint: 'Where the pages are served from: https://app.example.com',
            attributes: uris,
          },
        ]
      : []),
    ...(people ? [{ name: 'first_party', label: 'This is your own application: skip the consent page', initial: 'on' }] : []),
    {
      name: 'grant_types',
      label: 'Grant types',
      kind: 'checks',
      initial: kind.grants,
      choices: async () => grantChoices(kind.grants),
      optional: false,
    },
    kind.methods.length > 1
      ? {
          name: 'token_endpoint_auth_method',
          label: 'How it proves itself',
          initial: method,
          choices: async () => methodChoices(kind.methods),
        }
      : { name: 'token_endpoint_auth_method', label: 'How it proves itself', kind: 'hidden', initial: method },
  ];
}

async function grantsTab(look: Parameters<typeof quickStartTab>[0], record: ResourceObject): Promise<readonly Part[]> {
  const listing = await relatedOf(look.req.call, 'clients', record.id, 'client_grants', {
    size: 100,
    include: may(look.req.call, 'api_resources', 'read') ? 'api_resource' : undefined,
  });
  const rows = listing.records.map((grant) => ({
    path: recordPath('client_grants', grant.id),
    cells: [
      text(includedRecord(grant, 'api_resource', listing.included)?.attributes['name'] ?? 'API'),
      text(grant.attributes['subject_type'] === 'user' ? 'To ask people for' : 'For itself'),
      tags(grant.attributes['scopes'], 10),
      time(grant.attributes['created_at'], look.now),
    ],
  }));
  const path = `/dashboard/client_grants/new?client=${encodeURIComponent(record.id)}`;
  const button = may(look.req.call, 'client_grants', 'write') ? { label: 'Create grant', path, variant: 'quiet' as const } : null;
  const empty = {
    title: 'No grants',
    text: 'Without a grant this client gets no tokens for itself (client credentials), and can not ask people for permissions of the Management API.',
    button,
  };
  const columns = ['API', 'For', 'Scopes', 'Created'].map((label) => ({ label }));
  return [
    { kind: 'table', id: 'grants', caption: 'Grants', heading: false, columns, rows, empty, pager: null },
    ...(button && rows.length > 0 ? [{ kind: 'buttons' as const, links: [button], posts: [] }] : []),
  ];
}

/** Applications and services that get tokens. */
export const clients: Presentation = {
  path: 'clients',
  title: 'Clients',
  navigation: { group: 'Applications', icon: ['M3.5 3.5h13v13h-13z', 'M3.5 7.5h13M6 5.5h.1M8.25 5.5h.1'] },
  one: 'client',
  lead: 'Applications that sign people in, and services that get tokens for themselves.',
  empty: {
    title: 'No clients yet',
    text: 'A client is your application as this service knows it: a client_id, usually a secret, and where to send people back to.',
  },
  columns: [
    { label: 'Client', sort: 'name', value: ({ attributes: a, id }) => stack(text(a['name']), quiet(id)) },
    { label: 'Kind', value: (record) => text(kinds[words(record.attributes['application_type'])]?.label) },
    { label: 'Status', value: clientState },
    { label: 'Last used', value: (record, { now }) => time(record.attributes['last_used_at'], now) },
    { label: 'Created', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: 'Name or id begins with', kind: 'search' },
    { name: 'application_type', label: 'Kind', choices: async () => Object.entries(kinds).map(([value, { label }]) => ({ value, label })) },
    { name: 'status', label: 'Status' },
  ],
  name: (record) => words(record.attributes['name']),
  state: clientState,
  summary: ({ attributes: a, id }, { now }) => [
    { label: 'Client id', value: code(id, true) },
    {
      label: 'Secret',
      value:
        a['secret_hint'] === null
          ? quiet('None: a public client')
          : stack(code(`cs_…${words(a['secret_hint'])}`), quiet('shown once, when it was made')),
    },
    ...(a['previous_secret_expires_at'] === null
      ? []
      : [{ label: 'Previous secret works until', value: time(a['previous_secret_expires_at'], now) }]),
    { label: 'Kind', value: text(kinds[words(a['application_type'])]?.label) },
    { label: 'Description', value: text(a['description']) },
    { label: 'Grant types', value: tags(a['grant_types']) },
    { label: 'Proves itself by', value: text(methodLabels[words(a['token_endpoint_auth_method'])]) },
    { label: 'Redirect URIs', value: lines(a['redirect_uris']) },
    { label: 'After sign-out', value: lines(a['post_logout_redirect_uris']) },
    { label: 'Allowed origins', value: lines(a['allowed_origins']) },
    { label: 'Scopes', value: a['scopes'] === null ? quiet('All') : tags(a['scopes']) },
    { label: 'PKCE', value: text(a['require_pkce'] === true ? 'Required' : 'Optional') },
    { label: 'Skips consent', value: yesNo(a['first_party']) },
    { label: 'Asks about others’ tokens', value: yesNo(a['introspection_allowed']) },
    { label: 'ID token lifetime', value: duration(a['id_token_lifetime'], 'The environment’s') },
    { label: 'Refresh token lifetime', value: duration(a['refresh_token_lifetime'], 'The environment’s') },
    { label: 'Token requests a minute', value: a['token_rate_limit'] === null ? quiet('The default') : number(a['token_rate_limit']) },
    { label: 'Home page', value: web(a['client_uri']) },
    { label: 'Last used', value: time(a['last_used_at'], now) },
    { label: 'Created', value: time(a['created_at'], now) },
  ],
  sections: [{ title: where }, { title: tokens }, { title: looks }],
  fields: settings,
  createFields,
  create: { label: 'Create client', title: 'Create a client', guarded: true },
  edit: { when: isOwn },
  remove: {
    label: 'Delete client',
    text: 'Its tokens, grants and consents go with it, and nobody can sign in through it any more.',
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
  actions: {
    rotate_secret: {
      label: 'Rotate secret',
      when: hasSecret,
      confirm: [
        'A new secret is made and shown once.',
        'The present one works for another 24 hours, so that you can replace it without an interruption. One that was replaced before stops at once.',
      ],
      guarded: true,
      done: 'updated',
    },
  },
  secrets: {
    create: {
      title: 'Save the client secret',
      label: 'Client secret',
      text: 'Put it where your application keeps its secrets. The quick start shows where it goes.',
      next: 'quick_start',
    },
    rotate_secret: { title: 'Save the new client secret', label: 'Client secret', text: 'Replace it in your application within 24 hours.' },
  },
  tabs: [
    { name: 'quick_start', label: 'Quick start', parts: quickStartTab },
    { name: 'credentials', label: 'Credentials', parts: credentialsTab },
    { name: 'connections', label: 'Connections', needs: 'connections', when: signsIn, parts: connectionsTab },
    { name: 'grants', label: 'Grants', needs: 'client_grants', parts: grantsTab },
  ],
};

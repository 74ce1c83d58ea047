import { acrLabel } from '../choices.js';
import { recordPath, type Presentation } from '../presentation.js';
import type { Part, Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { includedRecord, may, relatedOf } from '../resource-objects.js';
import { code, duration, lines, number, quiet, stack, state, tags, text, time, web, yesNo, words } from '../values.js';
import { profileParts, profileValue } from './client-profile.js';
import { connectionsTab, credentialsTab } from './client-tabs.js';
import { kinds, methodLabels } from './client-kinds.js';
import { clientCreateFields, clientFields, clientSections, mappingLine } from './client-fields.js';
import { named, own } from '../../lib/named.js';
import { openUrl } from '../../domain/clients/initiation.js';
import type { Environment } from '../../domain/environments/environment.js';
import { quickStartTab } from './client-snippets.js';
import { takesWorkloads } from '../choices.js';
import { isPreviewable, tokenPreviewTab } from './token-preview-tab.js';
import { workloadsTab } from './workloads-tab.js';

const clientState = (record: ResourceObject): Value =>
  record.attributes['status'] === 'enabled' ? state('good', 'Enabled') : state('bad', 'Disabled');
const isOwn = (record: ResourceObject) => record.attributes['is_system'] !== true;
const hasSecret = (record: ResourceObject) => record.attributes['secret_hint'] !== null;

/** A link that begins a sign-in there. */
const openLink = (environment: Environment, uri: unknown): Value => web(openUrl(environment, typeof uri === 'string' ? uri : null));

const origins: Readonly<Record<string, string>> = named({ registration: 'Registered itself', metadata_document: 'Its metadata document' });

/** Of a client that came by itself: how, and whether somebody vouches for it. */
const arrivalRows = (a: ResourceObject['attributes'], now: Date) =>
  a['origin'] === 'administrator'
    ? []
    : [
        { label: 'Comes from', value: text(own(origins, words(a['origin'])) ?? '') },
        { label: 'Verified', value: a['verified'] === true ? state('good', 'Verified') : state('warning', 'Not verified') },
        ...(a['document_read_at'] === null ? [] : [{ label: 'Document read', value: time(a['document_read_at'], now) }]),
        ...(a['document_ended_at'] === null ? [] : [{ label: 'No good document since', value: time(a['document_ended_at'], now) }]),
      ];

/** Whether people sign in to it. */
const signsIn = (record: ResourceObject) => (record.attributes['grant_types'] as string[]).includes('authorization_code');

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
  summary: ({ attributes: a, id }, { now, req }) => [
    { label: 'Client id', value: code(id, true) },
    {
      label: 'Secret',
      value:
        a['secret_hint'] === null
          ? quiet(a['token_endpoint_auth_method'] === 'none' ? 'None: a public client' : 'None: it signs with its key')
          : stack(code(`cs_…${words(a['secret_hint'])}`), quiet('shown once, when it was made')),
    },
    ...(a['previous_secret_expires_at'] === null
      ? []
      : [{ label: 'Previous secret works until', value: time(a['previous_secret_expires_at'], now) }]),
    { label: 'Kind', value: text(kinds[words(a['application_type'])]?.label) },
    ...arrivalRows(a, now),
    { label: 'Description', value: text(a['description']) },
    { label: 'Grant types', value: tags(a['grant_types']) },
    { label: 'Proves itself by', value: text(methodLabels[words(a['token_endpoint_auth_method'])]) },
    { label: 'Redirect URIs', value: lines(a['redirect_uris']) },
    { label: 'After sign-out', value: lines(a['post_logout_redirect_uris']) },
    { label: 'Allowed origins', value: lines(a['allowed_origins']) },
    { label: 'Sign-in begins at', value: openLink(req.ctx.environment, a['initiate_login_uri']) },
    { label: 'Scopes', value: a['scopes'] === null ? quiet('All') : tags(a['scopes']) },
    { label: 'Security profile', value: profileValue(a['profile']) },
    { label: 'PKCE', value: text(a['require_pkce'] === true ? 'Required' : 'Optional') },
    { label: 'DPoP', value: text(a['dpop_bound_access_tokens'] === true ? 'Required' : 'Optional') },
    { label: 'Pushed authorization requests', value: text(a['require_pushed_authorization_requests'] === true ? 'Required' : 'Optional') },
    { label: 'Signed requests', value: text(a['require_signed_request_object'] === true ? 'Required' : 'Optional') },
    { label: 'Skips consent', value: yesNo(a['first_party']) },
    { label: 'Asks about others’ tokens', value: yesNo(a['introspection_allowed']) },
    { label: 'Claims in the ID token', value: text(a['id_token_claims'] === 'profile' ? 'The profile too' : 'Protocol claims') },
    { label: 'Claim mappings', value: lines((a['claim_mappings'] as unknown[]).map(mappingLine.show)) },
    { label: 'ID tokens are signed with', value: text(a['id_token_signed_response_alg']) },
    {
      label: 'Userinfo',
      value: text(a['userinfo_signed_response_alg'] === null ? 'JSON' : `A JWT signed with ${words(a['userinfo_signed_response_alg'])}`),
    },
    { label: 'Authorization answers', value: text(a['authorization_signed_response_alg'] ?? 'Signed on demand') },
    { label: 'Introspection responses', value: text(a['introspection_signed_response_alg'] ?? 'Signed on demand') },
    { label: 'People have to prove', value: text(acrLabel(a['required_acr'])) },
    { label: 'Proofs may be as old as', value: duration(a['max_authentication_age'], 'The session') },
    { label: 'ID token lifetime', value: duration(a['id_token_lifetime'], 'The environment’s') },
    { label: 'Refresh token lifetime', value: duration(a['refresh_token_lifetime'], 'The environment’s') },
    { label: 'Token requests a minute', value: a['token_rate_limit'] === null ? quiet('The default') : number(a['token_rate_limit']) },
    { label: 'Home page', value: web(a['client_uri']) },
    { label: 'Last used', value: time(a['last_used_at'], now) },
    { label: 'Created', value: time(a['created_at'], now) },
  ],
  above: profileParts,
  sections: clientSections,
  fields: clientFields,
  createFields: clientCreateFields,
  create: { label: 'Create client', title: 'Create a client', guarded: true },
  edit: { when: isOwn },
  remove: {
    label: 'Delete client',
    text: 'Its tokens, grants and consents go with it, and nobody can sign in through it any more.',
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
  actions: {
    verify: {
      label: 'Verify',
      when: (record) => record.attributes['verified'] !== true,
      confirm: ['You vouch for this application: people are no longer warned about it, and your APIs let it in as any other.'],
      done: 'updated',
    },
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
    { name: 'token_preview', label: 'Preview a token', needs: 'users', when: isPreviewable, parts: tokenPreviewTab },
    { name: 'connections', label: 'Connections', needs: 'connections', when: signsIn, parts: connectionsTab },
    { name: 'grants', label: 'Grants', needs: 'client_grants', parts: grantsTab },
    { name: 'workloads', label: 'Workloads', needs: 'federated_credentials', when: takesWorkloads, parts: workloadsTab },
  ],
};

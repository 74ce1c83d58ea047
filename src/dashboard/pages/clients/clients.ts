import { withExtras } from '../../parts/lists/extras.js';
import { recordPath, type Presentation } from '../../parts/records/presentation.js';
import { activityTabOf } from '../../parts/activity/timeline.js';
import type { Part, Value } from '../../parts/page-parts.js';
import { pageTable, recordsTable } from '../../parts/page-tables.js';
import type { ResourceObject } from '../../../management/documents.js';
import { includedRecord, listOf, may, relatedOf } from '../../parts/records/objects.js';
import { quiet, stack, state, tags, text, time, words } from '../../parts/values.js';
import { profileParts } from './client-profile.js';
import { connectionsTab, credentialsTab } from './client-tabs.js';
import { kinds, provesBySecret } from './client-kinds.js';
import { clientCreateFields, clientCreateLead, clientCreateSections, completedClient } from './client-create-fields.js';
import { clientCreatedParts, createdLead } from './client-created.js';
import { clientDefaults, clientSummary, signsIn } from './client-summary.js';
import { clientFields, clientSubjects } from './client-fields.js';
import { quickStartTab } from './quick-start/snippets.js';
import { isNotSaml } from './saml-client.js';
import { takesWorkloads } from '../../parts/forms/choices.js';
import { uploadParts } from '../branding/upload-parts.js';
import { brandingPreview } from '../branding/branding-preview.js';
import { isPreviewable, tokenPreviewTab } from '../apis/token-preview-tab.js';
import { authorizationsPresentation } from '../users/user-links.js';
import { workloadsTab } from '../workloads/workloads-tab.js';
import { downloadsOf } from '../../parts/lists/downloads.js';
import { terms } from '../../parts/words.js';

const clientState = (record: ResourceObject): Value =>
  record.attributes['status'] === 'enabled' ? state('good', terms.enabled) : state('bad', terms.disabled);
const isOwn = (record: ResourceObject) => record.attributes['is_system'] !== true;
const hasSecret = ({ attributes: a }: ResourceObject) => provesBySecret(a);

async function grantsTab(view: Parameters<typeof quickStartTab>[0], record: ResourceObject): Promise<readonly Part[]> {
  const listing = await relatedOf(view.req.call, 'clients', record.id, 'client_grants', {
    size: 100,
    include: may(view.req.call, 'api_resources', 'read') ? 'api_resource' : undefined,
  });
  const rows = listing.records.map((grant) => ({
    path: recordPath('client_grants', grant.id),
    cells: [
      text(includedRecord(grant, 'api_resource', listing.included)?.attributes['name'] ?? terms.api),
      text(grant.attributes['subject_type'] === 'user' ? terms.user : terms.client),
      tags(grant.attributes['scopes'], 10),
      time(grant.attributes['created_at'], view.now),
    ],
  }));
  const path = `/dashboard/client_grants/new?client=${encodeURIComponent(record.id)}`;
  const button = may(view.req.call, 'client_grants', 'write')
    ? { label: terms.create_client_grant, path, variant: 'quiet' as const }
    : null;
  const without =
    'Without a grant, this client can’t get tokens for itself (client credentials) or request Management API permissions from people.';
  const columns = [terms.api, terms.subject_type, terms.allowed_scopes, terms.created];
  return [
    pageTable({ id: 'grants', caption: 'Grants', heading: false, columns, rows, nothing: ['No grants', without, button] }),
    ...(button && rows.length > 0 ? [{ kind: 'buttons' as const, links: [button], posts: [] }] : []),
  ];
}

/** The people that it acts for, the latest first. */
async function authorizationsTab(view: Parameters<typeof quickStartTab>[0], record: ResourceObject): Promise<readonly Part[]> {
  const found = await listOf(view.req.call, 'authorizations', {
    filters: { client: record.id },
    sort: '-last_used_at',
    size: 100,
    include: 'user',
  });
  const listing = await withExtras(view, authorizationsPresentation, found);
  return [
    recordsTable(view, authorizationsPresentation, listing, {
      id: 'authorizations',
      caption: terms.authorizations,
      heading: false,
      without: terms.client,
      nothing: ['Acts for nobody', 'This client has no tokens for anyone.'],
    }),
  ];
}

export const clientsPresentation: Presentation = {
  path: 'clients',
  title: terms.clients,
  navigation: { group: 'Applications', icon: ['M3.5 3.5h13v13h-13z', 'M3.5 7.5h13M6 5.5h.1M8.25 5.5h.1'] },
  one: 'client',
  lead: 'Applications that sign people in, and services that get tokens for themselves.',
  empty: { title: 'No clients yet', text: 'A client represents your application: a client_id, usually a secret, and redirect URIs.' },
  columns: [
    { label: terms.client, sort: 'name', value: ({ attributes: a, id }) => stack(text(a['name']), quiet(id)) },
    {
      label: terms.application_type,
      value: ({ attributes: a }) => {
        const kind = text(kinds[words(a['application_type'])]?.label);
        return a['is_agent'] === true ? stack(kind, state('info', terms.ai_agent)) : kind;
      },
    },
    { label: terms.status, value: clientState },
    { label: terms.last_used, value: (record, { now }) => time(record.attributes['last_used_at'], now) },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  downloads: downloadsOf('clients', 'csv', 'json'),
  selected: { acts: ['delete'] },
  filters: [
    { name: 'search', label: terms.name_or_id, kind: 'search' },
    {
      name: 'application_type',
      label: terms.application_type,
      choices: async () => Object.entries(kinds).map(([value, { label }]) => ({ value, label })),
    },
    { name: 'status', label: terms.status },
    { name: 'is_agent', label: terms.ai_agent },
  ],
  preview: (entries, { attributes: a }) => brandingPreview(entries, words(a['name'])),
  name: (record) => words(record.attributes['name']),
  state: clientState,
  recordInclude: 'federated_credentials,owner',
  defaults: clientDefaults,
  showsId: false,
  summary: clientSummary,
  above: profileParts,
  sections: clientCreateSections,
  fields: clientFields,
  subjects: clientSubjects,
  createFields: clientCreateFields,
  formParts: (req, record) => {
    const isBranding = record !== null && req.params['subject'] === 'branding';
    return { above: [], below: isBranding ? uploadParts({ req, now: req.call.ctx.clock.now() }, 'clients', record) : [] };
  },
  create: {
    label: terms.create_client,
    title: terms.create_a_client,
    lead: clientCreateLead,
    guarded: true,
    complete: completedClient,
    next: 'quick_start',
    after: clientCreatedParts,
  },
  edit: { when: isOwn },
  remove: {
    label: 'Delete client',
    text: 'Its tokens, grants and consents are deleted, and nobody can sign in through it anymore. Its client ID is never reused: an application that registered by its metadata document stays out until you create a client from that document.',
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
  actions: {
    verify: {
      label: terms.verify,
      when: (record) => record.attributes['verified'] !== true,
      confirm: [
        'You confirm that you trust this application. People are no longer warned about it, and your APIs treat it like any other.',
      ],
      done: 'updated',
    },
    revoke_tokens: {
      label: 'Revoke its tokens',
      when: isNotSaml,
      confirm: [
        'Every access and refresh token issued to this client so far stops working immediately, along with unused codes and the sessions of its devices.',
        'Its credentials and consents stay, so it can get new tokens right away.',
      ],
      danger: true,
      done: 'tokens_revoked',
    },
    rotate_secret: {
      label: terms.rotate_secret,
      when: hasSecret,
      confirm: [
        'A new secret is generated and shown once.',
        'The current secret works for another 24 hours, so that you can replace it without interruption. An earlier one stops working immediately.',
      ],
      guarded: true,
      done: 'updated',
    },
  },
  secrets: {
    create: {
      title: 'Save the client secret',
      lead: createdLead,
      label: terms.client_secret,
      text: 'Put it where your application keeps its secrets. The quick start shows where it goes.',
      next: 'quick_start',
    },
    rotate_secret: {
      title: 'Save the new client secret',
      label: terms.client_secret,
      text: 'Replace it in your application within 24 hours.',
    },
  },
  tabs: [
    { name: 'quick_start', label: terms.quick_start, parts: quickStartTab },
    { name: 'credentials', label: 'Credentials', when: isNotSaml, parts: credentialsTab },
    { name: 'token_preview', label: 'Token preview', needs: 'users', when: isPreviewable, parts: tokenPreviewTab },
    { name: 'connections', label: terms.connections, needs: 'connections', when: signsIn, parts: connectionsTab },
    { name: 'grants', label: 'Grants', needs: 'client_grants', when: isNotSaml, parts: grantsTab },
    { name: 'authorizations', label: terms.authorizations, needs: 'users', when: isNotSaml, parts: authorizationsTab },
    { name: 'workloads', label: 'Workload identity', needs: 'federated_credentials', when: takesWorkloads, parts: workloadsTab },
    activityTabOf('clients', 'Failed authentications, consents and changes of this client appear here.'),
  ],
};

import { listRequests, type DirectoryRequest } from '../../../domain/directories/requests.js';
import { organizationChoices } from '../../parts/forms/choices.js';
import type { Part } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import type { Presentation, ViewContext } from '../../parts/records/presentation.js';
import { includedRecord } from '../../parts/records/objects.js';
import type { ResourceObject } from '../../../management/documents.js';
import { code, quiet, stack, statusStates, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';
import { organizationOf, pathOfOrganization } from './organization-domains.js';

const directoryState = statusStates({ enabled: ['good', terms.enabled], disabled: ['quiet', terms.disabled] });

const hasPrevious = (record: ResourceObject, now: Date) => {
  const until = record.attributes['previous_token_expires_at'];
  return typeof until === 'string' && new Date(until) > now;
};

const answered = ({ response_status, error }: DirectoryRequest) =>
  error === null ? text(response_status) : stack(text([response_status, error.scimType].filter(Boolean).join(' ')), quiet(error.detail));

/** What the directory has sent: its provider often shows less of its errors. */
async function requests({ req, now }: ViewContext, { id }: ResourceObject): Promise<readonly Part[]> {
  const sent = await listRequests(req.ctx, id);
  return [
    pageTable({
      id: 'requests',
      caption: 'Last requests',
      columns: ['Request', 'Answer', terms.time, terms.request_id],
      rows: sent.map((one) => ({
        cells: [code(`${one.method} ${one.path}`), answered(one), time(one.requested_at.toISOString(), now), code(one.request_id)],
      })),
      nothing: ['No requests yet', 'Give the provider the SCIM URL and the token, and let it test the connection.'],
    }),
  ];
}

/** What the provider is given beside the token. */
const besideToken = async (_view: ViewContext, { attributes }: ResourceObject): Promise<readonly Part[]> => [
  { kind: 'summary', title: null, rows: [{ label: 'SCIM URL', value: code(attributes['base_url'], true) }] },
];

const tokenText = 'Paste it at the provider, with the SCIM URL.';

export const directoriesPresentation: Presentation = {
  path: 'directories',
  title: 'Directories',
  under: 'organizations',
  one: 'directory',
  lead: 'How organizations’ directories add and remove people by themselves (SCIM).',
  empty: {
    title: 'No directory yet',
    text: 'With a directory, the organization’s provider, such as Entra ID or Okta, adds and removes its people and groups by itself.',
  },
  include: 'organization',
  columns: [
    { label: terms.organization, value: (record, _view, { included }) => organizationOf(record, included) },
    { label: terms.status, value: directoryState },
    { label: 'SCIM URL', value: (record) => code(record.attributes['base_url'], true) },
    { label: 'Last request', value: (record, { now }) => time(record.attributes['last_used_at'], now) },
  ],
  filters: [
    { name: 'organization', label: terms.organization, choices: organizationChoices },
    { name: 'status', label: terms.status },
  ],
  name: (record, included = []) => words(includedRecord(record, 'organization', included)?.attributes['display_name'] ?? 'Directory'),
  state: directoryState,
  summary: (record, { now }, included) => [
    { label: terms.organization, value: organizationOf(record, included) },
    { label: 'SCIM URL', value: code(record.attributes['base_url'], true) },
    { label: 'Token', value: stack(code(`scim_…${words(record.attributes['token_hint'])}`), quiet(terms.shown_once_when_it_was_made)) },
    ...(hasPrevious(record, now)
      ? [{ label: 'Previous token works until', value: time(record.attributes['previous_token_expires_at'], now) }]
      : []),
    { label: 'Last request', value: time(record.attributes['last_used_at'], now) },
    { label: terms.created, value: time(record.attributes['created_at'], now) },
  ],
  more: requests,
  fields: [
    { name: 'organization', label: terms.organization, relationship: 'one', on: 'create', choices: organizationChoices },
    { name: 'status', label: terms.status, on: 'update', hint: 'Disabled: every request of the provider is refused.' },
  ],
  create: {
    label: 'Set up directory',
    title: 'Set up a directory',
    lead: 'The token is shown once, on the next page.',
    guarded: true,
    after: besideToken,
  },
  edit: {},
  remove: {
    label: 'Delete directory',
    text: 'The provider no longer adds or removes people. Its groups are deleted, with the roles they give. Members stay, and people it has blocked stay blocked.',
    leadsTo: pathOfOrganization(),
  },
  actions: {
    rotate_token: {
      label: 'Rotate token',
      confirm: ['A new token is generated and shown once. The current one works for seven more days.'],
      guarded: true,
      done: 'updated',
    },
    revoke_previous_token: {
      label: 'Revoke previous token',
      when: (record) => record.attributes['previous_token_expires_at'] !== null,
      confirm: ['The previous token stops working now.'],
      done: 'updated',
    },
  },
  secrets: {
    create: { title: terms.save_the_token, label: 'Token', text: tokenText },
    rotate_token: { title: 'Save the new token', label: 'Token', text: tokenText },
  },
};

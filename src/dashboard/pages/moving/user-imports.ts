import { dateTimeWords } from '../../../lib/date-words.js';
import type { ResourceObject } from '../../../management/documents.js';
import { downloadsOf } from '../../parts/lists/downloads.js';
import type { Value } from '../../parts/page-parts.js';
import { recordPath, type Presentation } from '../../parts/records/presentation.js';
import { code, figure, nothing, number, state, statusStates, text, time, words, yesNo } from '../../parts/values.js';
import { terms } from '../../parts/words.js';
import { importFileParts } from './import-file.js';
import { failedRowsTab } from './failed-rows.js';

const statusOf = statusStates({
  awaiting_data: ['warning', 'Waiting for the file'],
  queued: ['info', 'Queued'],
  running: ['info', 'Running'],
  succeeded: ['good', 'Succeeded'],
  partial: ['warning', 'Some rows failed'],
  failed: ['bad', terms.failed],
  cancelled: ['quiet', 'Canceled'],
});

/** A file that is here, or a part of it, and has still to be started. */
const importState = (record: ResourceObject): Value =>
  record.attributes['status'] === 'awaiting_data' && record.attributes['received_bytes'] !== 0
    ? state('warning', 'Not started')
    : statusOf(record);

const modeChoices = [
  { value: 'create', label: 'Create only', hint: 'Rows whose email address is already in use fail.' },
  { value: 'upsert', label: 'Create and update', hint: 'Users who already exist are updated from their row.' },
];
const modeOf = ({ attributes }: ResourceObject) => text(modeChoices.find(({ value }) => value === attributes['mode'])?.label);

const isOver = ({ attributes }: ResourceObject) => attributes['finished_at'] !== null;

const firebase = 'Passwords from Firebase';

/** How much of the file has been worked off; nothing before it is there, or where its end came without that. */
function progressOf({ attributes: a }: ResourceObject): Value {
  const [read, total] = [Number(a['read_bytes']), Number(a['total_bytes'])];
  return total === 0 ? nothing : { kind: 'progress', value: read, max: total, text: `${figure(read)} of ${figure(total)} bytes` };
}

export const userImportsPresentation: Presentation = {
  path: 'user_imports',
  title: 'Imports',
  under: 'users',
  one: 'import',
  lead: 'Users from another system, with their passwords, roles and connected accounts.',
  empty: {
    title: 'No imports yet',
    text: 'Import a file with one JSON object per line. To convert an export from Auth0, Cognito, Django, Firebase or Keycloak, use idp import.',
  },
  columns: [
    { label: 'Import', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
    { label: 'Mode', value: modeOf },
    { label: 'Dry run', value: (record) => yesNo(record.attributes['dry_run']) },
    { label: terms.status, value: importState },
    { label: 'Rows', numeric: true, value: (record) => number(record.attributes['row_count']) },
    { label: terms.failed, numeric: true, value: (record) => number(record.attributes['failed_count']) },
  ],
  filters: [{ name: 'status', label: terms.status }],
  downloads: downloadsOf('user_imports', 'csv', 'json'),
  name: ({ attributes }) => `Import of ${dateTimeWords(words(attributes['created_at']))}`,
  state: importState,
  above: importFileParts,
  summary: (record, { now }) => {
    const a = record.attributes;
    return [
      { label: terms.status, value: importState(record) },
      ...(a['error'] === null ? [] : [{ label: terms.failure_reason, value: text(a['error']) }]),
      { label: 'Mode', value: modeOf(record) },
      { label: 'Dry run', value: yesNo(a['dry_run']) },
      { label: 'Addresses are verified', value: yesNo(a['addresses_proven']) },
      { label: 'Send events', value: yesNo(a['emit_events']) },
      { label: 'Fetched from', value: code(a['source_url']) },
      { label: 'Processed', value: progressOf(record) },
      { label: 'Rows', value: number(a['row_count']) },
      { label: terms.created, value: number(a['created_count']) },
      { label: 'Updated', value: number(a['updated_count']) },
      { label: 'Unchanged', value: number(a['unchanged_count']) },
      { label: terms.failed, value: number(a['failed_count']) },
      { label: 'Started by', value: text(a['actor_display']) },
      { label: 'Started', value: time(a['created_at'], now) },
      { label: 'Finished', value: time(a['finished_at'], now) },
    ];
  },
  tabs: [{ name: 'row_errors', label: terms.failed_rows, parts: failedRowsTab }],
  links: (record) => ({
    links:
      isOver(record) || record.attributes['status'] === 'awaiting_data'
        ? []
        : [{ label: 'Refresh', path: recordPath('user_imports', record.id), variant: 'quiet' }],
    posts: [],
  }),
  sections: [{ title: firebase, text: 'For rows with a password_hash from Firebase.', folded: true }],
  fields: [
    { name: 'mode', label: 'Mode', on: 'create', kind: 'radios', initial: 'create', choices: async () => modeChoices },
    { name: 'dry_run', label: 'Dry run', on: 'create', hint: 'Checks every row and changes nothing.' },
    {
      name: 'addresses_proven',
      label: 'Addresses are verified',
      on: 'create',
      hint: 'Select this if the old system verified every email address: email_verified in each row is kept. Otherwise it is ignored.',
    },
    { name: 'emit_events', label: 'Send events', on: 'create', hint: 'Webhooks and the events feed get an event for each user.' },
    {
      name: 'source_url',
      label: 'Fetch the file from',
      kind: 'url',
      on: 'create',
      hint: 'Leave empty to upload it on the next page.',
      attributes: { maxlength: 2048 },
    },
    { name: 'hash_parameters.signer_key', label: 'Signer key', on: 'create', section: firebase, optional: true },
    { name: 'hash_parameters.salt_separator', label: 'Salt separator', on: 'create', section: firebase, optional: true },
  ],
  create: {
    label: 'Import users',
    title: 'Import users',
    lead: 'The import runs with your permissions, for as long as you have them.',
    guarded: true,
    button: 'Continue',
    complete: ({ hash_parameters, ...rest }) => (Object.keys(hash_parameters ?? {}).length > 0 ? { ...rest, hash_parameters } : rest),
  },
  actions: {
    cancel: {
      label: 'Cancel import',
      when: (record) => !isOver(record),
      confirm: ['The import stops. Users it has already created or updated stay as they are.'],
      danger: true,
      done: 'updated',
    },
  },
};

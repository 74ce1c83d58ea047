import { recordPath, type Presentation } from '../presentation.js';
import type { Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, duration, durationWords, quiet, stack, state, tags, text, time, words } from '../values.js';

const sourceNames: ReadonlyMap<string, string> = new Map([
  ['security_events', 'Security events'],
  ['audit_logs', 'Audit log'],
]);
const formats = [
  { value: 'native', label: 'Native', hint: 'As the Management API shows it.' },
  { value: 'ecs', label: 'ECS 8', hint: 'Elastic Common Schema.' },
  { value: 'ocsf', label: 'OCSF 1', hint: 'Open Cybersecurity Schema Framework.' },
];
const errors: ReadonlyMap<string, string> = new Map([
  ['non_2xx', 'the receiver refused it'],
  ['redirect', 'the receiver redirected, which is not followed'],
  ['timeout', 'no answer within 10 seconds'],
  ['dns', 'the name does not resolve'],
  ['connect', 'no connection'],
  ['tls', 'no trusted TLS connection'],
  ['blocked_address', 'the address may not be reached from here'],
  ['internal_error', 'a failure of this service: see its log'],
]);

const streamState = ({ attributes: a }: ResourceObject): Value => {
  if (a['status'] === 'paused') return state(a['failing_since'] === null ? 'quiet' : 'bad', 'Paused');
  return a['failing_since'] === null ? state('good', 'Enabled') : state('warning', 'Failing');
};
const sourcesOf = ({ attributes: a }: Pick<ResourceObject, 'attributes'>): Value =>
  tags((a['sources'] as string[]).map((name) => sourceNames.get(name) ?? name));
const lag = ({ attributes: a }: ResourceObject): Value =>
  a['lag_seconds'] === 0 ? quiet('none') : text(durationWords(a['lag_seconds'] as number));

function lastTry({ attributes: a }: ResourceObject): Value {
  const status = a['last_response_status'];
  const answered = status === null ? [] : [quiet(`the receiver answered ${words(status)}`)];
  if (a['last_error'] !== null)
    return stack(text(`Not taken: ${errors.get(words(a['last_error'])) ?? words(a['last_error'])}`), ...answered);
  return status === null ? quiet('none yet') : stack(text('Taken'), ...answered);
}

/** Where security events and the audit log are sent. */
export const log_streams: Presentation = {
  path: 'log_streams',
  title: 'Log streams',
  navigation: { group: 'Events', icon: ['M3 6h9M3 10h6M3 14h9', 'M14 6.5l3.25 3.5L14 13.5'] },
  one: 'log stream',
  lead: 'Receivers of security events and of the audit log, such as a SIEM: lines of JSON, in order, at least once. A receiver that is away misses nothing.',
  empty: { title: 'No log streams yet', text: 'A log stream POSTs what is recorded from now on to your SIEM, within seconds.' },
  columns: [
    { label: 'Log stream', sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['url']))) },
    { label: 'Sends', value: sourcesOf },
    { label: 'Status', value: streamState },
    { label: 'Behind', value: lag },
    { label: 'Last sent', value: (record, { now }) => time(record.attributes['last_sent_at'], now) },
  ],
  filters: [{ name: 'status', label: 'Status' }],
  name: (record) => words(record.attributes['name']),
  state: streamState,
  summary: (record, { now }) => {
    const { attributes: a, id } = record;
    return [
      { label: 'URL', value: code(a['url'], true) },
      { label: 'Sends', value: sourcesOf(record) },
      { label: 'Format', value: text(formats.find(({ value }) => value === a['format'])?.label ?? a['format']) },
      { label: 'Authorization header', value: text(a['has_authorization'] === true ? 'Sent along; never shown' : 'None') },
      {
        label: 'Signing secret',
        value: stack(
          code(`whsec_…${words(a['secret_hint'])}`),
          quiet(a['secret_rotated_at'] === null ? 'shown once, when it was made' : 'rotated'),
          ...(a['secret_rotated_at'] === null ? [] : [time(a['secret_rotated_at'], now)]),
        ),
      },
      { label: 'Behind', value: duration(a['lag_seconds'] === 0 ? null : a['lag_seconds'], 'Nothing waits') },
      { label: 'Last try', value: lastTry(record) },
      ...(a['failing_since'] === null ? [] : [{ label: 'Failing since', value: time(a['failing_since'], now) }]),
      { label: 'Last sent', value: time(a['last_sent_at'], now) },
      { label: 'Created', value: time(a['created_at'], now) },
      { label: 'Id', value: code(id, true) },
    ];
  },
  fields: [
    { name: 'name', label: 'Name', hint: 'For you: what receives it.', attributes: { maxlength: 255 } },
    {
      name: 'url',
      label: 'URL',
      kind: 'url',
      hint: 'Where lines are POSTed to.',
      attributes: { maxlength: 2048, autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'sources', label: 'Sends', kind: 'checks', optional: false, choices: async () => [...sourceNames].map(([value, label]) => ({ value, label })) }, // prettier-ignore
    { name: 'format', label: 'Format', kind: 'radios', initial: 'native', choices: async () => formats },
    {
      name: 'authorization',
      label: 'Authorization header',
      kind: 'password',
      optional: true,
      hint: 'What the receiver wants, such as “Bearer …” or “Splunk …”. Sealed, and never shown again. Leave it empty to keep what is stored.',
      attributes: { autocomplete: 'off', maxlength: 4096 },
    },
    { name: 'status', label: 'Status', kind: 'radios', on: 'update', choices: async () => [{ value: 'enabled', label: 'Enabled', hint: 'Paused until now, it goes on where it stood.' }, { value: 'paused', label: 'Paused', hint: 'What is recorded waits, and is sent later.' }] }, // prettier-ignore
  ],
  create: {
    label: 'Create log stream',
    title: 'Create a log stream',
    lead: 'The signing secret is shown once, on the next page.',
    guarded: true,
  },
  remove: {
    label: 'Delete log stream',
    text: 'Nothing is sent any more, not even what waits.',
    typed: (record) => words(record.attributes['name']),
  },
  actions: {
    test: { label: 'Send test', done: 'stream_tested', leadsTo: ({ id }) => recordPath('log_streams', id) },
    rotate_secret: {
      label: 'Rotate secret',
      confirm: ['A new signing secret is made and shown once. For 24 hours the Standard Webhooks header is signed with the old one too.'],
      guarded: true,
      done: 'updated',
    },
  },
  secrets: {
    create: {
      title: 'Save the signing secret',
      label: 'Signing secret',
      text: 'A receiver that can check signatures does so with it: HMAC-SHA256 over the raw body, keyed with this whole text.',
    },
    rotate_secret: { title: 'Save the new signing secret', label: 'Signing secret', text: 'Put it into the receiver now.' },
  },
};

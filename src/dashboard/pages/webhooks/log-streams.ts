import { recordPath, type Presentation } from '../../parts/records/presentation.js';
import { logStreamHealth } from '../../../domain/health/health.js';
import { failureReason, healthCell, healthNotice, healthState } from '../../parts/health.js';
import type { Value } from '../../parts/page-parts.js';
import type { ResourceObject } from '../../../management/documents.js';
import { code, duration, durationWords, quiet, stack, state, tags, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';
import { secretLead, secretRow, secretTexts } from './signing-secret.js';

const sourceNames: ReadonlyMap<string, string> = new Map([
  ['security_events', terms.security_events],
  ['audit_logs', terms.audit_log],
  ['events', terms.events],
]);
const formats = [
  { value: 'native', label: 'Native', hint: 'As the Management API shows it.' },
  { value: 'ecs', label: 'ECS 8', hint: 'Elastic Common Schema.' },
  { value: 'ocsf', label: 'OCSF 1', hint: 'Open Cybersecurity Schema Framework.' },
];
const healthOf = ({ attributes }: ResourceObject) => logStreamHealth(attributes as unknown as Parameters<typeof logStreamHealth>[0]);
const soundState = ({ attributes: a }: ResourceObject): Value =>
  a['status'] === 'paused' ? state('quiet', 'Paused') : state('good', terms.enabled);
const streamState = (record: ResourceObject): Value => healthState(healthOf(record), soundState(record));
const sourcesOf = ({ attributes: a }: Pick<ResourceObject, 'attributes'>): Value =>
  tags((a['sources'] as string[]).map((name) => sourceNames.get(name) ?? name));
const lag = ({ attributes: a }: ResourceObject): Value =>
  a['lag_seconds'] === 0 ? quiet(terms.none_in_sentence) : text(durationWords(a['lag_seconds'] as number));

function lastTry({ attributes: a }: ResourceObject): Value {
  const status = a['last_response_status'];
  const answered = status === null ? [] : [quiet(`the receiver answered ${words(status)}`)];
  if (a['last_error'] !== null) return stack(failureReason(a['last_error']), ...answered);
  return status === null ? quiet('none yet') : stack(text('Taken'), ...answered);
}

export const logStreamsPresentation: Presentation = {
  path: 'log_streams',
  title: 'Log streams',
  under: 'security_events',
  one: 'log stream',
  lead: 'Send security events and the audit log to a receiver such as a SIEM: lines of JSON, in order, at least once. Nothing is lost while the receiver is down.',
  empty: { title: 'No log streams yet', text: 'A log stream sends new entries to your SIEM within seconds.' },
  columns: [
    { label: terms.log_stream, sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['url']))) },
    { label: 'Source', value: sourcesOf },
    { label: terms.status, value: (record) => healthCell(healthOf(record), soundState(record)) },
    { label: 'Backlog', value: lag },
    { label: 'Last sent', value: (record, { now }) => time(record.attributes['last_sent_at'], now) },
  ],
  filters: [{ name: 'status', label: terms.status }],
  name: (record) => words(record.attributes['name']),
  state: streamState,
  above: async (_view, record) => healthNotice(healthOf(record)),
  summary: (record, { now }) => {
    const { attributes: a } = record;
    return [
      { label: terms.url, value: code(a['url'], true) },
      { label: 'Source', value: sourcesOf(record) },
      { label: 'Format', value: text(formats.find(({ value }) => value === a['format'])?.label ?? a['format']) },
      { label: terms.authorization_header, value: text(a['has_authorization'] === true ? 'Sent along; never shown' : terms.none) },
      secretRow(a, now),
      { label: 'Backlog', value: duration(a['lag_seconds'] === 0 ? null : a['lag_seconds'], 'Nothing waits') },
      { label: 'Last attempt', value: lastTry(record) },
      ...(a['failing_since'] === null ? [] : [{ label: 'Failing since', value: time(a['failing_since'], now) }]),
      { label: 'Last sent', value: time(a['last_sent_at'], now) },
      { label: terms.created, value: time(a['created_at'], now) },
    ];
  },
  fields: [
    { name: 'name', label: terms.name, hint: terms.shown_only_to_administrators, attributes: { maxlength: 255 } },
    {
      name: 'url',
      label: terms.url,
      kind: 'url',
      hint: 'Where lines are POSTed to.',
      attributes: { maxlength: 2048, autocapitalize: 'none', spellcheck: 'false' },
    },
    {
      name: 'sources',
      label: 'Source',
      kind: 'checks',
      optional: false,
      choices: async () => [...sourceNames].map(([value, label]) => ({ value, label })),
    },
    { name: 'format', label: 'Format', kind: 'radios', initial: 'native', choices: async () => formats },
    {
      name: 'authorization',
      label: terms.authorization_header,
      kind: 'password',
      optional: true,
      hint: 'What the receiver expects, such as “Bearer …” or “Splunk …”. Encrypted, and never shown again. Leave empty to keep the stored value.',
      attributes: { autocomplete: 'off', maxlength: 4096 },
    },
    {
      name: 'status',
      label: terms.status,
      kind: 'radios',
      on: 'update',
      choices: async () => [
        { value: 'enabled', label: terms.enabled, hint: 'It resumes where it was paused.' },
        { value: 'paused', label: 'Paused', hint: 'New entries are queued and sent later.' },
      ],
    },
  ],
  create: { label: 'Create log stream', title: 'Create a log stream', lead: secretLead, guarded: true },
  remove: {
    label: 'Delete log stream',
    text: 'Nothing more is sent, not even queued entries.',
    typed: (record) => words(record.attributes['name']),
  },
  actions: {
    test: { label: terms.send_test, done: 'stream_tested', leadsTo: ({ id }) => recordPath('log_streams', id) },
    rotate_secret: {
      label: terms.rotate_secret,
      confirm: [
        'A new signing secret is generated and shown once. For 24 hours, the Standard Webhooks header is also signed with the old one.',
      ],
      guarded: true,
      done: 'updated',
    },
  },
  secrets: secretTexts(
    'Use it to check signatures: HMAC-SHA256 over the raw body, with this whole text as the key.',
    'Add it to the receiver now.',
  ),
};

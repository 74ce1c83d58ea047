import { recordPath, type Presentation } from '../presentation.js';
import type { Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, duration, durationWords, quiet, stack, state, tags, text, time, words } from '../values.js';
import { fill, hints, nouns, sentences, terms } from '../words.js';

const sourceNames: ReadonlyMap<string, string> = new Map([
  ['security_events', 'Security events'],
  ['audit_logs', 'Audit log'],
]);
const formats = [
  { value: 'native', label: terms.native, hint: hints.native },
  { value: 'ecs', label: terms.ecs_8, hint: hints.ecs },
  { value: 'ocsf', label: terms.ocsf_1, hint: hints.ocsf },
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
  if (a['status'] === 'paused') return state(a['failing_since'] === null ? 'quiet' : 'bad', terms.paused);
  return a['failing_since'] === null ? state('good', terms.enabled) : state('warning', terms.failing);
};
const sourcesOf = ({ attributes: a }: Pick<ResourceObject, 'attributes'>): Value =>
  tags((a['sources'] as string[]).map((name) => sourceNames.get(name) ?? name));
const lag = ({ attributes: a }: ResourceObject): Value =>
  a['lag_seconds'] === 0 ? quiet(terms.none_in_sentence) : text(durationWords(a['lag_seconds'] as number));

function lastTry({ attributes: a }: ResourceObject): Value {
  const status = a['last_response_status'];
  const answered = status === null ? [] : [quiet(fill(terms.the_receiver_answered_status, { status: words(status) }))];
  if (a['last_error'] !== null)
    return stack(
      text(fill(terms.not_taken_last_error, { last_error: errors.get(words(a['last_error'])) ?? words(a['last_error']) })),
      ...answered,
    );
  return status === null ? quiet(terms.none_yet) : stack(text(terms.taken), ...answered);
}

/** Where security events and the audit log are sent. */
export const log_streams: Presentation = {
  path: 'log_streams',
  title: terms.log_streams,
  navigation: { group: 'Events', icon: ['M3 6h9M3 10h6M3 14h9', 'M14 6.5l3.25 3.5L14 13.5'] },
  one: nouns.log_stream,
  lead: sentences.log_streams_lead,
  empty: { title: terms.no_log_streams_yet, text: sentences.a_log_stream_posts_what },
  columns: [
    { label: terms.log_stream, sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['url']))) },
    { label: terms.source, value: sourcesOf },
    { label: terms.status, value: streamState },
    { label: terms.backlog, value: lag },
    { label: terms.last_sent, value: (record, { now }) => time(record.attributes['last_sent_at'], now) },
  ],
  filters: [{ name: 'status', label: terms.status }],
  name: (record) => words(record.attributes['name']),
  state: streamState,
  summary: (record, { now }) => {
    const { attributes: a, id } = record;
    return [
      { label: terms.url, value: code(a['url'], true) },
      { label: terms.source, value: sourcesOf(record) },
      { label: terms.format, value: text(formats.find(({ value }) => value === a['format'])?.label ?? a['format']) },
      { label: terms.authorization_header, value: text(a['has_authorization'] === true ? terms.sent_along_never_shown : terms.none) },
      {
        label: terms.signing_secret,
        value: stack(
          code(`whsec_…${words(a['secret_hint'])}`),
          quiet(a['secret_rotated_at'] === null ? terms.shown_once_when_it_was_made : 'rotated'),
          ...(a['secret_rotated_at'] === null ? [] : [time(a['secret_rotated_at'], now)]),
        ),
      },
      { label: terms.backlog, value: duration(a['lag_seconds'] === 0 ? null : a['lag_seconds'], 'Nothing waits') },
      { label: terms.last_attempt, value: lastTry(record) },
      ...(a['failing_since'] === null ? [] : [{ label: terms.failing_since, value: time(a['failing_since'], now) }]),
      { label: terms.last_sent, value: time(a['last_sent_at'], now) },
      { label: terms.created, value: time(a['created_at'], now) },
      { label: terms.id, value: code(id, true) },
    ];
  },
  fields: [
    { name: 'name', label: terms.name, hint: hints.log_streams_name, attributes: { maxlength: 255 } },
    {
      name: 'url',
      label: terms.url,
      kind: 'url',
      hint: hints.url,
      attributes: { maxlength: 2048, autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'sources', label: terms.source, kind: 'checks', optional: false, choices: async () => [...sourceNames].map(([value, label]) => ({ value, label })) }, // prettier-ignore
    { name: 'format', label: terms.format, kind: 'radios', initial: 'native', choices: async () => formats },
    {
      name: 'authorization',
      label: terms.authorization_header,
      kind: 'password',
      optional: true,
      hint: hints.authorization,
      attributes: { autocomplete: 'off', maxlength: 4096 },
    },
    { name: 'status', label: terms.status, kind: 'radios', on: 'update', choices: async () => [{ value: 'enabled', label: terms.enabled, hint: hints.enabled }, { value: 'paused', label: terms.paused, hint: hints.paused }] }, // prettier-ignore
  ],
  create: {
    label: terms.create_log_stream,
    title: terms.create_a_log_stream,
    lead: sentences.the_signing_secret_is_shown,
    guarded: true,
  },
  remove: {
    label: terms.delete_log_stream,
    text: sentences.nothing_is_sent_any_more,
    typed: (record) => words(record.attributes['name']),
  },
  actions: {
    test: { label: terms.send_test, done: 'stream_tested', leadsTo: ({ id }) => recordPath('log_streams', id) },
    rotate_secret: {
      label: terms.rotate_secret,
      confirm: [sentences.a_new_signing_secret_is],
      guarded: true,
      done: 'updated',
    },
  },
  secrets: {
    create: {
      title: terms.save_the_signing_secret,
      label: terms.signing_secret,
      text: sentences.a_receiver_that_can_check,
    },
    rotate_secret: { title: terms.save_the_new_signing_secret, label: terms.signing_secret, text: sentences.put_it_into_the_receiver },
  },
};

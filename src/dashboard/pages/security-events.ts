import { securityEvents } from '../../lib/security-events.js';
import { recordPath, type ColumnSpec, type Presentation } from '../presentation.js';
import type { Part, Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, figure, link, number, quiet, stack, state, text, time, words } from '../values.js';
import { fill, nouns, sentences, terms } from '../words.js';

type Actor = { actor_kind: string; actor_id: string | null; display: string | null };
type Target = { target_type: string; target_id: string | null; display: string | null };
type Detail = { reason: string | null; target: Target } & Record<string, unknown>;

const actorOf = (record: ResourceObject) => record.attributes['actor'] as Actor;
const detailOf = (record: ResourceObject) => record.attributes['detail'] as Detail;
const timesOf = (record: ResourceObject) => record.attributes['count'] as number;

const severities = { info: ['quiet', terms.info], warning: ['warning', terms.warning], critical: ['bad', terms.critical] } as const;

function severity(record: ResourceObject): Value {
  const [tone, label] = severities[record.attributes['severity'] as keyof typeof severities];
  return state(tone, label);
}

const happening = (record: ResourceObject): Value => {
  const name = code(record.attributes['event']);
  return timesOf(record) > 1 ? stack(name, quiet(fill(terms.value_times, { value: figure(timesOf(record)) }))) : name;
};
const who = (record: ResourceObject): Value => {
  const { actor_kind, actor_id, display } = actorOf(record);
  return stack(text(display ?? actor_id ?? (actor_kind === 'anonymous' ? terms.somebody : terms.the_service)), quiet(actor_kind));
};
const whom = (record: ResourceObject): Value => {
  const { target_type, target_id, display } = detailOf(record).target;
  return target_id === null ? quiet('–') : stack(text(display ?? target_id), quiet(target_type.replaceAll('_', ' ')));
};

const columns: readonly ColumnSpec[] = [
  { label: terms.event, value: happening },
  { label: terms.severity, value: severity },
  { label: terms.actor, value: who },
  { label: terms.target, value: whom },
  { label: terms.ip_address, value: (record) => code(record.attributes['ip_address']) },
  { label: terms.time, sort: 'occurred_at', value: (record, { now }) => time(record.attributes['occurred_at'], now) },
];

function details(record: ResourceObject): Part {
  const { reason: _reason, target: _target, ...rest } = detailOf(record);
  const rows = Object.entries(rest).map(([name, value]) => ({
    path: null,
    cells: [
      code(name),
      value === null ? quiet(terms.nothing_in_sentence) : code(typeof value === 'object' ? JSON.stringify(value) : words(value)),
    ],
  }));
  const empty = { title: terms.none, text: sentences.this_kind_of_event_has, button: null };
  return { kind: 'table', id: 'detail', caption: terms.details, heading: true, columns: [{ label: terms.name }, { label: terms.value }], rows, empty, pager: null }; // prettier-ignore
}

const eventChoices = async () => Object.keys(securityEvents).sort().map((name) => ({ value: name, label: name })); // prettier-ignore
const severityChoices = async () => Object.entries(severities).map(([value, [, label]]) => ({ value, label }));

/** What is worth an eye. */
export const security_events: Presentation = {
  path: 'security_events',
  title: terms.security_events,
  navigation: { group: 'Events', icon: ['M10 2.75l6 2.25v4.5c0 3.75-2.5 6.5-6 7.75-3.5-1.25-6-4-6-7.75V5z', 'M7.25 10l2 2 3.5-3.75'] },
  one: nouns.security_event,
  lead: sentences.security_events_lead,
  empty: { title: terms.nothing_yet, text: sentences.the_first_sign_in_appears },
  columns,
  filters: [
    { name: 'event', label: terms.event, choices: eventChoices },
    { name: 'severity', label: terms.severity, choices: severityChoices },
    { name: 'actor', label: terms.actor_id, kind: 'text' },
    { name: 'target', label: terms.target_id, kind: 'text' },
    { name: 'since', label: terms.period, kind: 'period', filter: 'occurred_at' },
  ],
  name: (record) => words(record.attributes['event']),
  state: severity,
  summary: (record, { now }) => {
    const { attributes } = record;
    const [actor, { reason, target }] = [actorOf(record), detailOf(record)];
    const [user_id, client_id] = [attributes['user_id'], attributes['client_id']] as (string | null)[];
    const meaning = Object.entries(securityEvents).find(([name]) => name === attributes['event'])?.[1].description ?? null;
    return [
      { label: terms.what_it_means, value: text(meaning?.replaceAll('`', '') ?? null) },
      { label: terms.time, value: time(attributes['occurred_at'], now) },
      { label: terms.outcome, value: text(words(attributes['outcome'])) },
      { label: terms.reason, value: code(reason) },
      { label: terms.actor, value: stack(text(actor.display ?? actor.actor_id ?? terms.somebody), quiet(actor.actor_kind)) },
      { label: terms.target, value: stack(text(target.display ?? target.target_id), quiet(target.target_type.replaceAll('_', ' '))) },
      { label: terms.user, value: user_id ? link(user_id, recordPath('users', user_id)) : quiet('–') },
      { label: terms.client, value: client_id ? link(client_id, recordPath('clients', client_id)) : quiet('–') },
      { label: terms.occurrences_within_the_minute, value: number(timesOf(record)) },
      { label: terms.ip_address, value: stack(code(attributes['ip_address']), quiet(words(attributes['user_agent'] ?? ''))) },
      { label: terms.request_id, value: code(attributes['request_id'], true) },
    ];
  },
  more: async (_look, record) => [details(record)],
};

import { securityEvents } from '../../lib/security-events.js';
import { recordPath, type ColumnSpec, type Presentation } from '../presentation.js';
import type { Part, Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, figure, link, number, quiet, stack, state, text, time, words } from '../values.js';

type Actor = { actor_kind: string; actor_id: string | null; display: string | null };
type Target = { target_type: string; target_id: string | null; display: string | null };
type Detail = { reason: string | null; target: Target } & Record<string, unknown>;

const actorOf = (record: ResourceObject) => record.attributes['actor'] as Actor;
const detailOf = (record: ResourceObject) => record.attributes['detail'] as Detail;
const timesOf = (record: ResourceObject) => record.attributes['count'] as number;

const severities = { info: ['quiet', 'Info'], warning: ['warning', 'Warning'], critical: ['bad', 'Critical'] } as const;

function severity(record: ResourceObject): Value {
  const [tone, label] = severities[record.attributes['severity'] as keyof typeof severities];
  return state(tone, label);
}

const happening = (record: ResourceObject): Value => {
  const name = code(record.attributes['event']);
  return timesOf(record) > 1 ? stack(name, quiet(`${figure(timesOf(record))} times`)) : name;
};
const who = (record: ResourceObject): Value => {
  const { actor_kind, actor_id, display } = actorOf(record);
  return stack(text(display ?? actor_id ?? (actor_kind === 'anonymous' ? 'Somebody' : 'The service')), quiet(actor_kind));
};
const whom = (record: ResourceObject): Value => {
  const { target_type, target_id, display } = detailOf(record).target;
  return target_id === null ? quiet('–') : stack(text(display ?? target_id), quiet(target_type.replaceAll('_', ' ')));
};

const columns: readonly ColumnSpec[] = [
  { label: 'Event', value: happening },
  { label: 'Severity', value: severity },
  { label: 'Who', value: who },
  { label: 'About', value: whom },
  { label: 'From', value: (record) => code(record.attributes['ip_address']) },
  { label: 'When', sort: 'occurred_at', value: (record, { now }) => time(record.attributes['occurred_at'], now) },
];

function details(record: ResourceObject): Part {
  const { reason: _reason, target: _target, ...rest } = detailOf(record);
  const rows = Object.entries(rest).map(([name, value]) => ({
    path: null,
    cells: [code(name), value === null ? quiet('nothing') : code(typeof value === 'object' ? JSON.stringify(value) : words(value))],
  }));
  const empty = { title: 'Nothing more', text: 'This kind of event has no further details.', button: null };
  return { kind: 'table', id: 'detail', caption: 'Details', heading: true, columns: [{ label: 'Name' }, { label: 'Value' }], rows, empty, pager: null }; // prettier-ignore
}

const eventChoices = async () => Object.keys(securityEvents).sort().map((name) => ({ value: name, label: name })); // prettier-ignore
const severityChoices = async () => Object.entries(severities).map(([value, [, label]]) => ({ value, label }));

/** What is worth an eye. */
export const security_events: Presentation = {
  path: 'security_events',
  title: 'Security events',
  navigation: { group: 'Events', icon: ['M10 2.75l6 2.25v4.5c0 3.75-2.5 6.5-6 7.75-3.5-1.25-6-4-6-7.75V5z', 'M7.25 10l2 2 3.5-3.75'] },
  one: 'security event',
  lead: 'Sign-ins and refused ones, reused codes and tokens, changed roles, keys, secrets and settings, denied operations. Each is a line of the log too; what repeats within a minute is counted.',
  empty: { title: 'Nothing yet', text: 'The first sign-in appears here.' },
  columns,
  filters: [
    { name: 'event', label: 'Event', choices: eventChoices },
    { name: 'severity', label: 'Severity', choices: severityChoices },
    { name: 'actor', label: 'Actor id', kind: 'text' },
    { name: 'target', label: 'About (id)', kind: 'text' },
    { name: 'since', label: 'Period', kind: 'period', filter: 'occurred_at' },
  ],
  name: (record) => words(record.attributes['event']),
  state: severity,
  summary: (record, { now }) => {
    const { attributes } = record;
    const [actor, { reason, target }] = [actorOf(record), detailOf(record)];
    const [user_id, client_id] = [attributes['user_id'], attributes['client_id']] as (string | null)[];
    const meaning = Object.entries(securityEvents).find(([name]) => name === attributes['event'])?.[1].description ?? null;
    return [
      { label: 'What it means', value: text(meaning?.replaceAll('`', '') ?? null) },
      { label: 'When', value: time(attributes['occurred_at'], now) },
      { label: 'Outcome', value: text(words(attributes['outcome'])) },
      { label: 'Reason', value: code(reason) },
      { label: 'Who', value: stack(text(actor.display ?? actor.actor_id ?? 'Somebody'), quiet(actor.actor_kind)) },
      { label: 'About', value: stack(text(target.display ?? target.target_id), quiet(target.target_type.replaceAll('_', ' '))) },
      { label: 'User', value: user_id ? link(user_id, recordPath('users', user_id)) : quiet('–') },
      { label: 'Client', value: client_id ? link(client_id, recordPath('clients', client_id)) : quiet('–') },
      { label: 'Times in that minute', value: number(timesOf(record)) },
      { label: 'From', value: stack(code(attributes['ip_address']), quiet(words(attributes['user_agent'] ?? ''))) },
      { label: 'Request id', value: code(attributes['request_id'], true) },
    ];
  },
  more: async (_look, record) => [details(record)],
};

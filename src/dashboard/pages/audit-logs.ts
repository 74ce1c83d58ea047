import { recordPath, type ColumnSpec, type Presentation } from '../presentation.js';
import type { Part, Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, figure, link, number, quiet, stack, state, tags, text, time, words } from '../values.js';

type Actor = { actor_kind: string; actor_id: string | null; display: string | null; permissions: string[] };
type Target = { target_type: string; target_id: string | null; display: string | null };

const actorOf = (record: ResourceObject) => record.attributes['actor'] as Actor;
const targetOf = (record: ResourceObject) => (record.attributes['targets'] as Target[])[0];

function outcomeOf(record: ResourceObject): Value {
  switch (record.attributes['outcome']) {
    case 'success':
      return state('good', 'Done');
    case 'denied':
      return state('bad', 'Denied');
    default:
      return state('warning', 'Failed');
  }
}
const timesOf = (record: ResourceObject) => record.attributes['count'] as number;
const outcome = (record: ResourceObject): Value => {
  const how = outcomeOf(record);
  return timesOf(record) > 1 ? stack(how, quiet(`${figure(timesOf(record))} times`)) : how;
};
const who = (record: ResourceObject): Value => {
  const actor = actorOf(record);
  return stack(
    text(actor.display ?? actor.actor_id ?? (actor.actor_kind === 'anonymous' ? 'Somebody' : 'The service')),
    quiet(actor.actor_kind),
  );
};
const what = (record: ResourceObject): Value => {
  const target = targetOf(record);
  return target ? stack(text(target.display ?? target.target_id), quiet(target.target_type.replaceAll('_', ' '))) : quiet('–');
};

/** What rows of the log show, here and on the pages of what they are about. */
export const auditColumns: readonly ColumnSpec[] = [
  { label: 'Action', value: (record) => code(record.attributes['action']) },
  { label: 'Who', value: who },
  { label: 'What', value: what },
  { label: 'Outcome', value: outcome },
  { label: 'When', sort: 'occurred_at', value: (record, { now }) => time(record.attributes['occurred_at'], now) },
];

const plural = (type: string) => (type === 'webhook_delivery' ? 'webhook_deliveries' : `${type}s`);
const shown = (value: unknown): Value =>
  value === null || value === undefined ? quiet('nothing') : typeof value === 'object' ? code(JSON.stringify(value)) : code(words(value));

function changes(record: ResourceObject): Part {
  const rows = Object.entries(record.attributes['changes'] as Record<string, [unknown, unknown]>).map(([name, [before, after]]) => ({
    path: null,
    cells: [code(name), shown(before), shown(after)],
  }));
  const empty = { title: 'No attribute changed', text: 'The action itself is all there is.', button: null };
  return {
    kind: 'table',
    id: 'changes',
    caption: 'Changes',
    heading: true,
    columns: [{ label: 'Attribute' }, { label: 'Before' }, { label: 'After' }],
    rows,
    empty,
    pager: null,
  };
}

const kindChoices = async () => [
  { value: 'false', label: 'Changes' },
  { value: 'true', label: 'Security events' },
];

/** Who did what. */
export const audit_logs: Presentation = {
  path: 'audit_logs',
  title: 'Audit log',
  navigation: { group: 'Events', icon: ['M5 2.75h7.5L16 6.25v11H5z', 'M8 9h5M8 12h5M8 6h2'] },
  one: 'entry',
  lead: 'Every change, every attempt refused for want of permission, and security events such as sign-ins. Nobody can change it. Kept for 400 days, security events for 180.',
  empty: { title: 'Nothing yet', text: 'The first change that somebody makes appears here.' },
  columns: auditColumns,
  filters: [
    { name: 'security_event', label: 'Kind', choices: kindChoices },
    { name: 'action', label: 'Action', kind: 'text' },
    { name: 'actor', label: 'Actor id', kind: 'text' },
    { name: 'target', label: 'Target id', kind: 'text' },
    { name: 'outcome', label: 'Outcome' },
    { name: 'since', label: 'Period', kind: 'period', filter: 'occurred_at' },
  ],
  downloads: ['csv', 'ndjson'].map((format) => ({
    label: `Export ${format.toUpperCase()}`,
    path: '/dashboard/audit_logs/export',
    query: { format },
  })),
  name: (record) => words(record.attributes['action']),
  state: outcome,
  summary: (record, { now, req }) => {
    const [actor, target] = [actorOf(record), targetOf(record)];
    // Identities and consents have no page but that of their user.
    const known = target?.target_id && target.target_type !== 'consent' && req.call.registry.byPath.has(plural(target.target_type));
    return [
      { label: 'When', value: time(record.attributes['occurred_at'], now) },
      { label: 'Who', value: who(record) },
      {
        label: 'Actor id',
        value:
          actor.actor_kind === 'user' && actor.actor_id
            ? link(actor.actor_id, recordPath('users', actor.actor_id))
            : code(actor.actor_id, true),
      },
      { label: 'What', value: what(record) },
      {
        label: 'Target id',
        value:
          known && target?.target_id
            ? link(target.target_id, recordPath(plural(target.target_type), target.target_id))
            : code(target?.target_id),
      },
      { label: 'Times in that minute', value: number(timesOf(record)) },
      { label: 'Reason', value: text(record.attributes['reason']) },
      { label: 'From', value: stack(code(record.attributes['ip_address']), quiet(words(record.attributes['user_agent'] ?? ''))) },
      { label: 'Request id', value: code(record.attributes['request_id'], true) },
      { label: 'Permissions at the time', value: tags(actor.permissions, 60) },
    ];
  },
  more: async (_look, record) => [changes(record)],
};

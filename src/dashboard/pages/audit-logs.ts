import { recordPath, type ColumnSpec, type Presentation } from '../presentation.js';
import type { Part, Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, figure, link, number, quiet, stack, state, tags, text, time, words } from '../values.js';
import { fill, nouns, sentences, terms } from '../words.js';

type Actor = { actor_kind: string; actor_id: string | null; display: string | null; permissions: string[] };
type Target = { target_type: string; target_id: string | null; display: string | null };

const actorOf = (record: ResourceObject) => record.attributes['actor'] as Actor;
const targetOf = (record: ResourceObject) => (record.attributes['targets'] as Target[])[0];

function outcomeOf(record: ResourceObject): Value {
  switch (record.attributes['outcome']) {
    case 'success':
      return state('good', terms.success);
    case 'denied':
      return state('bad', terms.denied);
    default:
      return state('warning', terms.failed);
  }
}
const timesOf = (record: ResourceObject) => record.attributes['count'] as number;
const outcome = (record: ResourceObject): Value => {
  const how = outcomeOf(record);
  return timesOf(record) > 1 ? stack(how, quiet(fill(terms.value_times, { value: figure(timesOf(record)) }))) : how;
};
const who = (record: ResourceObject): Value => {
  const actor = actorOf(record);
  return stack(
    text(actor.display ?? actor.actor_id ?? (actor.actor_kind === 'anonymous' ? terms.somebody : terms.the_service)),
    quiet(actor.actor_kind),
  );
};
const what = (record: ResourceObject): Value => {
  const target = targetOf(record);
  return target ? stack(text(target.display ?? target.target_id), quiet(target.target_type.replaceAll('_', ' '))) : quiet('–');
};

/** What rows of the log show, here and on the pages of what they are about. */
export const auditColumns: readonly ColumnSpec[] = [
  { label: terms.action, value: (record) => code(record.attributes['action']) },
  { label: terms.actor, value: who },
  { label: terms.target, value: what },
  { label: terms.outcome, value: outcome },
  { label: terms.time, sort: 'occurred_at', value: (record, { now }) => time(record.attributes['occurred_at'], now) },
];

const plural = (type: string) => (type === 'webhook_delivery' ? 'webhook_deliveries' : `${type}s`);
const shown = (value: unknown): Value =>
  value === null || value === undefined
    ? quiet(terms.nothing_in_sentence)
    : typeof value === 'object'
      ? code(JSON.stringify(value))
      : code(words(value));

function changes(record: ResourceObject): Part {
  const rows = Object.entries(record.attributes['changes'] as Record<string, [unknown, unknown]>).map(([name, [before, after]]) => ({
    path: null,
    cells: [code(name), shown(before), shown(after)],
  }));
  const empty = { title: terms.no_attribute_changed, text: sentences.the_action_itself_is_all, button: null };
  return {
    kind: 'table',
    id: 'changes',
    caption: terms.changes,
    heading: true,
    columns: [{ label: terms.attribute }, { label: terms.before }, { label: terms.after }],
    rows,
    empty,
    pager: null,
  };
}

const kindChoices = async () => [
  { value: 'false', label: terms.changes },
  { value: 'true', label: terms.security_events },
];

/** Who did what. */
export const audit_logs: Presentation = {
  path: 'audit_logs',
  title: terms.audit_log,
  navigation: { group: 'Events', icon: ['M5 2.75h7.5L16 6.25v11H5z', 'M8 9h5M8 12h5M8 6h2'] },
  one: nouns.entry,
  lead: sentences.audit_logs_lead,
  empty: { title: terms.nothing_yet, text: sentences.the_first_change_that_somebody },
  columns: auditColumns,
  filters: [
    { name: 'security_event', label: terms.category, choices: kindChoices },
    { name: 'action', label: terms.action, kind: 'text' },
    { name: 'actor', label: terms.actor_id, kind: 'text' },
    { name: 'target', label: terms.target_id, kind: 'text' },
    { name: 'outcome', label: terms.outcome },
    { name: 'since', label: terms.period, kind: 'period', filter: 'occurred_at' },
  ],
  downloads: ['csv', 'ndjson'].map((format) => ({
    label: fill(terms.export_value, { value: format.toUpperCase() }),
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
      { label: terms.time, value: time(record.attributes['occurred_at'], now) },
      { label: terms.actor, value: who(record) },
      {
        label: terms.actor_id,
        value:
          actor.actor_kind === 'user' && actor.actor_id
            ? link(actor.actor_id, recordPath('users', actor.actor_id))
            : code(actor.actor_id, true),
      },
      { label: terms.target, value: what(record) },
      {
        label: terms.target_id,
        value:
          known && target?.target_id
            ? link(target.target_id, recordPath(plural(target.target_type), target.target_id))
            : code(target?.target_id),
      },
      { label: terms.occurrences_within_the_minute, value: number(timesOf(record)) },
      { label: terms.reason, value: text(record.attributes['reason']) },
      { label: terms.ip_address, value: stack(code(record.attributes['ip_address']), quiet(words(record.attributes['user_agent'] ?? ''))) },
      { label: terms.request_id, value: code(record.attributes['request_id'], true) },
      { label: terms.permissions_of_the_actor, value: tags(actor.permissions, 60) },
    ];
  },
  more: async (_look, record) => [changes(record)],
};

import { actionChoices } from '../../parts/activity/choices.js';
import { adviceRows, partiesFor, logColumns, originRows, partyRows, shownValue } from '../../parts/activity/columns.js';
import { entryOfLog } from '../../parts/activity/entry.js';
import { namesOf, storedNames, type Names } from '../../parts/activity/names.js';
import { activitySentence } from '../../parts/activity/sentences.js';
import { downloadsOf } from '../../parts/lists/downloads.js';
import type { ExportColumn, Presentation } from '../../parts/records/presentation.js';
import { own } from '../../../lib/named.js';
import type { Part, Value } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import type { ResourceObject } from '../../../management/documents.js';
import { code, state, tags, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

function outcomeOf(record: ResourceObject): Value {
  switch (record.attributes['outcome']) {
    case 'success':
      return state('good', 'Success');
    case 'denied':
      return state('bad', 'Denied');
    default:
      return state('warning', terms.failed);
  }
}
function changes(record: ResourceObject, names: Names): Part {
  const rows = Object.entries(record.attributes['changes'] as Record<string, [unknown, unknown]>).map(([name, [before, after]]) => ({
    cells: [code(name), shownValue(name, before, names), shownValue(name, after, names)],
  }));
  const nothing = ['No attribute changed', 'There are no further details.'] as const;
  return pageTable({ id: 'changes', caption: 'Changes', columns: ['Attribute', 'Before', 'After'], rows, nothing });
}

const kindChoices = async () => [
  { value: 'false', label: 'Changes' },
  { value: 'true', label: terms.security_events },
];

type Party = Readonly<Record<string, unknown>>;

const member = (of: unknown, name: string): string => words(own(of as Party | undefined, name));

/** An entry as a line: its parties have columns of their own. */
const exported: readonly ExportColumn[] = [
  ...['occurred_at', 'action', 'outcome', 'reason'].map((name) => ({ name, text: ({ attributes: a }: ResourceObject) => words(a[name]) })),
  ...['actor_kind', 'actor_id', 'display'].map((name) => ({
    name: name === 'display' ? 'actor' : name,
    text: ({ attributes: a }: ResourceObject) => member(a['actor'], name),
  })),
  ...['target_type', 'target_id', 'display'].map((name) => ({
    name: name === 'display' ? 'target' : name,
    text: ({ attributes: a }: ResourceObject) => member((a['targets'] as Party[] | undefined)?.[0], name),
  })),
  ...['ip_address', 'user_agent', 'request_id', 'changes', 'count'].map((name) => ({
    name,
    text: ({ attributes: a }: ResourceObject) => words(a[name]),
  })),
  { name: 'id', text: ({ id }) => id },
];

const recordParts = (names: Names): Pick<Presentation, 'name' | 'summary' | 'more'> => ({
  name: (record) => activitySentence(entryOfLog(record), names).text,
  summary: (record, view) => {
    const entry = entryOfLog(record);
    return [
      ...adviceRows(activitySentence(entry, names)),
      { label: terms.event, value: code(record.attributes['action']) },
      { label: terms.time, value: time(record.attributes['occurred_at'], view.now) },
      ...partyRows(view, entry, names),
      { label: terms.reason, value: code(entry.reason) },
      ...originRows(view, entry),
      { label: 'Permissions of the actor', value: tags((record.attributes['actor'] as { permissions: string[] }).permissions, 60) },
    ];
  },
  more: async (_view, record) => [changes(record, names)],
});

export const auditLogsPresentation: Presentation = {
  path: 'audit_logs',
  title: terms.audit_log,
  under: 'security_events',
  one: 'entry',
  lead: 'Every change, every attempt without permission, and security events such as sign-ins. Entries can’t be edited. Kept for 400 days; security events for 180 days.',
  empty: { title: terms.nothing_yet, text: 'Changes appear here as people make them.' },
  ...logColumns,
  filters: [
    {
      name: 'security_event',
      label: 'Category',
      choices: kindChoices,
      implied: (value): Record<string, string> => (value === '' ? { of_write: 'false' } : {}),
    },
    { name: 'action', label: terms.event, choices: actionChoices },
    { name: 'actor', label: terms.actor, kind: 'text', lookUp: partiesFor },
    { name: 'target', label: terms.target, kind: 'text', lookUp: partiesFor },
    { name: 'outcome', label: terms.outcome },
    { name: 'since', label: terms.period, kind: 'period', filter: 'occurred_at' },
  ],
  downloads: downloadsOf('audit_logs', 'csv', 'ndjson'),
  exported,
  showsId: false,
  ...recordParts(storedNames),
  named: async ({ req }, record) => recordParts(await namesOf(req.call, [entryOfLog(record)])),
  state: outcomeOf,
};

import { queryOf } from '../../../http/request/form.js';
import { isSecurityEvent, securityEvents } from '../../../lib/security-events.js';
import { readActivity } from '../../../management/activity.js';
import type { AuditLogRow } from '../../../db/tables/audit_logs.js';
import type { Choice, Part } from '../page-parts.js';
import { pageTable } from '../page-tables.js';
import { resourceOf } from '../records/objects.js';
import { recordPath, type TabSpec, type ViewContext } from '../records/presentation.js';
import { nothing, time } from '../values.js';
import { terms } from '../words.js';
import { from, happened, otherParty, partyValue, traceOf } from './columns.js';
import { entryOfLog, type ActivityEntry } from './entry.js';
import { namesOf, type Names } from './names.js';
import { activitySentence } from './sentences.js';

const size = 50;

const kinds: readonly Choice[] = [
  { value: '', label: terms.all },
  { value: 'sign_ins', label: 'Sign-ins' },
  { value: 'refusals', label: 'Refusals' },
  { value: 'changes', label: 'Changes' },
];

function kindOf({ event, action, outcome }: AuditLogRow): string {
  if (outcome !== 'success') return 'refusals';
  const name = event ?? action;
  const known = isSecurityEvent(name) ? securityEvents[name].class : null;
  return known === 'logon' || known === 'authentication' ? 'sign_ins' : 'changes';
}

/** The entries without security events that say what the entry of their operation says already. */
const withoutTwins = (entries: readonly (readonly [id: string, entry: ActivityEntry])[], names: Names) => {
  const sentenceOf = (entry: ActivityEntry) => `${entry.request_id} ${activitySentence(entry, names).text}`;
  const operations = new Set(entries.flatMap(([, entry]) => (entry.event === null ? [sentenceOf(entry)] : [])));
  return entries.filter(([, entry]) => entry.event === null || entry.request_id === null || !operations.has(sentenceOf(entry)));
};

const addressOf = (path: string, query: Readonly<Record<string, string | null>>): string => {
  const members = Object.entries(query).filter((one): one is [string, string] => Boolean(one[1]));
  return members.length === 0 ? path : `${path}?${new URLSearchParams(members).toString()}`;
};

const kindFilter = (path: string, kind: string): Part => ({
  kind: 'filters',
  action: path,
  fields: [{ name: 'kind', label: 'Show', value: kind, choices: kinds, kind: 'select' }],
  hidden: {},
  clear: kind === '' ? null : path,
});

/**
 * Everything that the audit log has of one record, as one list of sentences: what it did and what was done to it; with a filter of kinds and pages, both in
 * the address; of an organization also what was done to what is its own. @param path of the page
 */
export async function timeline(
  view: ViewContext,
  id: string,
  path: string,
  nothingYet: string,
  is_organization = false,
): Promise<readonly Part[]> {
  const { call } = view.req;
  const query = queryOf(view.req);
  const kind = kinds.find(({ value }) => value === query.get('kind'))?.value ?? '';
  const keep = kind === '' ? undefined : (row: AuditLogRow) => kindOf(row) === kind;
  const found = await readActivity(call, resourceOf(call, 'audit_logs'), {
    party: id,
    is_organization,
    keep,
    size,
    after: query.get('after'),
    before: query.get('before'),
  });
  const entries = found.records.map((record) => [record.id, entryOfLog(record)] as const);
  const names = await namesOf(
    call,
    entries.map(([, entry]) => entry),
  );
  const rows = withoutTwins(entries, names).map(([entry_id, entry]) => ({
    path: recordPath('audit_logs', entry_id),
    cells: [
      happened(entry, names, id, true),
      partyValue(otherParty(entry, id), names),
      from(entry),
      entry.request_id === null ? nothing : traceOf(view, entry.request_id),
      time(entry.occurred_at, view.now),
    ],
  }));
  const next = found.next && addressOf(path, { kind, after: found.next });
  const isAll = kind === '' && query.get('after') === undefined;
  const onward = next ? { label: 'Older entries', path: next } : { label: terms.clear_filters, path };
  const noneOfKind = found.cut ? 'None of the latest entries is of this kind.' : 'No entry is of this kind.';
  return [
    kindFilter(path, kind),
    pageTable({
      id: 'activity',
      caption: terms.activity,
      heading: false,
      columns: [terms.event, 'About', 'From', terms.request_id, terms.time],
      rows,
      nothing: isAll ? [terms.nothing_yet, nothingYet] : [terms.nothing_matches, noneOfKind, { ...onward, variant: 'quiet' }],
      pager: { previous: found.previous && addressOf(path, { kind, before: found.previous }), next },
    }),
  ];
}

/** The tab of it on the page of a record. */
export function activityTabOf(collection: string, nothingYet: string): TabSpec {
  const shown: TabSpec['parts'] = (view, { id }) =>
    timeline(view, id, `${recordPath(collection, id)}/activity`, nothingYet, collection === 'organizations');
  return { name: 'activity', label: terms.activity, needs: 'audit_logs', parts: shown };
}

import { isDeepStrictEqual } from 'node:util';
import { listChangesSince, type RecordedChange } from '../../db/tables/audit_logs.js';
import { findConfiguration, type ConfigurationRow, type ManagedRecord } from '../../db/tables/configurations.js';
import { groupedBy } from '../../lib/grouped.js';
import { turns } from '../../lib/turns.js';
import type { Call } from '../call.js';
import { recordName } from './keys.js';
import { isKindName, documentKinds } from './kinds.js';
import { allRecords, readLive, type Live, type LiveRecord } from './live.js';
import { collectionsOf } from './prune.js';
import { listedIn, namesOrganizations } from './listed.js';
import { secretMark, type RecordChange } from './run.js';

export type Author = {
  readonly at: string;
  readonly actor_kind: string;
  readonly actor_id: string | null;
  readonly display: string | null;
  readonly request_id: string | null;
};

/** What became of a record since the document was applied; `changed` is null when the audit log doesn't tell. */
export type Drifted = RecordChange & { readonly changed: Author | null };

export type Drift = { readonly applied: Author | null; readonly changes: readonly Drifted[]; readonly state: string };

/** The most audit log entries that are searched for authors. */
const mostEntries = 5000;

const authorOf = ({ occurred_at, actor_kind, actor_id, actor_display, request_id }: RecordedChange): Author => ({
  at: occurred_at.toISOString(),
  actor_kind,
  actor_id,
  display: actor_display,
  request_id,
});

/** Which of the record's attributes, or its secret, was changed by an entry; an entry about something else answers none. */
const touches = ({ changes, action }: RecordedChange, names: readonly string[]): boolean =>
  names.length === 0 || names.some((name) => Object.hasOwn(changes, name)) || action.endsWith('.deleted');

type Entries = ReadonlyMap<string, readonly RecordedChange[]>;

const entriesOf = (entries: Entries, type: string, id: string): readonly RecordedChange[] => entries.get(`${type} ${id}`) ?? [];

function compared(record: ManagedRecord, live: LiveRecord | undefined, entries: Entries): Drifted | null {
  const { type, id, key } = record;
  if (!isKindName(type)) return null;
  const known = entriesOf(entries, type, id);
  const author = (names: readonly string[]) => {
    const found = known.find((entry) => touches(entry, names));
    return found ? authorOf(found) : null;
  };
  if (!live) return { action: 'delete', kind: type, key, attributes: {}, changed: author([]) };
  const changed = Object.entries(record.attributes).filter(([name, value]) => !isDeepStrictEqual(value, live.attributes[name] ?? null));
  const rotated = documentKinds[type].secrets.filter((name) => known.some(({ changes }) => Object.hasOwn(changes, name)));
  if (changed.length === 0 && rotated.length === 0) return null;
  const attributes = Object.fromEntries([
    ...changed.map(([name, value]): [string, readonly [unknown, unknown]] => [name, [value, live.attributes[name] ?? null]]),
    ...rotated.map((name): [string, readonly [unknown, unknown]] => [name, [secretMark, secretMark]]),
  ]);
  return { action: 'update', kind: type, key, attributes, changed: author(Object.keys(attributes)) };
}

/** Records that were not there when the document was applied and what it didn't have was deleted. */
function added(live: Live, { document, pruned, records }: ConfigurationRow): LiveRecord[] {
  if (!pruned) return [];
  const known = new Set(records.map(({ type, id }) => `${type} ${id}`));
  const collectionOf = collectionsOf(listedIn(document), live);
  const isNew = (one: LiveRecord) => !one.foreign && !known.has(`${one.kind.type} ${one.id}`) && collectionOf(one) !== undefined;
  return allRecords(live).filter(isNew);
}

/** How the environment differs from the document that was last applied, and who made it so. */
export async function driftOf(call: Call): Promise<Drift> {
  const { scope } = call.ctx;
  const row = await findConfiguration(scope);
  const live = await readLive(call, row !== null && namesOrganizations(row.document));
  if (!row) return { applied: null, changes: [], state: live.state };
  const turn = turns();
  const byId = new Map(allRecords(live).map((one): [string, LiveRecord] => [`${one.kind.type} ${one.id}`, one]));
  await turn();
  const others = added(live, row);
  await turn();
  const ids = [...new Set([...row.records, ...others].map(({ id }) => id))];
  const found = await listChangesSince(scope, { since: row.applied_at, ids, without: row.request_id, limit: mostEntries });
  const entries = groupedBy(found, ({ target_type, target_id }) => `${target_type} ${target_id}`);
  const changed: Drifted[] = [];
  for (const record of row.records) {
    await turn();
    const found = compared(record, byId.get(`${record.type} ${record.id}`), entries);
    if (found) changed.push(found);
  }
  for (const { kind, id, key } of others) {
    await turn();
    const [author] = entriesOf(entries, kind.type, id).slice(-1);
    changed.push({ action: 'create', kind: kind.type, key, attributes: {}, changed: author ? authorOf(author) : null });
  }
  const { applied_at, actor_kind, actor_id, actor_display, request_id } = row;
  const applied = { at: applied_at.toISOString(), actor_kind, actor_id, display: actor_display, request_id };
  await turn();
  const byName = groupedBy(changed, ({ kind, key }) => recordName(kind, key));
  const sorted = [...byName.keys()].sort();
  await turn();
  return { applied, changes: sorted.flatMap((name) => byName.get(name) ?? []), state: live.state };
}

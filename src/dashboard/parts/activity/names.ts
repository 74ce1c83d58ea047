import { listNames, type NamedType } from '../../../db/tables/names.js';
import { isUuid } from '../../../lib/random.js';
import type { Call } from '../../../management/call.js';
import { may } from '../records/objects.js';
import type { ActivityEntry, Party } from './entry.js';

const paths = { user: 'users', client: 'clients', connection: 'connections', webhook: 'webhooks' } as const satisfies Record<
  NamedType,
  string
>;

const isNamed = (type: string): type is NamedType => Object.hasOwn(paths, type);

/** What parties are called; null for one without an id. */
export type Names = {
  /** The present name, else that of then, else the id. */
  of(party: Party): string | null;
  /** The page of a party that is there and that the viewer may open. */
  path(party: Party): string | null;
};

/** The names that entries have themselves, without asking for others. */
export const storedNames: Names = { of: ({ display, id }) => display ?? id, path: () => null };

/** Whom a member of an entry's detail names by id: `client` and `client_id` a client; null for nobody. */
export function partyIn(name: string, value: unknown): Party | null {
  const type = name.replace(/_id$/, '');
  return isNamed(type) && typeof value === 'string' ? { type, id: value, display: null } : null;
}

const partiesOf = ({ actor, target, detail }: ActivityEntry): readonly Party[] => [
  actor,
  target,
  ...Object.entries(detail).flatMap(([name, value]) => partyIn(name, value) ?? []),
];

/** The present names of whom a page of entries is about, in one statement: of those kinds alone that the viewer may read. */
export async function namesOf(call: Call, entries: readonly ActivityEntry[]): Promise<Names> {
  const ids: Record<NamedType, Set<string>> = { user: new Set(), client: new Set(), connection: new Set(), webhook: new Set() };
  for (const { type, id } of entries.flatMap(partiesOf)) {
    if (isNamed(type) && id !== null && may(call, paths[type], 'read') && (type === 'client' || isUuid(id))) ids[type].add(id);
  }
  const lists = { user: [...ids.user], client: [...ids.client], connection: [...ids.connection], webhook: [...ids.webhook] };
  const rows = Object.values(lists).some(({ length }) => length > 0) ? await listNames(call.ctx.scope, lists) : [];
  const found = new Map(rows.map(({ type, id, name }) => [`${type} ${id}`, name]));
  return {
    of: ({ type, id, display }) => found.get(`${type} ${id}`) ?? display ?? id,
    path: ({ type, id }) =>
      id !== null && isNamed(type) && found.has(`${type} ${id}`) ? `/dashboard/${paths[type]}/${encodeURIComponent(id)}` : null,
  };
}

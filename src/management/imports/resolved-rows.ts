import { findConnectionsByNames, type ConnectionRow } from '../../db/tables/connections.js';
import { findIdentitiesBySubjects } from '../../db/tables/identities.js';
import { findRolesByNames, type RoleRow } from '../../db/tables/roles.js';
import type { Call } from '../call.js';
import type { ImportRow, RowProblem } from './rows.js';

/** What rows of a batch name, by its name. */
type NamedRecords = {
  readonly roles: ReadonlyMap<string, RoleRow>;
  readonly connections: ReadonlyMap<string, ConnectionRow>;
  /** Accounts at connections that are somebody's already. */
  readonly taken: ReadonlyMap<string, string>;
};

export type ResolvedRow = ImportRow & {
  readonly granted: readonly RoleRow[];
  readonly accounts: readonly { connection: ConnectionRow; subject: string }[];
};

const accountKey = (connection_id: string, subject: string) => `${connection_id} ${subject}`;
export const rowProblem = (code: RowProblem['code'], pointer: string, detail: string): RowProblem => ({ code, pointer, detail });

export async function recordsNamedIn({ ctx: { scope } }: Call, rows: readonly ImportRow[]): Promise<NamedRecords> {
  const roleNames = new Set(rows.flatMap((row) => row.roles ?? []));
  const accounts = rows.flatMap((row) => row.identities);
  const roles = roleNames.size === 0 ? [] : await findRolesByNames(scope, [...roleNames]);
  const connections = accounts.length === 0 ? [] : await findConnectionsByNames(scope, [...new Set(accounts.map((one) => one.connection))]);
  const ids = connections.map(({ id }) => id);
  const taken = accounts.length === 0 ? [] : await findIdentitiesBySubjects(scope, ids, [...new Set(accounts.map((one) => one.subject))]);
  return {
    roles: new Map(roles.map((role) => [role.name, role])),
    connections: new Map(connections.map((one) => [one.name, one])),
    taken: new Map(taken.map((one) => [accountKey(one.connection_id, one.subject), one.user_id])),
  };
}

/** The records that a row names, or what is wrong with the names. `user_id`: whose the accounts may be already. */
export function resolveRow(
  row: ImportRow,
  { roles, connections, taken }: NamedRecords,
  user_id: string | null,
): ResolvedRow | readonly RowProblem[] {
  const problems: RowProblem[] = [];
  const granted = (row.roles ?? []).flatMap((name, at) => {
    const role = roles.get(name);
    if (!role) problems.push(rowProblem('related_not_found', `/roles/${at}`, 'There is no role of this name.'));
    return role ? [role] : [];
  });
  const accounts = row.identities.flatMap(({ connection: name, subject }, at) => {
    const connection = connections.get(name);
    if (!connection) problems.push(rowProblem('related_not_found', `/identities/${at}/connection`, 'There is no connection of this name.'));
    if (!connection) return [];
    const owner = taken.get(accountKey(connection.id, subject));
    if (owner !== undefined && owner !== user_id)
      problems.push(rowProblem('already_exists', `/identities/${at}/subject`, 'This account at the connection is somebody else’s.'));
    return owner === undefined ? [{ connection, subject }] : [];
  });
  return problems.length > 0 ? problems : { ...row, granted, accounts };
}

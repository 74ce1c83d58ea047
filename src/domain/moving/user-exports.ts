import type { Scope } from '../../db/scope.js';
import { newStamps } from '../../db/records.js';
import { listAccountsOfUsers } from '../../db/tables/identities.js';
import { listRoleNamesOfUsers } from '../../db/tables/roles.js';
import { insertUserExport, noteExportTaken, type UserExportRow } from '../../db/tables/user_exports.js';
import { listUsersAfter, type UserRow } from '../../db/tables/users.js';
import type { Actor } from '../actor.js';
import { recordSecurityEvent } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import { noOrigin } from '../origin.js';
import { Refusal } from '../refusal.js';

export type UserExportInput = { readonly include_password_hashes?: boolean };

/** For how long a file can be fetched. */
const availableMs = 900_000;
const pageSize = 500;

export async function createUserExport(tx: Context, { include_password_hashes = false }: UserExportInput): Promise<UserExportRow> {
  const now = tx.clock.now();
  const expires_at = new Date(now.getTime() + availableMs);
  return insertUserExport(tx.scope, { include_password_hashes, expires_at, ...newStamps(now) });
}

/** Notes that everybody's data are taken away. @throws {Refusal} 410 */
export async function beginUserExport(tx: Context, actor: Actor, row: UserExportRow): Promise<void> {
  const now = tx.clock.now();
  if (row.expires_at <= now) throw new Refusal({ status: 410, code: 'export_expired', detail: 'The file was there for 15 minutes.' });
  await noteExportTaken(tx.scope, row.id, now);
  const target = { target_type: 'user_export', target_id: row.id, display: null };
  const detail = { include_password_hashes: row.include_password_hashes };
  await recordSecurityEvent(tx, 'user_export.taken', { actor, target, origin: actor.origin ?? noOrigin, detail });
}

const grouped = <T extends { readonly user_id: string }>(rows: readonly T[]): Map<string, T[]> => {
  const found = new Map<string, T[]>();
  for (const row of rows) found.set(row.user_id, [...(found.get(row.user_id) ?? []), row]);
  return found;
};

/** A user as a row of an import: what is null or as it is by itself is left out. */
function rowOf(user: UserRow, attributes: readonly (keyof UserRow)[], hashes: boolean): Record<string, unknown> {
  const set = attributes.filter((name) => user[name] !== null && user[name] !== false).map((name) => [name, user[name]] as const);
  return {
    ...Object.fromEntries(set),
    ...(user.status === 'blocked' && { status: 'blocked' }),
    ...(hashes && user.password_hash !== null && { password_hash: user.password_hash }),
  };
}

async function pageAfter(scope: Scope, after: string | null) {
  const users = await listUsersAfter(scope, after, pageSize);
  const ids = users.map(({ id }) => id);
  return { users, roles: grouped(await listRoleNamesOfUsers(scope, ids)), accounts: grouped(await listAccountsOfUsers(scope, ids)) };
}

/** The users of the environment, a line each, in pages: a page is read when the one before has been sent. */
export async function* exportedUsers(
  read: <T>(work: (ctx: Context) => Promise<T>) => Promise<T>,
  { include_password_hashes }: UserExportRow,
  attributes: readonly (keyof UserRow)[],
): AsyncGenerator<string> {
  for (let after: string | null = null; ;) {
    const { users, roles, accounts } = await read(({ scope }) => pageAfter(scope, after));
    const lines = users.map((user) => {
      const names = (roles.get(user.id) ?? []).map(({ name }) => name);
      const identities = (accounts.get(user.id) ?? []).map(({ connection, subject }) => ({ connection, subject }));
      const row = rowOf(user, attributes, include_password_hashes);
      return `${JSON.stringify({ ...row, ...(names.length > 0 && { roles: names }), ...(identities.length > 0 && { identities }) })}\n`;
    });
    if (lines.length > 0) yield lines.join('');
    if (users.length < pageSize) return;
    after = users.at(-1)?.id ?? null;
  }
}

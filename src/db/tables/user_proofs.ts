import { run, type Scope } from '../scope.js';
import type { UserRow } from './users.js';

/** The user, if the stored hash is still the proven one and the user active, else null; locks the row against a change until the transaction ends. */
export async function holdPassword(scope: Scope, user_id: string, proven_hash: string): Promise<UserRow | null> {
  const text = `select * from users where environment_id = $1 and id = $2 and password_hash = $3 and status = 'active' for share`;
  const rows = await run<UserRow>(scope, { name: 'users.hold_password', text }, [user_id, proven_hash]);
  return rows[0] ?? null;
}

/** Whether nobody has proven the user's address yet; locks the row against the first proof, which clears the account, until the transaction ends. */
export async function holdUnproven(scope: Scope, user_id: string): Promise<boolean> {
  const text = 'select id from users where environment_id = $1 and id = $2 and not email_verified for share';
  return (await run<{ id: string }>(scope, { name: 'users.hold_unproven', text }, [user_id])).length > 0;
}

/** The work of the dearest imported password hash that the environment still holds; null without any, as mostly. */
export async function findDearestImportedHash(scope: Scope): Promise<number | null> {
  const text = `select max(password_hash_work(password_hash)) as work from users
      where environment_id = $1 and password_hash_work(password_hash) is not null`;
  const [row] = await run<{ work: number | null }>(scope, { name: 'users.find_dearest_imported_hash', short: 'look_up', text }, []);
  return row?.work ?? null;
}

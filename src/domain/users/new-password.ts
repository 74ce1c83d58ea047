import type { UserRow } from '../../db/tables/users.js';
import type { Context } from '../context.js';

/** The columns of a chosen password; `password_looked_up_at`: when it was looked for among leaked ones, null if that wasn't possible. */
export type NewPassword = Pick<UserRow, 'password_looked_up_at'> & { readonly password_hash: string };

/** Whether the environment wants passwords looked up, and there is a list to look in. */
export const looksUpPasswords = ({ environment, crypto }: Pick<Context, 'environment' | 'crypto'>): boolean =>
  environment.breached_passwords === 'refuse' && crypto.breachedPasswords.asks;

/**
 * The hash of a password that somebody chooses, or null for one that is known from a data breach, unless the environment takes those too
 * (specification 4.1.6). The last check, after `passwordProblems`, and the one way to hash a chosen password: what is refused costs no hash. Asks another
 * host: call it outside of any transaction, for somebody who has shown that the password is theirs to set.
 * @throws {OverloadedError}
 */
export async function hashNewPassword(ctx: Context, password: string): Promise<NewPassword | null> {
  const { deadline } = ctx.scope;
  const found = looksUpPasswords(ctx) ? await ctx.crypto.breachedPasswords.check(password, deadline) : 'skipped';
  if (found === 'breached') return null;
  const password_hash = await ctx.crypto.passwords.hash(password, { environment_id: ctx.environment.id, deadline });
  return { password_hash, password_looked_up_at: found === 'clean' ? ctx.clock.now() : null };
}

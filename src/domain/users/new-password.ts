import type { Context } from '../context.js';

/**
 * The hash of a password that somebody chooses, or null for one that is known from a data breach, unless the environment takes those too
 * (specification 4.1.6). The last check, after `passwordProblems`, and the one way to hash a chosen password: what is refused costs no hash. Asks another
 * host: call it outside of any transaction, for somebody who has shown that the password is theirs to set.
 * @throws {OverloadedError}
 */
export async function hashNewPassword(ctx: Context, password: string): Promise<string | null> {
  const { deadline } = ctx.scope;
  if (ctx.environment.breached_passwords === 'refuse' && (await ctx.crypto.breachedPasswords.check(password, deadline)) === 'breached')
    return null;
  return ctx.crypto.passwords.hash(password, { environment_id: ctx.environment.id, deadline });
}

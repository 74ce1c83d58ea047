import { voidPasswordResets } from '../../db/tables/passcodes.js';
import { revokeGrants } from '../../db/tables/revocations.js';
import { findUser, replacePassword, type UserRow } from '../../db/tables/users.js';
import { transaction, type Context } from '../context.js';
import { emitPasswordChanged } from '../events/users.js';
import { checkPassword, type Proving } from './prove-password.js';
import { queueMail } from '../mail/mail.js';
import { hashNewPassword } from '../users/new-password.js';
import { passwordProblems, type PasswordProblem } from '../passwords/passwords.js';
import { recordSecurityEvent, userParty } from '../audit/security-trail.js';
import { endSessions } from '../sessions/sessions.js';
import { endTrust } from '../sessions/trust.js';
import { grantRevocationEnd } from '../tokens/revoke.js';

/** The result of a password change. `wrong`: not the current password, or the account is locked; `no_password`: there is none to change. */
export type ChangeVerdict =
  | { readonly outcome: 'changed'; readonly user: UserRow }
  | { readonly outcome: 'refused'; readonly problems: PasswordProblem[] }
  | { readonly outcome: 'wrong' }
  | { readonly outcome: 'no_password' };

/**
 * Changes the password of somebody who knows the current one: ends all other sessions and everything that was issued to clients
 * (`offline_access` or not: whoever had the old password may have let one in), voids open resets, emits `user.password_changed`, tells the
 * owner by mail. This browser stays signed in, so that its applications get new tokens unasked. Wrong guesses count towards the lockout.
 */
export async function changePassword(
  ctx: Context,
  session: { id: string; user_id: string },
  input: { current_password: string; password: string } & Proving,
): Promise<ChangeVerdict> {
  const user = await findUser(ctx.scope, session.user_id);
  if (!user?.password_hash) return { outcome: 'no_password' };
  const { password_hash: proven } = user;
  if (!(await checkPassword(ctx, user, input.current_password, input))) return { outcome: 'wrong' };
  const problems = passwordProblems(input.password, { ...user, min_length: ctx.environment.password_min_length });
  if (problems.length > 0) return { outcome: 'refused', problems };
  const chosen = await hashNewPassword(ctx, input.password);
  if (chosen === null) return { outcome: 'refused', problems: ['password_breached'] };
  const now = ctx.clock.now();
  const changed = await transaction(ctx, async (tx) => {
    const changes = { ...chosen, password_changed_at: now, failed_login_count: 0, updated_at: now };
    const row = await replacePassword(tx.scope, user.id, proven, changes);
    if (!row) return null;
    await voidPasswordResets(tx.scope, user.id, now);
    const ended = await endSessions(tx, { user_id: user.id, except: session.id }, 'password_changed');
    await endTrust(tx, user.id);
    await revokeGrants(tx.scope, { user_id: user.id }, grantRevocationEnd(tx));
    await emitPasswordChanged(tx, row, { sessions_revoked: ended.length > 0 });
    await recordSecurityEvent(tx, 'password.changed', { ...userParty(row), origin: input.origin });
    const reset_url = `${tx.environment.issuer}/password/forgot`;
    const mail = { template: 'password_changed', to: row.email, locale: row.locale, model: { reset_url } } as const;
    await queueMail(tx, { ...mail, origin: input.origin });
    return row;
  });
  return changed ? { outcome: 'changed', user: changed } : { outcome: 'wrong' };
}

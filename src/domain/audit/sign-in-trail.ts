import { listPermissionNamesOfUser } from '../../db/tables/permissions.js';
import { findUser, type UserRow } from '../../db/tables/users.js';
import type { Context } from '../context.js';
import { queueMail } from '../mail/mail.js';
import type { Origin } from '../origin.js';
import { recordSecurityEvent, userParty } from './security-trail.js';

/** A sign-in that has just been written. */
export type SignedIn = {
  readonly user_id: string;
  /** As this transaction has read it; read here otherwise. */
  readonly user?: UserRow | null;
  readonly session_id: string;
  /** RFC 8176 values. */
  readonly amr: readonly string[];
  /** The session was this person's before, in this browser. */
  readonly renewed: boolean;
  /** When this person last signed in with this browser, as far as the browser can prove it. */
  readonly last_here: Date | null;
  readonly origin: Origin;
};

const newcomerMs = 600_000;

/** Whether the sign-in belongs to, or directly follows, the registration: no mail about a new device is sent. */
function isFirst(user: UserRow, now: Date): boolean {
  return user.login_count <= 1 && now.getTime() - user.created_at.getTime() < newcomerMs;
}

/** Whether the account knows the browser. A new password makes all browsers unknown again, because any of them may have been an attacker's. */
function isKnown(user: UserRow, { renewed, last_here }: SignedIn): boolean {
  if (renewed) return true;
  return last_here !== null && (user.password_changed_at === null || last_here >= user.password_changed_at);
}

/**
 * What a sign-in leaves behind in its own transaction: a row in the audit log, and a mail when the browser is new to this account, unless the
 * environment sends none (`new_device_mail`). New browsers of those who hold Management permissions are an event of their own.
 */
export async function recordSignIn(tx: Context, signedIn: SignedIn): Promise<void> {
  const user = signedIn.user ?? (await findUser(tx.scope, signedIn.user_id));
  if (!user) return;
  const { session_id, amr, origin } = signedIn;
  const new_device = !isKnown(user, signedIn);
  const { actor } = userParty(user);
  const target = { target_type: 'session', target_id: session_id };
  await recordSecurityEvent(tx, 'login.succeeded', { actor, target, origin, detail: { amr, new_device } });
  if (!new_device || isFirst(user, tx.clock.now())) return;
  const permissions = await listPermissionNamesOfUser(tx.scope, user.id, tx.environment.management_audience);
  if (permissions.length > 0) await recordSecurityEvent(tx, 'administrator.new_device', { actor, target, origin });
  if (!tx.environment.new_device_mail) return;
  const model = { account_url: `${tx.environment.issuer}/account` };
  await queueMail(tx, { template: 'new_sign_in', to: user.email, locale: user.locale, model, origin });
}

import { findNewcomerFacts } from '../../db/tables/permissions.js';
import type { UserRow } from '../../db/tables/users.js';
import type { Context } from '../context.js';
import { emit } from '../events/emit.js';
import { queueMail } from '../mail/mail.js';
import type { Origin } from '../origin.js';
import type { SessionProof } from '../proofs/proofs.js';
import { asGuest, isKnownTo, type Device } from '../sessions/known-browsers.js';
import { recordSecurityEvent, userParty } from '../audit/security-trail.js';

/** A sign-in that has just been written. */
export type SignedIn = {
  /** As this transaction has left it. */
  readonly user: UserRow;
  readonly session_id: string;
  /** RFC 8176 values. */
  readonly amr: readonly string[];
  readonly proofs: readonly SessionProof[];
  /** The connection that the person came through, if any. */
  readonly connection_id: string | null;
  /** Whether it is a sign-in of an organization's guest. */
  readonly guest: boolean;
  /** The session was this person's before, in this browser. */
  readonly renewed: boolean;
  /** What the browser's device cookie said before. */
  readonly device: Device | null;
  readonly origin: Origin;
};

const newcomerMs = 600_000;

/** Whether the sign-in belongs to, or directly follows, the registration: no mail about a new device is sent. */
const isFirst = (user: UserRow, now: Date): boolean => user.login_count <= 1 && now.getTime() - user.created_at.getTime() < newcomerMs;

/**
 * What a sign-in leaves behind in its own transaction: a row in the audit log, `login.succeeded`, and a mail when the browser is new to this account, unless the
 * environment sends none (`new_device_mail`). New browsers of those who hold Management permissions are an event of their own.
 */
export async function recordSignIn(tx: Context, signedIn: SignedIn): Promise<void> {
  const { user, session_id, amr, proofs, connection_id, guest, renewed, device, origin } = signedIn;
  const new_device = !renewed && !isKnownTo(tx, device, user) && !(guest && isKnownTo(tx, device, asGuest(user)));
  const { actor } = userParty(user);
  const target = { target_type: 'session', target_id: session_id };
  const methods = [...new Set(proofs.map(({ method }) => method))];
  const detail = { amr, methods, new_device, ...(connection_id !== null && { connection_id }) };
  const { ip_address, user_agent } = origin;
  const who = { user_id: user.id, email: user.email, session_id, ip_address, user_agent };
  // Before the entry, which takes it along.
  await emit(tx, 'login.succeeded', { ...who, amr: [...amr], new_device, signed_in_at: tx.clock.now().toISOString() });
  await recordSecurityEvent(tx, 'login.succeeded', { actor, target, origin, detail });
  if (!new_device || isFirst(user, tx.clock.now())) return;
  const template = 'new_sign_in';
  const { holds_any, has_template } = await findNewcomerFacts(tx.scope, user.id, tx.environment.management_audience, template);
  if (holds_any) await recordSecurityEvent(tx, 'administrator.new_device', { actor, target, origin });
  if (!tx.environment.new_device_mail) return;
  const model = { account_url: `${tx.environment.issuer}/account` };
  await queueMail(tx, { template, to: user.email, locale: user.locale, model, origin, has_template });
}

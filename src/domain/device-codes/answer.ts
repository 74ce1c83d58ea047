import { answerDeviceCode } from '../../db/tables/device_codes.js';
import { findSession, insertSession, type SessionRow } from '../../db/tables/sessions.js';
import { lockUser } from '../../db/tables/users.js';
import { digest } from '../../lib/digest.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import { formatScope } from '../../lib/scope-set.js';
import { noteSecurityEvent, recordSecurityEvent } from '../audit/security-trail.js';
import type { Client } from '../clients/clients.js';
import { transaction, type Context } from '../context.js';
import { giveConsent, isAlwaysAsked } from '../grants/consents.js';
import { queueMail } from '../mail/mail.js';
import { noOrigin, type Origin } from '../origin.js';
import { acrOf } from '../sessions/authentication-context.js';
import type { BrowserSession } from '../sessions/sessions.js';

/** What a person was asked: by which device, of which client, and what for. */
export type DeviceQuestion = { readonly digest: Buffer; readonly client: Client; readonly scopes: readonly string[] };

/** Who answers, in which browser. */
export type Answerer = { readonly session: BrowserSession; readonly origin: Origin };

const userOf = ({ user_id, user_email }: BrowserSession) => ({ actor_kind: 'user', actor_id: user_id, display: user_email }) as const;

/**
 * The device's own session: it begins now and proves what the browser's proves, which is why that is copied, whatever columns it has. The user is held
 * until the end of the transaction, so that a reset or a block, which change the user before they end all sessions, don't miss the new one. Null when
 * the browser's session has ended.
 */
async function startDeviceSession(
  tx: Context,
  browser: BrowserSession,
  device: { readonly id: string; readonly client_id: string; readonly ip_address: string | null; readonly user_agent: string | null },
): Promise<SessionRow | null> {
  const now = tx.clock.now();
  const user = await lockUser(tx.scope, browser.user_id);
  const proof = await findSession(tx.scope, browser.id);
  if (user?.status !== 'active' || proof?.revoked_at !== null) return null;
  return insertSession(tx.scope, {
    ...proof,
    id: device.id,
    // Of no token at all: a device has no cookie.
    token_digest: digest(randomToken('')),
    ip_address: device.ip_address,
    user_agent: device.user_agent,
    device_client_id: device.client_id,
    signed_in_at: now,
    last_activity_at: now,
    expires_at: new Date(now.getTime() + tx.environment.session_lifetime * 1000),
    created_at: now,
    updated_at: now,
    version: 1,
  });
}

/**
 * The person's yes: spends the question by one update, gives the device a session of its own, and tells the person by mail, all or nothing.
 * False when it was answered before or has expired, or the browser's session has ended.
 */
export async function approveDevice(ctx: Context, question: DeviceQuestion, { session, origin }: Answerer): Promise<boolean> {
  const { client, scopes } = question;
  const { user_id } = session;
  return transaction(ctx, async (tx) => {
    const now = tx.clock.now();
    const [session_id, grant_id] = [uuidv7(now.getTime()), uuidv7(now.getTime())];
    const approval = {
      user_id,
      grant_id,
      session_id,
      scope: formatScope(scopes),
      auth_time: session.auth_time_known ? session.authenticated_at : null,
      acr: acrOf(session),
      amr: session.amr,
    };
    const device = await answerDeviceCode(tx.scope, question.digest, approval, now);
    if (!device) return false;
    if (!(await startDeviceSession(tx, session, { id: session_id, ...device }))) throw new SessionEnded();
    const asked = { user_id, client_id: client.id, scopes, resource: device.resource };
    if (!client.first_party || isAlwaysAsked(tx, asked)) await giveConsent(tx, asked, origin);
    const requester = { ...noOrigin, ip_address: device.ip_address, user_agent: device.user_agent };
    await recordSecurityEvent(tx, 'device.approved', {
      actor: userOf(session),
      target: { target_type: 'session', target_id: session_id },
      origin,
      detail: { client_id: client.id, scopes, resource: device.resource, device_ip_address: device.ip_address },
    });
    const model = { account_url: `${tx.environment.issuer}/account`, application: client.name };
    await queueMail(tx, { template: 'new-sign-in', to: session.user_email, model, origin: requester });
    return true;
  }).catch((error: unknown) => {
    if (error instanceof SessionEnded) return false;
    throw error;
  });
}

/** Rolls the answer back: the browser's session ended a moment ago. */
class SessionEnded extends Error {}

/** The person's no. False when it was answered before or has expired. */
export async function denyDevice(ctx: Context, { digest: code, client }: DeviceQuestion, { session, origin }: Answerer): Promise<boolean> {
  const device = await answerDeviceCode(ctx.scope, code, null, ctx.clock.now());
  if (!device) return false;
  noteSecurityEvent(ctx, 'device.denied', {
    actor: userOf(session),
    target: { target_type: 'client', target_id: client.id },
    origin,
    detail: { device_ip_address: device.ip_address },
  });
  return true;
}

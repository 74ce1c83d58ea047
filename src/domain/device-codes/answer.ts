import { answerDeviceCode, type DeviceApproval } from '../../db/tables/device_codes.js';
import { insertSession, type SessionRow } from '../../db/tables/sessions.js';
import type { Detail } from '../../lib/authorization-details.js';
import { digest } from '../../lib/digest.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import { formatScope } from '../../lib/scope-set.js';
import { noteSecurityEvent, recordSecurityEvent } from '../audit/security-trail.js';
import type { ApiResource, Client } from '../clients/clients.js';
import { transaction, type Context } from '../context.js';
import { mailAgentAllowed } from '../grants/agent-mails.js';
import { giveConsent, isAlwaysAsked, withTypes } from '../grants/consents.js';
import { queueMail } from '../mail/mail.js';
import type { Organization } from '../organizations/organizations.js';
import type { Origin } from '../origin.js';
import { contextFor } from '../sessions/authentication-context.js';
import { requirementOf } from '../proofs/sign-in-requirement.js';
import { type BrowserSession, emitSessionCreated, holdSession } from '../sessions/sessions.js';

/** What a person was asked: by which device, of which client, and what for. */
export type DeviceQuestion = {
  readonly digest: Buffer;
  readonly client: Client;
  readonly resource: ApiResource | null;
  /** The organization that the tokens are for; null: for none. */
  readonly organization: Organization | null;
  readonly scopes: readonly string[];
  /** What was allowed beyond scopes (RFC 9396); null or left out: nothing was asked. */
  readonly authorization_details?: readonly Detail[] | null;
  /** What the client asked of the sign-in. */
  readonly acr_values?: readonly string[];
};

/** Who answers, in which browser. */
export type Answerer = { readonly session: BrowserSession; readonly origin: Origin };

export const userOf = ({ user_id, user_email }: BrowserSession) =>
  ({ actor_kind: 'user', actor_id: user_id, display: user_email }) as const;

/** The session of a device, or of a client that asked elsewhere: it begins now and proves what the browser's proves, which is why that is copied, whatever columns it has. */
export async function startDeviceSession(
  tx: Context,
  proof: SessionRow,
  device: Pick<SessionRow, 'id' | 'device_client_id' | 'ip_address' | 'user_agent'>,
): Promise<void> {
  const now = tx.clock.now();
  const session = await insertSession(tx.scope, {
    ...proof,
    ...device,
    // Of no token at all: a device has no cookie.
    token_digest: digest(randomToken('')),
    signed_in_at: now,
    last_activity_at: now,
    expires_at: new Date(now.getTime() + tx.environment.session_lifetime * 1000),
    created_at: now,
    updated_at: now,
    version: 1,
  });
  await emitSessionCreated(tx, session);
}

/** What is stored of a yes; of the sign-in what a code for the same would state. */
export function approvalOf(
  tx: Context,
  session: BrowserSession,
  { client, resource, organization, scopes, authorization_details = null, acr_values = [] }: DeviceQuestion,
): DeviceApproval {
  const now = tx.clock.now().getTime();
  const demanded = requirementOf(client, resource, organization).acr;
  const { acr, amr, auth_time, auth_time_known } = contextFor(session, demanded === null ? acr_values : [...acr_values, demanded]);
  return {
    user_id: session.user_id,
    grant_id: uuidv7(now),
    session_id: uuidv7(now),
    scope: formatScope(scopes),
    authorization_details,
    organization_id: organization?.id ?? null,
    auth_time: auth_time_known ? auth_time : null,
    acr,
    amr,
  };
}

/**
 * The person's yes: spends the question by one update, gives the device a session of its own, and tells the person by mail, all or nothing.
 * False when it was answered before or has expired, or the browser's session has ended.
 */
export async function approveDevice(ctx: Context, question: DeviceQuestion, { session, origin }: Answerer): Promise<boolean> {
  const { client, scopes } = question;
  return transaction(ctx, async (tx) => {
    const proof = await holdSession(tx, session);
    const approval = approvalOf(tx, session, question);
    const device = proof && (await answerDeviceCode(tx.scope, question.digest, approval, tx.clock.now()));
    if (!proof || !device) return false;
    const { ip_address, user_agent } = device;
    const [resource, organization] = [question.resource?.identifier ?? null, question.organization?.name];
    const { user_id, session_id } = approval;
    await startDeviceSession(tx, proof, { id: session_id, device_client_id: client.id, ip_address, user_agent });
    const details = withTypes(question.resource, question.authorization_details);
    const consent = { user_id, client_id: client.id, scopes, resource, details };
    const first = (!client.first_party || isAlwaysAsked(tx, consent)) && (await giveConsent(tx, consent, origin));
    if (first) await mailAgentAllowed(tx, client, session, origin);
    await recordSecurityEvent(tx, 'device.approved', {
      actor: userOf(session),
      target: { target_type: 'session', target_id: session_id },
      origin,
      detail: {
        client_id: client.id,
        scopes,
        resource,
        ...(details.length > 0 && { authorization_details: question.authorization_details }),
        ...(organization !== undefined && { organization }),
        device_ip_address: ip_address,
      },
    });
    const model = { account_url: `${tx.environment.issuer}/account`, application: client.name };
    const mail = { template: 'new_sign_in', to: session.user_email, locale: session.user_locale, model } as const;
    // Where it came from is the device; the language is that of the page on which the person let it in.
    await queueMail(tx, { ...mail, origin: { ip_address, user_agent, ...(origin.language && { language: origin.language }) } });
    return true;
  });
}

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

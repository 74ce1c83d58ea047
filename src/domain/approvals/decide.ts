import { findApprovalOfUser, noteDecision, type AskedApproval } from '../../db/tables/approvals.js';
import { findAuthorization } from '../../db/tables/authorizations.js';
import { answerDeviceCode } from '../../db/tables/device_codes.js';
import { recordSecurityEvent } from '../audit/security-trail.js';
import { transaction, type Context } from '../context.js';
import { approvalOf, startDeviceSession, userOf, type Answerer, type DeviceQuestion } from '../device-codes/answer.js';
import { emit } from '../events/emit.js';
import { mailAgentAllowed } from '../grants/agent-mails.js';
import { holdSession } from '../sessions/sessions.js';

type Decision = { readonly decision: 'approved' | 'refused'; readonly muted: boolean; readonly acr: string | null };

async function record(
  tx: Context,
  { id, client_id, authorization_details }: AskedApproval,
  { session, origin }: Answerer,
  decision: Decision,
): Promise<void> {
  const now = tx.clock.now();
  await noteDecision(tx.scope, id, decision, now);
  const { decision: decided, muted } = decision;
  await emit(tx, 'approval.decided', { id, user_id: session.user_id, client_id, decision: decided, muted, decided_at: now.toISOString() });
  await recordSecurityEvent(tx, 'approval.decided', {
    actor: userOf(session),
    target: { target_type: 'client', target_id: client_id },
    origin,
    detail: { approval_id: id, decision: decided, muted, ...(authorization_details && { authorization_details }) },
  });
}

/** Whether nothing was approved since the proofs were weighed: each approves once (specification 22.2.3). The person is held. */
async function areProofsUnused(tx: Context, { id, approved_at }: AskedApproval, { user_id }: Answerer['session']): Promise<boolean> {
  const now = await findApprovalOfUser(tx.scope, id, user_id);
  return now?.approved_at?.getTime() === approved_at?.getTime();
}

/**
 * The person's yes: spends the question by one update, and gives the client a session of its own, all or nothing.
 * False when it was answered before or has expired, the browser's session has ended, or its proofs have approved something else meanwhile.
 */
export async function approveElsewhere(
  ctx: Context,
  approval: AskedApproval,
  question: DeviceQuestion,
  answerer: Answerer,
): Promise<boolean> {
  const { session, origin } = answerer;
  const { client } = question;
  return transaction(ctx, async (tx) => {
    const proof = await holdSession(tx, session);
    if (tx.environment.approval_confirmation === 'fresh' && !(await areProofsUnused(tx, approval, session))) return false;
    const pair = { user_id: session.user_id, client_id: client.id };
    const isFirst = client.is_agent && (await findAuthorization(tx.scope, pair)) === null;
    const approved = approvalOf(tx, session, question);
    const answered = proof && (await answerDeviceCode(tx.scope, approval.digest, approved, tx.clock.now()));
    if (!proof || !answered) return false;
    const { ip_address, user_agent } = answered;
    await startDeviceSession(tx, proof, { id: approved.session_id, device_client_id: client.id, ip_address, user_agent });
    await record(tx, approval, answerer, { decision: 'approved', muted: false, acr: approved.acr });
    if (isFirst) await mailAgentAllowed(tx, client, session, origin);
    return true;
  });
}

/** The person's no; `muted`: and no more for a day. False when it was answered before or has expired. */
export const refuseElsewhere = async (ctx: Context, approval: AskedApproval, answerer: Answerer, muted: boolean): Promise<boolean> =>
  transaction(ctx, async (tx) => {
    if (!(await answerDeviceCode(tx.scope, approval.digest, null, tx.clock.now()))) return false;
    await record(tx, approval, answerer, { decision: 'refused', muted, acr: null });
    return true;
  });

import { storeIssuedAssertion } from '../../db/tables/issued_assertions.js';
import { outboundTarget, type OutboundTarget } from '../../domain/assertions/outbound.js';
import { logSecurityEvent, noteSecurityEvent, securityEventRow } from '../../domain/audit/security-trail.js';
import type { Client } from '../../domain/clients/clients.js';
import { requireTime, type Context } from '../../domain/context.js';
import { proofRefused, usedBefore, type DpopProof } from '../../domain/dpop/proof.js';
import type { Origin } from '../../domain/origin.js';
import { signerFor } from '../../domain/signing-keys/signing-keys.js';
import { signJwt } from '../../domain/tokens/formats/jwt.js';
import { OAuthError } from '../../errors.js';
import { idJagTokenType, idJagTyp } from '../../lib/identity-assertions.js';
import { named, own } from '../../lib/named.js';
import { uuidv7 } from '../../lib/random.js';
import type { SecurityEventReason } from '../../lib/security-event.js';
import { assertionSubject, type AssertionSubject } from './assertion-subject.js';
import { decideAssertion, noOutboundTarget, type DecidedAssertion } from './decided-assertion.js';
import type { GrantedTokens } from './grant.js';
import { requireSameOrganization } from './same-organization.js';

type Sent = {
  readonly subject_token: string;
  readonly subject_token_type: string;
  readonly actor_token: string | undefined;
  readonly actor_token_type: string | undefined;
  readonly audience: string | undefined;
  readonly resource: string | undefined;
  readonly scope: string | undefined;
  readonly authorization_details: string | undefined;
  readonly organization: string | undefined;
};
type AssertionRequest = { readonly origin: () => Origin; readonly proof: DpopProof | null };

type Assertion = DecidedAssertion & {
  readonly client: Client;
  readonly target: OutboundTarget;
  readonly subject: AssertionSubject;
  readonly proof: DpopProof | null;
};

/** Signs it (draft-ietf-oauth-identity-assertion-authz-grant 3.1). */
async function sign(ctx: Context, { target: { server }, claims, proof }: Assertion): Promise<string> {
  requireTime(ctx);
  const now = ctx.clock.now().getTime();
  const iat = Math.floor(now / 1000);
  return signJwt(ctx, await signerFor(ctx, server.signing_alg), idJagTyp, {
    ...claims,
    jti: uuidv7(now),
    iat,
    exp: iat + server.lifetime,
    cnf: proof === null ? undefined : { jkt: proof.jkt },
  });
}

/** By which kind of rule the trail says that somebody's assertion was refused; others are no matter of the server outside. */
const reasons: Readonly<Record<string, SecurityEventReason>> = named({
  no_outbound_grant: 'assertion_not_granted',
  outbound_grant_for_others: 'assertion_not_granted',
  sign_in_class_not_met: 'assertion_sign_in',
  outbound_scope_not_granted: 'assertion_scope',
  details_not_taken: 'assertion_scope',
  assertion_subject_not_usable: 'assertion_subject',
  not_a_member: 'assertion_subject',
});

/** Leaves a trace of what the server's grants refused. */
function noteRefusal(ctx: Context, client: Client, { server }: OutboundTarget, error: unknown, origin: Origin): void {
  const reason = error instanceof OAuthError && error.rule !== null ? own(reasons, error.rule) : undefined;
  if (reason === undefined) return;
  noteSecurityEvent(ctx, 'assertion.refused', {
    actor: { actor_kind: 'client', actor_id: client.id, display: client.name },
    target: { target_type: 'external_server', target_id: server.id, display: server.name },
    origin,
    reason,
  });
}

/** Leaves the trace, and spends the proof. @throws {OAuthError} */
async function store(
  ctx: Context,
  { client, target, subject, scope, authorization_details, proof }: Assertion,
  origin: Origin,
): Promise<void> {
  const trace = {
    actor: { actor_kind: 'client' as const, actor_id: client.id, display: client.name },
    target: { target_type: 'user', target_id: subject.user_id },
    origin,
    detail: {
      external_server_id: target.server.id,
      audience: target.audience,
      resource: target.resource.identifier,
      scope,
      ...(authorization_details && { authorization_details }),
    },
  };
  const audit = securityEventRow(ctx, 'assertion.issued', trace);
  const stored = await storeIssuedAssertion(ctx.scope, {
    audit,
    user_id: subject.user_id,
    client_id: client.id,
    now: ctx.clock.now(),
    refresh: subject.refresh,
    proof: proof && proof.use,
  });
  if (!stored) throw proofRefused(ctx, usedBefore);
  logSecurityEvent(ctx, 'assertion.issued', trace);
}

/**
 * An Identity Assertion JWT Authorization Grant for the client, by which a server outside gives it a token of a person
 * (draft-ietf-oauth-identity-assertion-authz-grant 4.3). One statement looks up what the client brings, one leaves the trace.
 */
export async function issueAssertion(
  ctx: Context,
  client: Client,
  sent: Sent,
  { origin, proof }: AssertionRequest,
): Promise<GrantedTokens> {
  if (sent.actor_token !== undefined || sent.actor_token_type !== undefined)
    throw OAuthError.invalid_request('actor_token: an identity assertion is of one person alone');
  if (sent.audience === undefined) throw OAuthError.invalid_request('audience is required');
  const target = await outboundTarget(ctx, sent.audience, sent.resource);
  if (!target) throw noOutboundTarget();
  if (target.server.require_proof && proof === null)
    throw proofRefused(ctx, {
      error: 'invalid_dpop_proof',
      reason: 'assertions for this server are bound to a key: a DPoP proof is needed',
    });
  const { subject_token, subject_token_type } = sent;
  const subject = await assertionSubject(ctx, client, { subject_token, subject_token_type, proof, origin });
  await requireSameOrganization(ctx, subject.organization_id, sent.organization);
  const decided = await decideAssertion(ctx, client, target, subject, sent).catch((error: unknown) => {
    noteRefusal(ctx, client, target, error, origin());
    throw error;
  });
  const assertion = { ...decided, client, target, subject, proof };
  const access_token = await sign(ctx, assertion);
  await store(ctx, assertion, origin());
  const { scope, authorization_details = null } = decided;
  const expires_in = target.server.lifetime;
  return { access_token, issued_token_type: idJagTokenType, token_type: 'N_A', expires_in, scope, authorization_details };
}

import { storeIssuedAssertion } from '../../db/tables/issued_assertions.js';
import {
  fittingGrants,
  outboundTarget,
  type ExternalServer,
  type OutboundPolicy,
  type OutboundTarget,
} from '../../domain/assertions/outbound.js';
import { logSecurityEvent, securityEventRow } from '../../domain/audit/security-trail.js';
import { clientOf, type Client } from '../../domain/clients/clients.js';
import { requireTime, type Context } from '../../domain/context.js';
import { proofRefused, usedBefore, type DpopProof } from '../../domain/dpop/proof.js';
import type { Origin } from '../../domain/origin.js';
import { requirementOf, unmetOf } from '../../domain/proofs/sign-in-requirement.js';
import { identityProviderId } from '../../domain/saml/identity-provider.js';
import { nameIdAt, nameIdFormats } from '../../domain/saml/name-id.js';
import { signerFor } from '../../domain/signing-keys/signing-keys.js';
import { signJwt } from '../../domain/tokens/formats/jwt.js';
import { OAuthError } from '../../errors.js';
import { idJagTokenType, idJagTyp } from '../../lib/identity-assertions.js';
import { uuidv7 } from '../../lib/random.js';
import { formatScope, parseScope } from '../../lib/scope-set.js';
import { assertionSubject, type AssertionSubject } from './assertion-subject.js';
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
  readonly organization: string | undefined;
};
type AssertionRequest = { readonly origin: () => Origin; readonly proof: DpopProof | null };

const noTarget = () =>
  OAuthError.invalid_target('audience and resource name no server outside that the client may get assertions for').by('no_outbound_grant');

/** Of the grants that fit those that the sign-in does for, as one: the oldest says what the server calls the client. @throws {OAuthError} */
function policyOf(ctx: Context, subject: AssertionSubject, grants: readonly OutboundPolicy[]): OutboundPolicy {
  const [first] = grants;
  if (!first) throw noTarget();
  const now = ctx.clock.now();
  const met = grants.filter((one) => unmetOf(requirementOf(one), subject.acr, subject.auth_time, now) === null);
  if (!met[0]) {
    const { acr, max_age } = requirementOf(first);
    throw OAuthError.insufficient_user_authentication('the sign-in is too weak or too old for the server outside', { acr, max_age });
  }
  const { external_client_id } = met[0];
  const scopes = met.filter((one) => one.external_client_id === external_client_id).flatMap((one) => one.scopes);
  return { ...met[0], scopes: [...new Set(scopes)] };
}

/** What was asked for, else all, within the grants. @throws {OAuthError} `invalid_scope` */
function scopeOf({ scopes }: OutboundPolicy, scope: string | undefined): string {
  const requested = parseScope(scope ?? '');
  const granted = scopes.filter((one) => requested?.length === 0 || requested?.includes(one));
  if (granted.length === 0)
    throw OAuthError.invalid_scope('nothing of the scope is granted at the server outside').by('not_in_client_grant');
  return formatScope(granted);
}

/** Who the person is to the server: as its client here knows them. @throws {OAuthError} `invalid_grant` */
async function subjectClaims(ctx: Context, { sign_in_client_id }: ExternalServer, { user_id, email }: AssertionSubject) {
  const client = sign_in_client_id === null ? null : await clientOf(ctx, sign_in_client_id);
  if (client?.application_type !== 'saml') return { sub: user_id };
  const nameid = nameIdAt(ctx.environment, client, { id: user_id, verified_email: email });
  if (nameid === null) throw OAuthError.invalid_grant('the address of the person is not verified').by('assertion_subject_not_usable');
  const issuer = identityProviderId(ctx.environment);
  return { sub: nameid, sub_id: { format: 'saml-nameid', issuer, nameid, nameid_format: nameIdFormats[client.saml_name_id] } };
}

/** Where the person is at home, as the server wants it. @throws {OAuthError} `invalid_grant` */
function tenantOf(ctx: Context, { tenant }: ExternalServer, { organization_id }: AssertionSubject): string | undefined {
  if (tenant === 'none') return undefined;
  if (tenant === 'environment') return ctx.environment.id;
  if (organization_id !== null) return organization_id;
  throw OAuthError.invalid_grant('the server outside takes people of an organization, and the sign-in was for none').by('not_a_member');
}

type Assertion = {
  readonly client: Client;
  readonly target: OutboundTarget;
  readonly subject: AssertionSubject;
  readonly external_client_id: string;
  readonly scope: string;
  readonly proof: DpopProof | null;
};

/** Signs it (draft-ietf-oauth-identity-assertion-authz-grant 3.1). What is undefined is left out. */
async function sign(ctx: Context, { target, subject, external_client_id, scope, proof }: Assertion): Promise<string> {
  requireTime(ctx);
  const { server, audience, resource } = target;
  const now = ctx.clock.now().getTime();
  const iat = Math.floor(now / 1000);
  const { email, auth_time, acr, amr } = subject;
  return signJwt(ctx, await signerFor(ctx, server.signing_alg), idJagTyp, {
    iss: ctx.environment.issuer,
    ...(await subjectClaims(ctx, server, subject)),
    aud: audience,
    client_id: external_client_id,
    jti: uuidv7(now),
    iat,
    exp: iat + server.lifetime,
    resource: resource.identifier,
    scope,
    auth_time: auth_time === null ? undefined : Math.floor(auth_time.getTime() / 1000),
    acr,
    amr: amr.length > 0 ? amr : undefined,
    tenant: tenantOf(ctx, server, subject),
    aud_tenant: server.aud_tenant ?? undefined,
    ...(server.include_email && email !== null && { email, email_verified: true }),
    cnf: proof === null ? undefined : { jkt: proof.jkt },
  });
}

/** Leaves the trace, and spends the proof. @throws {OAuthError} */
async function store(ctx: Context, { client, target, subject, scope, proof }: Assertion, origin: Origin): Promise<void> {
  const trace = {
    actor: { actor_kind: 'client' as const, actor_id: client.id, display: client.name },
    target: { target_type: 'user', target_id: subject.user_id },
    origin,
    detail: { external_server_id: target.server.id, audience: target.audience, resource: target.resource.identifier, scope },
  };
  const audit = securityEventRow(ctx, 'assertion.issued', trace);
  const stored = await storeIssuedAssertion(ctx.scope, { audit, refresh: subject.refresh, proof: proof && proof.use });
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
  if (!target) throw noTarget();
  if (target.server.require_proof && proof === null)
    throw proofRefused(ctx, {
      error: 'invalid_dpop_proof',
      reason: 'assertions for this server are bound to a key: a DPoP proof is needed',
    });
  const { subject_token, subject_token_type } = sent;
  const subject = await assertionSubject(ctx, client, { subject_token, subject_token_type, proof, origin });
  await requireSameOrganization(ctx, subject.organization_id, sent.organization);
  const policy = policyOf(ctx, subject, await fittingGrants(ctx, client, target, subject.user_id));
  const scope = scopeOf(policy, sent.scope);
  const external_client_id = policy.external_client_id ?? (client.origin === 'metadata_document' ? client.id : null);
  if (external_client_id === null) throw noTarget();
  const assertion = { client, target, subject, external_client_id, scope, proof };
  const access_token = await sign(ctx, assertion);
  await store(ctx, assertion, origin());
  return { access_token, issued_token_type: idJagTokenType, token_type: 'N_A', expires_in: target.server.lifetime, scope };
}

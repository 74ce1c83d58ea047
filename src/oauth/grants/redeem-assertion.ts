import { findUserClaims } from '../../db/tables/user_claims.js';
import { redeemAssertion, type RedeemedAssertion, type RedemptionProblem } from '../../db/tables/redeemed_assertions.js';
import { assertedContext } from '../../domain/assertions/asserted-sign-in.js';
import { assertedPerson, type AssertedPerson } from '../../domain/assertions/asserted-person.js';
import { readAssertion, type ReadAssertion } from '../../domain/assertions/read-assertion.js';
import { logSecurityEvent, noteSecurityEvent, recordSecurityEvent, securityEventRow } from '../../domain/audit/security-trail.js';
import { accessTokenMappedClaims, drawsOnUser } from '../../domain/claims/claim-mappings.js';
import type { Client } from '../../domain/clients/clients.js';
import { connectionLoginUrl, type Connection } from '../../domain/connections/connections.js';
import { transaction, type Context } from '../../domain/context.js';
import { proofRefused, usedBefore, type DpopProof } from '../../domain/dpop/proof.js';
import { tokenIssuedSubscribers } from '../../domain/events/emit.js';
import type { Origin } from '../../domain/origin.js';
import type { AuthenticationContext } from '../../domain/proofs/classes.js';
import { accessTokenValue, seedAccessToken } from '../../domain/tokens/access-token.js';
import { redeemedAct } from '../../domain/tokens/agent-claims.js';
import { requireOrganizationClaims } from '../../domain/tokens/organization-claims.js';
import { isHeldOnly, shownPermissions } from '../../domain/tokens/target.js';
import { OAuthError } from '../../errors.js';
import { digest } from '../../lib/digest.js';
import type { RefusalRule } from '../../lib/refusal-rules.js';
import type { SecurityEventReason } from '../../lib/security-event.js';
import { uuidv7 } from '../../lib/random.js';
import { assertedTarget, type AssertedTarget, type RequestedTarget } from './asserted-target.js';
import type { GrantedTokens } from './grant.js';

type Bringing = { readonly origin: () => Origin; readonly proof: DpopProof | null; readonly grant_type: string };
type Sent = RequestedTarget & { readonly assertion: string };

const parties = (client: Client, connection: Connection | null, origin: Origin) => ({
  actor: { actor_kind: 'client' as const, actor_id: client.id, display: client.name },
  target: { target_type: 'connection', target_id: connection?.id ?? null, display: connection?.name ?? null },
  origin,
});

/** Issuers' clocks may be a little behind: so long after its end an assertion is still known as spent. */
const slackMs = 120_000;

type Judged = {
  readonly client: Client;
  readonly read: ReadAssertion;
  readonly target: AssertedTarget;
  readonly person: AssertedPerson;
  readonly signIn: AuthenticationContext;
  readonly issued_at: Date;
};

/** Leaves a trace of what was refused. @throws {OAuthError} */
function refuse(
  ctx: Context,
  client: Client,
  connection: Connection | null,
  reason: SecurityEventReason,
  origin: Origin,
  error: OAuthError,
) {
  noteSecurityEvent(ctx, 'assertion.refused', { ...parties(client, connection, origin), reason });
  return error;
}

const invalid = (description: string, rule: RefusalRule = 'assertion_refused') => OAuthError.invalid_grant(description).by(rule);

/** Judges the assertion, what it is for, and whom it is of, in this order. @throws {OAuthError} */
async function judge(ctx: Context, client: Client, sent: Sent, { origin, proof }: Bringing): Promise<Judged> {
  const read = await readAssertion(ctx, { assertion: sent.assertion, client, proof });
  const refused = (reason: SecurityEventReason, error: OAuthError) => refuse(ctx, client, read.connection, reason, origin(), error);
  if ('reason' in read) throw refused(read.because, invalid(read.reason));
  const target = await assertedTarget(ctx, client, read.claims, sent, proof).catch((error: unknown) => {
    throw error instanceof OAuthError ? refused('assertion_scope', error) : error;
  });
  const person = await assertedPerson(ctx, read, { client_id: client.id, origin: origin() });
  if (!person)
    throw refused('assertion_nobody', invalid('nobody here is the person of the assertion, or one who may sign in', 'assertion_nobody').with({
        error_uri: connectionLoginUrl(ctx.environment, read.connection),
      })); // prettier-ignore
  const issued_at = ctx.clock.now();
  const signIn = await assertedContext(ctx, { client, resource: target.resource, read, person });
  if ('unmet' in signIn)
    throw refused('assertion_sign_in', OAuthError.insufficient_user_authentication('the sign-in behind the assertion is too weak or too old', signIn.unmet)); // prettier-ignore
  return { client, read, target, person, signIn, issued_at };
}

const problemTexts: Record<Exclude<RedemptionProblem, 'used proof' | 'no scope'>, readonly [string, RefusalRule]> = {
  ended: ['what the assertion rests on has ended', 'assertion_nobody'],
  replayed: ['the assertion was redeemed before', 'assertion_replayed'],
};

/** @throws {OAuthError} for what was not stored; of a replay there is a trace */
async function refuseUnstored(ctx: Context, { client, read }: Judged, problem: RedemptionProblem, origin: Origin): Promise<never> {
  if (problem === 'used proof') throw proofRefused(ctx, usedBefore);
  if (problem === 'no scope')
    throw OAuthError.invalid_scope('nothing of the scope is left: neither the grant nor the person has any of it');
  if (problem === 'replayed')
    await transaction(ctx, (tx) => recordSecurityEvent(tx, 'assertion.replayed', parties(client, read.connection, origin)));
  throw invalid(...problemTexts[problem]);
}

/** Stores what the token leaves behind, and that the assertion is spent, by one statement. @throws {OAuthError} */
async function store(ctx: Context, judged: Judged, seed: ReturnType<typeof seedAccessToken>, { origin, proof, grant_type }: Bringing) {
  const { client, read, target, person, signIn, issued_at } = judged;
  const { connection, jti } = read;
  const { resource, scopes, authorization_details } = target;
  const trace = {
    ...parties(client, connection, origin()),
    target: { target_type: 'user', target_id: person.user_id, display: person.user.email },
    detail: {
      connection_id: connection.id,
      audience: resource.identifier,
      scope: scopes.join(' '),
      ...(authorization_details && { authorization_details }),
    },
  };
  const stored = await redeemAssertion(ctx.scope, {
    connection_id: connection.id,
    generation: connection.generation,
    identity_id: person.id,
    digest: digest(jti),
    expires_at: new Date(Math.max(read.expires_at.getTime() + slackMs, issued_at.getTime() + resource.access_token_lifetime * 1000)),
    again: connection.assertion_reuse === 'until_expiry',
    grant_id: uuidv7(issued_at.getTime()),
    jti: seed.jti,
    token_digest: resource.token_format === 'opaque' ? seed.digest : null,
    client_id: client.id,
    user_id: person.user_id,
    organization_id: connection.organization_id,
    audience: resource.identifier,
    scopes,
    held_only: isHeldOnly(resource),
    acr: signIn.acr,
    amr: signIn.amr,
    auth_time: signIn.auth_time_known ? signIn.auth_time : null,
    issued_at,
    lifetime: resource.access_token_lifetime,
    // An agent's own alone follows from the client and the API.
    act: read.act && redeemedAct(client, resource, read.act),
    authorization_details,
    jkt: proof && proof.jkt,
    proof: proof && proof.use,
    subscribers: await tokenIssuedSubscribers(ctx),
    event_id: uuidv7(issued_at.getTime()),
    grant_type,
    audit: securityEventRow(ctx, 'assertion.redeemed', trace),
  });
  if (typeof stored === 'string') return refuseUnstored(ctx, judged, stored, origin());
  logSecurityEvent(ctx, 'assertion.redeemed', trace);
  return stored;
}

async function sign(
  ctx: Context,
  judged: Judged,
  seed: ReturnType<typeof seedAccessToken>,
  { grant_id, scope, held }: RedeemedAssertion,
  proof: DpopProof | null,
) {
  const { client, read, target, person, signIn, issued_at } = judged;
  const { resource, askable, authorization_details } = target;
  const { organization_id } = read.connection;
  const permissions = shownPermissions(client, { resource, askable, exchanged: true }, scope, held);
  const mappings = [...client.claim_mappings, ...resource.claim_mappings];
  const user = drawsOnUser(mappings, ['access_token']) ? await findUserClaims(ctx.scope, person.user_id, organization_id) : null;
  return accessTokenValue(ctx, {
    seed,
    format: resource.token_format,
    sub: person.user_id,
    client_id: client.id,
    scope,
    audience: resource.identifier,
    lifetime: resource.access_token_lifetime,
    issued_at,
    grant_id,
    permissions,
    act: redeemedAct(client, resource, read.act),
    authorization_details,
    jkt: proof && proof.jkt,
    organization: await requireOrganizationClaims(ctx, organization_id),
    auth_time: signIn.auth_time_known ? signIn.auth_time : null,
    acr: signIn.acr,
    amr: signIn.amr,
    typ: resource.token_typ,
    algorithm: resource.signing_alg,
    mapped: accessTokenMappedClaims(client, resource, { user, permissions }),
  });
}

/**
 * Gives the client a person's token for an identity assertion (draft-ietf-oauth-identity-assertion-authz-grant 4.4): for the API resource that it names, no
 * longer than the account at the connection signs its person in, and without session and refresh token. One statement finds the person, one stores.
 */
export async function redeem(ctx: Context, client: Client, sent: Sent, bringing: Bringing): Promise<GrantedTokens> {
  const judged = await judge(ctx, client, sent, bringing);
  const seed = seedAccessToken(ctx);
  const redeemed = await store(ctx, judged, seed, bringing);
  const access_token = await sign(ctx, judged, seed, redeemed, bringing.proof);
  const { resource, authorization_details } = judged.target;
  return { access_token, expires_in: resource.access_token_lifetime, scope: redeemed.scope, authorization_details };
}

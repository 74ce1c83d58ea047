import { findUserClaims } from '../../db/tables/user_claims.js';
import type { ClientGrantRow } from '../../db/tables/client_grants.js';
import { issueExchangedToken, type Issued } from '../../db/tables/exchanged_tokens.js';
import { logSecurityEvent, securityEventRow, type SecurityEventDetails } from '../../domain/audit/security-trail.js';
import { exchangeableScopes, namedResource, type ApiResource, type Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { proofRefused, requireBound, usedBefore, type DpopProof } from '../../domain/dpop/proof.js';
import type { Origin } from '../../domain/origin.js';
import { tokenIssuedSubscribers } from '../../domain/events/emit.js';
import { accessTokenValue, seedAccessToken, type TokenSeed } from '../../domain/tokens/access-token.js';
import { accessTokenMappedClaims, drawsOnUser } from '../../domain/claims/claim-mappings.js';
import { requireOrganizationClaims } from '../../domain/tokens/organization-claims.js';
import type { Act } from '../../domain/tokens/agent-claims.js';
import { findExchangeableTokens, type ExchangeableToken } from '../../domain/tokens/exchangeable-token.js';
import { isHeldOnly, shownPermissions } from '../../domain/tokens/target.js';
import { quotedValue } from '../../domain/tokens/unusable-token.js';
import { OAuthError } from '../../errors.js';
import { accessTokenType, tokenExchangeGrantType } from '../../lib/grant-types.js';
import { idJagTokenType } from '../../lib/identity-assertions.js';
import { uuidv7 } from '../../lib/random.js';
import { isSubset, parseScope } from '../../lib/scope-set.js';
import { actClaim } from './act-claim.js';
import { earlierScopes, scopesBefore } from './earlier-scopes.js';
import { handOutToken } from './provider-token.js';
import { issueAssertion } from './issue-assertion.js';
import { exchangedDetails, requireNarrowed } from '../../domain/tokens/authorization-details.js';
import type { Detail } from '../../lib/authorization-details.js';
import { detailsParam, grant, optional, required, type ParamValues } from './grant.js';
import { requireGood, requireSignIn } from './good-token.js';
import { organizationParam, requireSameOrganization } from './same-organization.js';

type Sent = {
  readonly subject_token: string;
  readonly subject_token_type: string;
  readonly actor_token: string | undefined;
  readonly actor_token_type: string | undefined;
  readonly requested_token_type: string | undefined;
};

/** RFC 8693 2.1. @throws {OAuthError} `invalid_request` */
function requireAccessTokens({ subject_token_type, actor_token, actor_token_type, requested_token_type }: Sent): void {
  const problems: [boolean, string][] = [
    [subject_token_type !== accessTokenType, `subject_token_type must be ${accessTokenType}`],
    [actor_token !== undefined && actor_token_type === undefined, 'actor_token_type is required with actor_token'],
    [actor_token === undefined && actor_token_type !== undefined, 'actor_token_type comes with an actor_token only'],
    [actor_token_type !== undefined && actor_token_type !== accessTokenType, `actor_token_type must be ${accessTokenType}`],
    [requested_token_type !== undefined && requested_token_type !== accessTokenType, `requested_token_type must be ${accessTokenType}`],
  ];
  const problem = problems.find(([applies]) => applies)?.[1];
  if (problem !== undefined) throw OAuthError.invalid_request(problem);
}

type Policy = { readonly resource: ApiResource; readonly grant: ClientGrantRow; readonly scopes: readonly string[] };

/** What the client may have of the API resource for people. @throws {OAuthError} `invalid_target`, `unauthorized_client` */
async function policyOf(ctx: Context, client: Client, identifier: string): Promise<Policy> {
  const resource = await namedResource(ctx, identifier);
  const policy = resource && (await exchangeableScopes(ctx, client, resource));
  if (!resource || !policy)
    throw OAuthError.invalid_target(
      `the resource ${quotedValue(identifier)} is unknown, or the client has no grant for it in the name of people`,
    );
  if (policy.grant.token_exchange === 'none')
    throw OAuthError.unauthorized_client('the grant of the client for this resource does not allow token exchange');
  return { resource, ...policy };
}

type Brought = { readonly subject: ExchangeableToken; readonly actor: ExchangeableToken | null };

/** The tokens that the client brings, by one statement. @throws {OAuthError} `invalid_request` */
async function tokensOf(ctx: Context, client: Client, sent: Sent, audiences: readonly string[], proof: DpopProof | null): Promise<Brought> {
  const brought = await findExchangeableTokens(ctx, client, { subject: sent.subject_token, actor: sent.actor_token }, audiences);
  const subject = requireGood('subject_token', brought.subject, proof);
  return { subject, actor: brought.actor && requireGood('actor_token', brought.actor, proof) };
}

/**
 * The scope to be had at most: within the grant, and at an audience that the subject's token is or was for within what it had there, so that no way back widens it.
 * @throws {OAuthError} `invalid_scope`
 */
function scopesOf({ scopes, resource }: Policy, chain: ReadonlyMap<string, string>, scope: string | undefined): readonly string[] {
  const before = chain.get(resource.identifier)?.split(' ');
  const most = scopes.filter((scope) => before === undefined || before.includes(scope));
  const requested = parseScope(scope ?? '');
  if (requested === null || !isSubset(requested, most))
    throw OAuthError.invalid_scope(
      'the scope goes beyond the grant of the client, or beyond what the subject_token has, or goes back to, at the same resource',
    );
  return requested.length > 0 ? requested : most;
}

const params = {
  subject_token: required(16_384), subject_token_type: required(255), resource: optional(4096), scope: optional(16_384),
  actor_token: optional(16_384), actor_token_type: optional(255), requested_token_type: optional(255), audience: optional(4096),
  connection: optional(64), organization: organizationParam, authorization_details: detailsParam,
}; // prettier-ignore

type Exchange = {
  readonly client: Client;
  readonly policy: Policy;
  readonly subject: ExchangeableToken;
  readonly user_id: string;
  readonly act: Act | null;
  readonly earlier_scopes: Readonly<Record<string, string>>;
  readonly scopes: readonly string[];
  readonly authorization_details: readonly Detail[] | null;
  readonly issued_at: Date;
  /** Seconds; never beyond the life of the subject's token. */
  readonly lifetime: number;
  readonly seed: TokenSeed;
  /** Of the key that the token is to be bound to. */
  readonly proof: DpopProof | null;
};

/** Judges the request. @throws {OAuthError} */
async function exchangeOf(ctx: Context, client: Client, sent: ParamValues<typeof params>, proof: DpopProof | null): Promise<Exchange> {
  requireAccessTokens(sent);
  const issued_at = ctx.clock.now();
  if (sent.resource === undefined) throw OAuthError.invalid_request('resource is required');
  const policy = await policyOf(ctx, client, sent.resource);
  requireBound(ctx, policy.resource, proof);
  const { subject_audiences, token_exchange: kind } = policy.grant;
  if (kind === 'impersonation' && sent.actor_token !== undefined)
    throw OAuthError.invalid_request('actor_token: the client impersonates by its grant, so that nobody is named as the actor');
  const { subject, actor } = await tokensOf(ctx, client, sent, subject_audiences, proof);
  const { user_id, expires_at } = subject.token;
  if (user_id === null) throw OAuthError.invalid_request('subject_token: this is the token of a client for itself, not of a person');
  await requireSameOrganization(ctx, subject.token.organization_id, sent.organization);
  const act = actClaim(client, policy, subject, actor);
  const chain = scopesBefore(ctx, subject);
  const scopes = scopesOf(policy, chain, sent.scope);
  const earlier_scopes = earlierScopes(chain, policy.resource);
  const authorization_details = requireNarrowed(
    sent.authorization_details,
    exchangedDetails(client, policy.resource, subject.token, chain),
  );
  requireSignIn(policy.resource, subject, issued_at);
  const left = Math.floor((expires_at.getTime() - issued_at.getTime()) / 1000);
  if (left < 1) throw OAuthError.invalid_request('subject_token: the access token has expired');
  const lifetime = Math.min(policy.resource.access_token_lifetime, left);
  return {
    client,
    policy,
    subject,
    user_id,
    act,
    earlier_scopes,
    scopes,
    authorization_details,
    issued_at,
    lifetime,
    seed: seedAccessToken(ctx),
    proof,
  };
}

/** The trace of an impersonation, which the token itself doesn't tell of; null for delegation. */
function traceOf({ client, policy, subject, user_id, scopes }: Exchange, origin: () => Origin): SecurityEventDetails | null {
  if (policy.grant.token_exchange !== 'impersonation') return null;
  return {
    actor: { actor_kind: 'client', actor_id: client.id, display: client.name },
    target: { target_type: 'user', target_id: user_id },
    origin: origin(),
    detail: { audience: policy.resource.identifier, scope: scopes.join(' '), subject_client: subject.token.client.id },
  };
}

/** Stores what the token leaves behind, with its trace. @throws {OAuthError} `invalid_scope` when nothing of the scope is left */
async function store(ctx: Context, exchange: Exchange, origin: () => Origin): Promise<Issued> {
  const { client, policy, subject, scopes, seed, issued_at, proof, ...rest } = exchange;
  const { resource } = policy;
  const trace = traceOf(exchange, origin);
  const issued = await issueExchangedToken(ctx.scope, {
    ...rest,
    scopes,
    issued_at,
    proof: proof && proof.use,
    jkt: proof && proof.jkt,
    jti: seed.jti,
    digest: resource.token_format === 'opaque' ? seed.digest : null,
    client_id: client.id,
    grant_id: subject.token.grant_id,
    session_id: subject.session_id,
    organization_id: subject.token.organization_id,
    acr: subject.token.acr,
    amr: subject.token.amr,
    auth_time: subject.token.auth_time,
    audience: resource.identifier,
    held_only: isHeldOnly(resource),
    event_id: uuidv7(issued_at.getTime()),
    subscribers: await tokenIssuedSubscribers(ctx),
    grant_type: tokenExchangeGrantType,
    audit: trace && securityEventRow(ctx, 'token.impersonated', trace),
  });
  if (issued === 'used proof') throw proofRefused(ctx, usedBefore);
  if (issued === 'blocked') throw OAuthError.invalid_grant('the person of the subject_token has blocked the client').by('client_blocked');
  if (!issued) throw OAuthError.invalid_scope('nothing of the scope is left: neither the grant nor the person has any of it');
  if (trace) logSecurityEvent(ctx, 'token.impersonated', trace);
  return issued;
}

/** The value to hand out. */
async function sign(ctx: Context, exchange: Exchange, { scope, held }: Issued): Promise<string> {
  const { client, policy, subject, user_id, seed, lifetime, issued_at, act, earlier_scopes, authorization_details, proof } = exchange;
  const { resource, scopes: askable } = policy;
  const { token, session_id } = subject;
  const { auth_time, acr, amr } = token;
  const permissions = shownPermissions(client, { resource, askable, exchanged: true }, scope, held);
  const mappings = [...client.claim_mappings, ...resource.claim_mappings];
  const user = drawsOnUser(mappings, ['access_token']) ? await findUserClaims(ctx.scope, user_id, token.organization_id) : null;
  return accessTokenValue(ctx, {
    seed,
    format: resource.token_format,
    sub: token.sub,
    client_id: client.id,
    scope,
    audience: resource.identifier,
    lifetime,
    issued_at,
    permissions,
    act,
    earlier_scopes,
    authorization_details,
    jkt: proof && proof.jkt,
    organization: await requireOrganizationClaims(ctx, token.organization_id),
    ...(token.grant_id === null ? {} : { grant_id: token.grant_id }),
    ...(session_id === null ? {} : { session_id }),
    auth_time,
    acr,
    amr,
    typ: resource.token_typ,
    algorithm: resource.signing_alg,
    mapped: accessTokenMappedClaims(client, resource, { user, permissions }),
  });
}

/**
 * RFC 8693: a service that was called with a person's access token gets one for another API resource, in the person's name. What it gets hangs on the
 * grant, session and user of what was brought and never lives longer. One statement looks that up, with the actor's token if there is one, one stores.
 */
export const token_exchange = grant({
  public_clients: false,
  spends_proof: true,
  params,
  async handle(ctx, client, sent, origin, proof) {
    if (sent.connection !== undefined) return handOutToken(ctx, client, { ...sent, connection: sent.connection }, { origin, proof });
    if (sent.requested_token_type === idJagTokenType) return issueAssertion(ctx, client, sent, { origin, proof });
    const exchange = await exchangeOf(ctx, client, sent, proof);
    const issued = await store(ctx, exchange, origin);
    const access_token = await sign(ctx, exchange, issued);
    const { lifetime: expires_in, authorization_details } = exchange;
    return { access_token, issued_token_type: accessTokenType, expires_in, scope: issued.scope, authorization_details };
  },
});

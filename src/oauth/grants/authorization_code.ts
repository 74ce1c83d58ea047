import { tokenIssuedSubscribers } from '../../domain/events/emit.js';
import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { proofRefused, requireBound, usedBefore, type DpopProof } from '../../domain/dpop/proof.js';
import type { Origin } from '../../domain/origin.js';
import { seedAccessToken } from '../../domain/tokens/access-token.js';
import { saysOfUser } from '../../domain/tokens/id-token.js';
import { sessionBounds } from '../../domain/sessions/sessions.js';
import { endGrant, endReusedGrant } from '../../domain/tokens/revoke.js';
import { findDetailsOfCode } from '../../db/tables/issued_codes.js';
import { findGrantOfCode, redeemAuthorizationCode, type CodeProblem } from '../../db/tables/authorization_codes.js';
import { findOrganization } from '../../domain/organizations/organizations.js';
import { OAuthError } from '../../errors.js';
import { digest } from '../../lib/digest.js';
import { codeChallengeOf, isCodeVerifier } from '../../lib/pkce.js';
import type { RefusalRule } from '../../lib/refusal-rules.js';
import { uuidv7 } from '../../lib/random.js';
import { detailsOf, narrowedDetails } from '../../domain/tokens/authorization-details.js';
import { detailsParam, grant, optional, required } from './grant.js';
import { organizationParam } from './same-organization.js';
import { mintRefreshToken } from '../../domain/tokens/refresh-token.js';
import { signForPerson } from '../../domain/tokens/person-tokens.js';
import { notLetIn, registeredName, effectiveScope, effectiveTarget, droppedScopes } from '../../domain/tokens/target.js';

/** Error code, description and rule for each reason. The code is spent in any case: a second, correct request fails (RFC 6819 4.4.1.3). */
const problems: Record<
  CodeProblem,
  readonly [code: 'invalid_grant' | 'invalid_target' | 'invalid_authorization_details', description: string, rule: RefusalRule]
> = {
  client: ['invalid_grant', 'the code was issued to another client', 'of_another_client'],
  expired: ['invalid_grant', 'the code has expired', 'code_expired'],
  redirect_uri: ['invalid_grant', 'redirect_uri differs from the one of the authorization request', 'redirect_uri_changed'],
  pkce: ['invalid_grant', 'code_verifier does not fit the code_challenge', 'pkce_failed'],
  dpop: ['invalid_grant', 'the code is bound to another key than the one of the DPoP proof', 'proof_failed'],
  resource: ['invalid_target', 'the resource was not part of the authorization request', 'beyond_authorization'],
  user: ['invalid_grant', 'the user may no longer sign in', 'user_blocked'],
  session: ['invalid_grant', 'the session has ended', 'session_ended'],
  details: ['invalid_authorization_details', 'authorization_details are malformed, or go beyond what was allowed', 'beyond_authorization'],
  other_organization: ['invalid_target', 'organization is not the one of the authorization request', 'beyond_authorization'],
  organization: ['invalid_grant', 'the user is no longer an active member of the organization', 'not_a_member'],
  revoked: ['invalid_grant', 'the permission was withdrawn', 'grant_ended'],
};

/** The refusal of a code that was presented for the first time and yields no tokens. */
export function authorizationCodeRefusal(problem: CodeProblem, redirect_uri?: string): OAuthError {
  const [error, description, rule] = problems[problem];
  return OAuthError[error](description).by(rule, problem === 'redirect_uri' ? { redirect_uri } : {});
}

/** When a refresh token of this client ends if it isn't used (`refresh_expires_at`), and when its whole grant ends at the latest. */
export function refreshTokenEnds(ctx: Context, client: Client, now: Date): { refresh_expires_at: Date; grant_expires_at: Date } {
  const absolute = (client.refresh_token_lifetime ?? ctx.environment.refresh_token_lifetime) * 1000;
  const idle = Math.min(ctx.environment.refresh_token_idle_lifetime * 1000, absolute);
  return { refresh_expires_at: new Date(now.getTime() + idle), grant_expires_at: new Date(now.getTime() + absolute) };
}

/** What binds tokens to the key of a proof: access tokens, and refresh tokens of public clients, which nothing else binds to them (RFC 9449 5). */
export const boundTo = (client: Client, proof: DpopProof | null) => ({
  proof: proof && proof.use,
  jkt: proof && proof.jkt,
  refresh_jkt: proof && client.token_endpoint_auth_method === 'none' ? proof.jkt : null,
});

/** The challenge to compare with the code's (RFC 7636 4.6); null without a verifier. A malformed verifier gives `-`, which no challenge equals. */
const presentedChallenge = (verifier: string | undefined): string | null =>
  verifier === undefined ? null : isCodeVerifier(verifier) ? codeChallengeOf(verifier) : '-';

/** Refuses a code that is unknown or was used before; in the latter case all that it gave is revoked (RFC 6749 4.1.2, 10.5). @throws {OAuthError} */
async function refuseSpentCode(ctx: Context, client: Client, code: string, origin: Origin): Promise<never> {
  const issued = await findGrantOfCode(ctx.scope, digest(code));
  if (issued === null) throw OAuthError.invalid_grant('the code is unknown').by('code_unknown');
  await endReusedGrant(ctx, 'authorization_code.reused', { client, ...issued, origin });
  throw OAuthError.invalid_grant('the code was used before').by('code_reused');
}

/** RFC 6749 4.1.3 with PKCE (RFC 7636 4.6): one statement spends the code and stores what it gives. */
export const authorization_code = grant({
  public_clients: true,
  spends_proof: true,
  params: {
    code: required(4096),
    redirect_uri: required(4096),
    code_verifier: optional(4096),
    resource: optional(4096),
    organization: organizationParam,
    authorization_details: detailsParam,
  },
  async handle(ctx, client, { code, redirect_uri, code_verifier, resource, organization, authorization_details: asked }, origin, proof) {
    const now = ctx.clock.now();
    const seed = seedAccessToken(ctx);
    const refresh = client.grant_types.includes('refresh_token') ? mintRefreshToken(ctx) : null;
    const redeemed = await redeemAuthorizationCode(ctx.scope, {
      digest: digest(code),
      client_id: client.id,
      redirect_uri,
      code_challenge: presentedChallenge(code_verifier),
      resource: resource === undefined ? null : await registeredName(ctx, resource),
      organization: organization === undefined ? null : ((await findOrganization(ctx, organization))?.id ?? 'unknown'),
      details: asked === undefined ? null : (narrowedDetails(asked, await findDetailsOfCode(ctx.scope, digest(code))) ?? 'beyond'),
      issuer: ctx.environment.issuer,
      session_bounds: sessionBounds(ctx),
      jti: seed.jti,
      access_token_digest: seed.digest,
      refresh,
      ends: refreshTokenEnds(ctx, client, now),
      with_user: saysOfUser(client),
      event_id: uuidv7(now.getTime()),
      subscribers: await tokenIssuedSubscribers(ctx),
      bound: boundTo(client, proof),
    });
    if (redeemed === 'used proof') throw proofRefused(ctx, usedBefore);
    if (redeemed === null) return refuseSpentCode(ctx, client, code, origin());
    if (redeemed.problem !== null) throw authorizationCodeRefusal(redeemed.problem, redirect_uri);
    const target = redeemed.resource === null ? null : await effectiveTarget(ctx, client, redeemed.resource, redeemed.grant_id);
    if (redeemed.resource !== null && !target) {
      await endGrant(ctx, redeemed.grant_id);
      throw notLetIn();
    }
    if (target && !proof && target.resource.dpop_bound_access_tokens) await endGrant(ctx, redeemed.grant_id);
    requireBound(ctx, target && target.resource, proof);
    const scope = target ? effectiveScope(target, redeemed.scope, redeemed.permissions) : redeemed.scope;
    const dropped = target ? droppedScopes(target, { granted: redeemed.scope, scope, held: redeemed.permissions }) : undefined;
    const allowed = asked === undefined ? redeemed.authorization_details : narrowedDetails(asked, redeemed.authorization_details);
    const authorization_details = detailsOf(client, target, { authorization_details: allowed });
    const { access_token, id_token } = await signForPerson(ctx, redeemed, {
      client,
      target,
      seed,
      format: redeemed.access_token_format,
      lifetime: redeemed.access_token_lifetime,
      scope,
      issued_at: now,
      nonce: redeemed.nonce,
      jkt: proof && proof.jkt,
      authorization_details,
    });
    return {
      access_token,
      expires_in: redeemed.access_token_lifetime,
      scope,
      authorization_details,
      refresh_token: refresh && refresh.token,
      id_token,
      dropped,
    };
  },
});

import type { Client } from '../../domain/clients/clients.js';
import { isFapi2 } from '../../domain/clients/profile.js';
import type { Context } from '../../domain/context.js';
import { proofRefused, requireBound, usedBefore, type DpopProof } from '../../domain/dpop/proof.js';
import type { Origin } from '../../domain/origin.js';
import { tokenIssuedSubscribers } from '../../domain/events/emit.js';
import { sessionBounds } from '../../domain/sessions/sessions.js';
import { seedAccessToken } from '../../domain/tokens/access-token.js';
import { factorsRequired } from '../../domain/sign-ins/session-step.js';
import { saysOfUser } from '../../domain/tokens/id-token.js';
import { endReusedGrant } from '../../domain/tokens/revoke.js';
import type { RefreshTokenProblem, RefreshTokenState } from '../../db/tables/refresh_tokens.js';
import { retryMs, useRefreshToken, type RefreshTokenOfRow } from '../../db/tables/refreshes.js';
import { OAuthError } from '../../errors.js';
import { uuidv7 } from '../../lib/random.js';
import type { RefusalRule } from '../../lib/refusal-rules.js';
import { formatScope, isSubset, parseScope } from '../../lib/scope-set.js';
import { boundTo, refreshTokenEnds } from './authorization_code.js';
import { requireSignInMet } from './refresh-requirement.js';
import { detailsOf, requireNarrowed } from '../../domain/tokens/authorization-details.js';
import { detailsParam, grant, optional, required } from './grant.js';
import { organizationParam, requireSameOrganization } from './same-organization.js';
import {
  findPresented,
  rowOfSuccessor,
  successorOf,
  successorsOf,
  type MintedRefreshToken,
  type PresentedRefreshToken,
} from '../../domain/tokens/refresh-token.js';
import { isOfRecord } from '../../domain/tokens/of-record.js';
import { signForPerson } from '../../domain/tokens/person-tokens.js';
import { kindOfToken, notLetIn, registeredName, effectiveScope, effectiveTarget, droppedScopes } from '../../domain/tokens/target.js';

/** A confidential client's token is rotated, or is given a longer life, once this share of its life is over. */
const rotationShare = 0.7;

const problems: Record<RefreshTokenProblem, readonly [description: string, rule: RefusalRule]> = {
  revoked: ['the refresh token was revoked', 'refresh_token_not_usable'],
  expired: ['the refresh token has expired', 'refresh_token_not_usable'],
  user: ['the user may no longer sign in', 'user_blocked'],
  session: ['the session has ended', 'session_ended'],
  organization: ['the user is no longer an active member of the organization', 'not_a_member'],
};

function problemRefusal(problem: RefreshTokenProblem): OAuthError {
  const [description, rule] = problems[problem];
  return OAuthError.invalid_grant(description).by(rule);
}

/** A refresh token that is brought; `with_user`: whether its person has to be known. */
type Presented = { readonly presented: string; readonly proof: DpopProof | null; readonly with_user?: boolean; origin(): Origin };

/**
 * The refresh token that was presented. One of another client is refused and left as it is (RFC 6749 6); one that was rotated before is a
 * replay, and ends its grant (RFC 9700 4.14.2): of one that is bound to a key only whoever holds that can do so (RFC 9449 5).
 * @throws {OAuthError} `invalid_grant`
 */
export async function requireUsable(
  ctx: Context,
  client: Client,
  { presented, proof, origin, with_user = saysOfUser(client) }: Presented,
): Promise<PresentedRefreshToken> {
  const token = await findPresented(ctx, presented, sessionBounds(ctx), { with_user, factors: factorsRequired(ctx) });
  if (!token) throw OAuthError.invalid_grant('the refresh token is unknown, expired or revoked').by('refresh_token_not_usable');
  if (token.client_id !== client.id)
    throw OAuthError.invalid_grant('the refresh token was issued to another client').by('of_another_client');
  if (token.jkt !== null && token.jkt !== proof?.jkt)
    throw OAuthError.invalid_grant('the refresh token is bound to a key: it takes its DPoP proof').by('proof_failed');
  if (token.problem !== null) throw problemRefusal(token.problem);
  if (!isOfRecord(client, token.issued_at.getTime())) throw problemRefusal('revoked');
  if (token.replaced_at !== null && ctx.clock.now().getTime() - token.replaced_at.getTime() > retryMs) {
    const { grant_id, user_id, session_id } = token;
    await endReusedGrant(ctx, 'refresh_token.reused', { client, grant_id, user_id, session_id, origin: origin() });
    throw OAuthError.invalid_grant('the refresh token was used before; all tokens of this sign-in are revoked').by('refresh_token_reused');
  }
  return token;
}

export function isOld(token: RefreshTokenState, now: Date): boolean {
  const life = token.expires_at.getTime() - token.issued_at.getTime();
  return now.getTime() - token.issued_at.getTime() > life * rotationShare;
}

/**
 * Whether a token that wasn't rotated before is now. One that the client's key and its proof of possession bind to it, as FAPI 2.0 has both, stays the same:
 * a stolen one is of no use, and a rotation whose answer is lost locks people out (RFC 9700 2.2.2, FAPI 2.0 Security Profile 5.3.2.1).
 */
const mustRotate = (client: Client, token: RefreshTokenState, now: Date): boolean =>
  !isFapi2(client) && (client.token_endpoint_auth_method === 'none' || isOld(token, now));

/** What using the token does to its row: it is rotated, is good for as long as a successor would be, or stays as it is. */
function succession(ctx: Context, client: Client, token: PresentedRefreshToken, presented: string) {
  const now = ctx.clock.now();
  const isNewest = token.replaced_at === null;
  const rotates = isNewest && mustRotate(client, token, now);
  const id = rowOfSuccessor(token);
  const known_successors = isNewest ? [] : successorsOf(ctx, token, presented);
  return {
    row: id === null ? { digest: token.digest, known_successors } : { id, generation: token.presented_generation },
    successor: rotates ? successorOf(ctx, token, presented) : null,
    next_expires_at: rotates || (isNewest && isOld(token, now)) ? refreshTokenEnds(ctx, client, now).refresh_expires_at : null,
  };
}

/** The refresh token that the client has from now on: of what may follow the one that was stored, with whichever key it was made. */
function answered(
  ctx: Context,
  token: PresentedRefreshToken,
  presented: string,
  successor: MintedRefreshToken | null,
  stored: RefreshTokenOfRow | null,
): string {
  if (token.replaced_at === null && !successor) return presented;
  if (successor && stored?.digest.equals(successor.digest)) return successor.token;
  const all = successorsOf(ctx, token, presented);
  return (all.find(({ id, digest }) => stored?.digest.equals(digest) || (id !== null && id === stored?.id)) ?? all[0]).token;
}

/** The scope of the new access token: what was granted, or less (RFC 6749 6). */
function scopeOf(token: RefreshTokenState, scope: string | undefined): string {
  const requested = parseScope(scope ?? '');
  if (requested === null || !isSubset(requested, token.scope.split(' ')))
    throw OAuthError.invalid_scope('the scope goes beyond what was granted').by('beyond_authorization');
  return requested.length === 0 ? token.scope : formatScope(requested);
}

/** RFC 6749 6 with rotation and reuse detection (RFC 9700 4.14.2): one statement reads, one writes. */
export const refresh_token = grant({
  public_clients: true,
  spends_proof: true,
  params: {
    refresh_token: required(4096),
    scope: optional(16_384),
    resource: optional(4096),
    organization: organizationParam,
    authorization_details: detailsParam,
  },
  async handle(ctx, client, params, origin, proof) {
    const presented = params.refresh_token;
    const now = ctx.clock.now();
    const token = await requireUsable(ctx, client, { presented, proof, origin });
    if (params.resource !== undefined && (await registeredName(ctx, params.resource)) !== token.resource)
      throw OAuthError.invalid_target('the resource was not part of the authorization request').by('beyond_authorization');
    await requireSameOrganization(ctx, token.organization_id, params.organization);
    const target = token.resource === null ? null : await effectiveTarget(ctx, client, token.resource, token.grant_id);
    if (token.resource !== null && !target) throw notLetIn();
    requireBound(ctx, target && target.resource, proof);
    await requireSignInMet(ctx, client, token, target);
    const granted = scopeOf(token, params.scope);
    const scope = target ? effectiveScope(target, granted, token.permissions) : granted;
    const dropped = target ? droppedScopes(target, { granted, scope, held: token.permissions }) : undefined;

    const authorization_details = requireNarrowed(params.authorization_details, detailsOf(client, target, token));
    const seed = seedAccessToken(ctx);
    const { format, lifetime, audience } = kindOfToken(ctx, client, target && target.resource);
    const use = succession(ctx, client, token, presented);
    const used = await useRefreshToken(ctx.scope, {
      use,
      now,
      jti: seed.jti,
      access_token_format: format,
      access_token_digest: seed.digest,
      access_token_lifetime: lifetime,
      scope,
      audience,
      authorization_details,
      event_id: uuidv7(now.getTime()),
      subscribers: await tokenIssuedSubscribers(ctx),
      bound: boundTo(client, proof),
    });
    if (used === 'used proof') throw proofRefused(ctx, usedBefore);
    if (!used) throw OAuthError.invalid_grant('the refresh token was revoked').by('refresh_token_not_usable');

    const { access_token, id_token } = await signForPerson(ctx, token, {
      client,
      target,
      seed,
      format,
      lifetime,
      scope,
      issued_at: now,
      nonce: null,
      jkt: proof && proof.jkt,
      authorization_details,
    });
    const refresh_token = answered(ctx, token, presented, use.successor, used.stored);
    return { access_token, expires_in: lifetime, scope, authorization_details, refresh_token, id_token, dropped };
  },
});

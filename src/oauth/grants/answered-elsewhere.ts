import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { proofRefused, requireBound, usedBefore, type DpopProof } from '../../domain/dpop/proof.js';
import { tokenIssuedSubscribers } from '../../domain/events/emit.js';
import { sessionBounds } from '../../domain/sessions/sessions.js';
import { seedAccessToken } from '../../domain/tokens/access-token.js';
import { effectiveDetails, requireNarrowed } from '../../domain/tokens/authorization-details.js';
import { saysOfUser } from '../../domain/tokens/id-token.js';
import { mintRefreshToken } from '../../domain/tokens/refresh-token.js';
import { signForPerson } from '../../domain/tokens/person-tokens.js';
import { droppedScopes, kindOfToken, notLetIn, registeredName, effectiveScope, effectiveTarget } from '../../domain/tokens/target.js';
import { pollDeviceCode, type PolledDeviceCode } from '../../db/tables/device_codes.js';
import { redeemDeviceCode, type DeviceCodeProblem } from '../../db/tables/device_redemptions.js';
import { OAuthError } from '../../errors.js';
import { digest } from '../../lib/digest.js';
import { cibaGrantType, deviceCodeGrantType } from '../../lib/grant-types.js';
import type { RefusalRule } from '../../lib/refusal-rules.js';
import { uuidv7 } from '../../lib/random.js';
import { boundTo, refreshTokenEnds } from './authorization_code.js';
import type { GrantedTokens } from './grant.js';
import { requireSameOrganization } from './same-organization.js';

const problems: Record<DeviceCodeProblem, readonly [description: string, rule: RefusalRule]> = {
  user: ['the user may no longer sign in', 'user_blocked'],
  session: ['the session of the client has ended', 'session_ended'],
  organization: ['the user is no longer an active member of the organization', 'not_a_member'],
  revoked: ['the permission was withdrawn', 'grant_ended'],
};

function problemRefusal(problem: DeviceCodeProblem): OAuthError {
  const [description, rule] = problems[problem];
  return OAuthError.invalid_grant(description).by(rule);
}

const wait = (error: 'authorization_pending' | 'slow_down' | 'expired_token' | 'access_denied', description: string) =>
  new OAuthError(400, error, description);

/** What waits for a person's answer, as refusals call it. */
type Waiting = 'device_code' | 'auth_req_id';

/** Refuses whatever isn't a yes that nobody has used (RFC 8628 3.5, CIBA Core 1.0 11). @throws {OAuthError} */
function requireApproved(code: PolledDeviceCode | null, kind: Waiting, client: Client, now: Date): asserts code is PolledDeviceCode {
  if (code === null || (code.approval_id !== null) !== (kind === 'auth_req_id'))
    throw OAuthError.invalid_grant(`the ${kind} is unknown`).by('code_unknown');
  if (code.client_id !== client.id) throw OAuthError.invalid_grant(`the ${kind} was issued to another client`).by('of_another_client');
  if (code.used_at !== null) throw OAuthError.invalid_grant(`the ${kind} was used before`).by('code_reused');
  if (code.expires_at <= now) throw wait('expired_token', `the ${kind} has expired`);
  if (code.approved) return;
  if (code.answered_at !== null) throw wait('access_denied', 'the person did not allow it');
  if (code.too_soon) throw wait('slow_down', 'the interval between two requests is five seconds longer from now on');
  throw wait('authorization_pending', 'the person has not answered yet');
}

/** What kind of access token the code gives; `resource` (RFC 8707 2.2) may repeat what was asked for. @throws {OAuthError} `invalid_target` */
async function kindOf(ctx: Context, client: Client, code: PolledDeviceCode, resource: string | undefined) {
  if (resource !== undefined && (await registeredName(ctx, resource)) !== code.resource)
    throw OAuthError.invalid_target('the resource was not part of the request that the person answered').by('beyond_authorization');
  const target = code.resource === null ? null : await effectiveTarget(ctx, client, code.resource);
  if (code.resource !== null && !target) throw notLetIn();
  return { target, ...kindOfToken(ctx, client, target && target.resource) };
}

/** What comes with a question whether the person has answered. */
export type AnsweredParams = {
  readonly presented: string;
  readonly resource: string | undefined;
  readonly organization: string | undefined;
  readonly authorization_details: string | undefined;
};

/** The tokens that a person's yes elsewhere gives. One statement, and once, with the tokens, a second one that spends the code. @throws {OAuthError} */
export async function tokensOfAnswer(
  ctx: Context,
  client: Client,
  kind: Waiting,
  params: AnsweredParams,
  proof: DpopProof | null,
): Promise<GrantedTokens> {
  const now = ctx.clock.now();
  const presented = digest(params.presented);
  const { jkt, refresh_jkt, proof: use } = boundTo(client, proof);
  const code = await pollDeviceCode(ctx.scope, { digest: presented, client_id: client.id, now, proof: use });
  if (code === 'used proof') throw proofRefused(ctx, usedBefore);
  requireApproved(code, kind, client, now);
  await requireSameOrganization(ctx, code.organization_id, params.organization);
  const { target, format, lifetime, audience } = await kindOf(ctx, client, code, params.resource);
  requireBound(ctx, target && target.resource, proof);
  const allowed = effectiveDetails(client, target && target.resource, code.authorization_details, code.answered_at?.getTime() ?? 0);
  const authorization_details = requireNarrowed(params.authorization_details, allowed);
  const seed = seedAccessToken(ctx);
  const refresh = client.grant_types.includes('refresh_token') ? mintRefreshToken(ctx) : null;
  const redeemed = await redeemDeviceCode(ctx.scope, {
    digest: presented,
    client_id: client.id,
    session_bounds: sessionBounds(ctx),
    jti: seed.jti,
    access_token_format: format,
    access_token_digest: seed.digest,
    access_token_lifetime: lifetime,
    audience,
    authorization_details,
    refresh,
    ...refreshTokenEnds(ctx, client, now),
    with_user: saysOfUser(client),
    event_id: uuidv7(now.getTime()),
    subscribers: await tokenIssuedSubscribers(ctx),
    grant_type: kind === 'device_code' ? deviceCodeGrantType : cibaGrantType,
    jkt,
    refresh_jkt,
  });
  if (redeemed === null) throw OAuthError.invalid_grant(`the ${kind} was used before`);
  if (redeemed.problem !== null) throw problemRefusal(redeemed.problem);
  const scope = target ? effectiveScope(target, redeemed.scope, redeemed.permissions) : redeemed.scope;
  const dropped = target ? droppedScopes(target, { granted: redeemed.scope, scope, held: redeemed.permissions }) : undefined;
  const granted = { ...redeemed, claims: null, id_token_claims: null };
  const issuance = { client, target, seed, format, lifetime, scope, issued_at: now, nonce: null, jkt, authorization_details };
  const { access_token, id_token } = await signForPerson(ctx, granted, issuance);
  return { access_token, expires_in: lifetime, scope, authorization_details, refresh_token: refresh && refresh.token, id_token, dropped };
}

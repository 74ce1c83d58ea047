import { tokenIssuedSubscribers } from '../../domain/events/emit.js';
import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import type { Origin } from '../../domain/origin.js';
import { accessTokenValue, seedAccessToken } from '../../domain/tokens/access-token.js';
import { idTokenValue } from '../../domain/tokens/id-token.js';
import { endGrant, endReusedGrant } from '../../domain/tokens/revoke.js';
import { findGrantOfCode, redeemAuthorizationCode, type CodeProblem } from '../../db/tables/authorization_codes.js';
import { OAuthError } from '../../errors.js';
import { digest } from '../../lib/digest.js';
import type { Parameters } from '../../lib/parameters.js';
import { isCodeVerifier } from '../../lib/pkce.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import type { Grant } from './grant.js';
import { notLetIn, scopeInForce, shownPermissions, targetInForce } from './target.js';

/** What is told of a code that gives nothing. It is spent all the same: a second try, even a right one, fails (RFC 6819 4.4.1.3). */
const refusals: Record<CodeProblem, OAuthError> = {
  client: OAuthError.invalid_grant('the code was issued to another client'),
  expired: OAuthError.invalid_grant('the code has expired'),
  redirect_uri: OAuthError.invalid_grant('redirect_uri differs from the one of the authorization request'),
  pkce: OAuthError.invalid_grant('code_verifier does not fit the code_challenge'),
  resource: OAuthError.invalid_target('the resource was not part of the authorization request'),
  user: OAuthError.invalid_grant('the user may no longer sign in'),
  session: OAuthError.invalid_grant('the session has ended'),
  revoked: OAuthError.invalid_grant('the permission was withdrawn'),
};

/** When a refresh token of this client ends: idle, and at the latest. */
export function refreshTokenEnds(ctx: Context, client: Client, now: Date): { refresh_expires_at: Date; grant_expires_at: Date } {
  const absolute = (client.refresh_token_lifetime ?? ctx.environment.refresh_token_lifetime) * 1000;
  const idle = Math.min(ctx.environment.refresh_token_idle_lifetime * 1000, absolute);
  return { refresh_expires_at: new Date(now.getTime() + idle), grant_expires_at: new Date(now.getTime() + absolute) };
}

/** The challenge that the verifier stands for; null without one. A malformed one fits no challenge. */
const challengeOf = (verifier: string | undefined): string | null =>
  verifier === undefined ? null : isCodeVerifier(verifier) ? digest(verifier).toString('base64url') : '-';

function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw OAuthError.invalid_request(`${name} is required`);
  return value;
}

/** A code that gave nothing to redeem: unknown, or used before; then all that it gave is taken back (RFC 6749 4.1.2, 10.5). */
async function refuseSpentCode(ctx: Context, client: Client, code: string, origin: Origin): Promise<never> {
  const grant = await findGrantOfCode(ctx.scope, digest(code));
  if (grant === null) throw OAuthError.invalid_grant('the code is unknown');
  await endReusedGrant(ctx, 'authorization_code.reused', { client, ...grant, origin });
  throw OAuthError.invalid_grant('the code was used before');
}

/** RFC 6749 4.1.3 with PKCE (RFC 7636 4.6): one statement spends the code and stores what it gives. */
export const authorization_code: Grant = {
  public_clients: true,
  async handle(ctx, client, parameters, origin) {
    const [code, redirect_uri] = [required(parameters, 'code'), required(parameters, 'redirect_uri')];
    const now = ctx.clock.now();
    const seed = seedAccessToken(ctx);
    const refresh_token = client.grant_types.includes('refresh_token') ? randomToken('rt_') : null;
    const redeemed = await redeemAuthorizationCode(ctx.scope, {
      digest: digest(code),
      client_id: client.id,
      redirect_uri,
      code_challenge: challengeOf(parameters.get('code_verifier')),
      resource: parameters.get('resource') ?? null,
      issuer: ctx.environment.issuer,
      now,
      jti: seed.jti,
      access_token_digest: seed.digest,
      refresh_token_digest: refresh_token === null ? null : digest(refresh_token),
      ...refreshTokenEnds(ctx, client, now),
      event_id: uuidv7(now.getTime()),
      subscribers: await tokenIssuedSubscribers(ctx),
    });
    if (redeemed === null) return refuseSpentCode(ctx, client, code, origin());
    if (redeemed.problem !== null) throw refusals[redeemed.problem];
    const target = redeemed.resource === null ? null : await targetInForce(ctx, client, redeemed.resource);
    if (redeemed.resource !== null && !target) {
      await endGrant(ctx, redeemed.grant_id);
      throw notLetIn();
    }
    const scope = target ? scopeInForce(target, redeemed.scope) : redeemed.scope;

    const [access_token, id_token] = await Promise.all([
      accessTokenValue(ctx, {
        seed,
        format: redeemed.access_token_format,
        sub: redeemed.user_id,
        client_id: client.id,
        scope,
        audience: redeemed.resource ?? ctx.environment.issuer,
        lifetime: redeemed.access_token_lifetime,
        issued_at: now,
        grant_id: redeemed.grant_id,
        session_id: redeemed.session_id,
        auth_time: redeemed.auth_time,
        acr: redeemed.acr,
        amr: redeemed.amr,
        ...(target && { permissions: shownPermissions(client, target, scope, redeemed.permissions) }),
      }),
      redeemed.scope.split(' ').includes('openid')
        ? idTokenValue(ctx, { ...redeemed, client, sub: redeemed.user_id, issued_at: now })
        : undefined,
    ]);
    return {
      access_token,
      token_type: 'Bearer',
      expires_in: redeemed.access_token_lifetime,
      scope,
      ...(refresh_token === null ? {} : { refresh_token }),
      ...(id_token === undefined ? {} : { id_token }),
    };
  },
};

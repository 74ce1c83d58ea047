import type { Request, Response } from 'express';
import { algorithmFor } from '../domain/clients/profile.js';
import { signerFor } from '../domain/signing-keys/signing-keys.js';
import { signJwt } from '../domain/tokens/formats/jwt.js';
import { isOfRecord } from '../domain/tokens/of-record.js';
import { detailsOf } from '../domain/tokens/authorization-details.js';
import { sessionBounds } from '../domain/sessions/sessions.js';
import { findPresented } from '../domain/tokens/refresh-token.js';
import { effectiveTarget } from '../domain/tokens/target.js';
import { organizationClaims, type OrganizationClaims } from '../domain/tokens/organization-claims.js';
import { describeActiveToken, type DescribedToken } from '../domain/tokens/active-token.js';
import { lookUpScope, type Context } from '../domain/context.js';
import type { Client } from '../domain/clients/clients.js';
import { OAuthError } from '../errors.js';

const seconds = (time: Date) => Math.floor(time.getTime() / 1000);

/** The key that a token is bound to (RFC 9449 6.2). */
const confirmation = (jkt: string | null) => (jkt === null ? {} : { cnf: { jkt } });

/** Mapped claims come first: none of them is one of the others (specification 5.13.3). */
const describe = ({ token, permissions, mapped }: DescribedToken, organization: OrganizationClaims): object => ({
  ...mapped,
  active: true,
  scope: token.scope,
  client_id: token.client.id,
  token_type: token.jkt === null ? 'Bearer' : 'DPoP',
  exp: seconds(token.expires_at),
  sub: token.sub,
  iss: token.issuer,
  aud: token.audience,
  iat: seconds(token.issued_at),
  jti: token.jti,
  // RFC 9470 6.2.
  ...(token.acr === null ? {} : { acr: token.acr }),
  ...(token.amr.length === 0 ? {} : { amr: token.amr }),
  ...(token.auth_time === null ? {} : { auth_time: seconds(token.auth_time) }),
  ...(token.session_id === null ? {} : { sid: token.session_id }),
  ...organization,
  ...(permissions === null ? {} : { permissions }),
  ...(token.authorization_details === null ? {} : { authorization_details: token.authorization_details }),
  ...(token.act === null ? {} : { act: token.act }),
  ...(token.client_profile === undefined ? {} : { client_profile: token.client_profile }),
  ...confirmation(token.jkt),
});

/** The introspection response of a refresh token; null for one of another client, or that can't be used. */
async function describeRefreshToken(ctx: Context, client: Client, value: string): Promise<object | null> {
  const token = await findPresented(ctx, value, sessionBounds(ctx));
  if (!token || token.client_id !== client.id || token.problem !== null || token.replaced_at !== null) return null;
  if (!isOfRecord(client, token.issued_at.getTime())) return null;
  const target = token.resource === null ? null : await effectiveTarget(ctx, client, token.resource, token.grant_id);
  if (token.resource !== null && !target) return null;
  const details = detailsOf(client, target, token);
  const organization = await organizationClaims(ctx, token.organization_id);
  if (!organization) return null;
  return {
    active: true,
    scope: token.scope,
    client_id: token.client_id,
    token_type: 'Bearer',
    exp: seconds(token.expires_at),
    sub: token.user_id,
    iss: ctx.environment.issuer,
    aud: token.resource ?? ctx.environment.issuer,
    iat: seconds(token.issued_at),
    sid: token.session_id,
    ...organization,
    ...(details === null ? {} : { authorization_details: details }),
    ...confirmation(token.jkt),
  };
}

/** The introspection response of an access token; null when it isn't to be told, which is noted. */
async function describeAccessToken(req: Request, value: string): Promise<object | null> {
  const { ctx, client } = req;
  const described = await describeActiveToken(ctx, value, lookUpScope(ctx));
  const inactive = (reason: string) => {
    noteInactive(req, reason);
    return null;
  };
  if ('inactive' in described) return inactive(described.inactive);
  if (!client.introspection_allowed && described.token.client.id !== client.id)
    return inactive('the client may introspect its own tokens only');
  const organization = await organizationClaims(ctx, described.token.organization_id);
  return organization ? describe(described, organization) : inactive('the organization of the access token is gone');
}

/** Why a token was called inactive is for the log alone, under the request id: the answer must not say (RFC 7662 2.2). */
function noteInactive({ ctx, client, request_id }: Request, reason: string): void {
  ctx.logger.info(
    { event: 'introspection.inactive', request_id, environment_id: ctx.environment.id, client_id: client.id, reason },
    'introspection answered inactive',
  );
}

const jwtMediaType = 'application/token-introspection+jwt';

/** Whether the answer is to be signed (RFC 9701 4): accepted by the request, or what the client registered and nothing in the request speaks against. */
function wantsJwt({ headers, client }: Request): boolean {
  const accept = headers.accept?.toLowerCase();
  if (accept?.includes(jwtMediaType)) return true;
  return client.introspection_signed_response_alg !== null && !accept?.includes('application/json');
}

/**
 * POST /oauth/introspect (RFC 7662): one statement, and one more where claim mappings draw on the person, of a read replica if there is one. Whatever is wrong with a token, the answer is exactly `{"active":false}`, and the log says why; the
 * token's own form tells its kind, so a wrong hint changes nothing. A client without `introspection_allowed` is told of its own tokens only:
 * what somebody stole and can register a client for says nothing about whose it is (RFC 7662 4).
 */
export async function introspect(req: Request, res: Response): Promise<void> {
  const value = req.form.get('token');
  if (value === undefined) throw OAuthError.invalid_request('token is required');
  const { ctx, client } = req;
  let answer: object | null = null;
  if (value.startsWith('rt_')) {
    answer = await describeRefreshToken(ctx, client, value);
    if (!answer) noteInactive(req, 'the refresh token is unknown, expired, revoked, rotated, or of another client');
  } else {
    answer = await describeAccessToken(req, value);
  }
  res.setHeader('Cache-Control', 'no-store');
  const token_introspection = answer ?? { active: false };
  if (!wantsJwt(req)) {
    res.setHeader('Content-Type', 'application/json');
    return void res.end(JSON.stringify(token_introspection));
  }
  const signer = await signerFor(ctx, client.introspection_signed_response_alg ?? algorithmFor(client));
  const claims = { iss: ctx.environment.issuer, aud: client.id, iat: seconds(ctx.clock.now()), token_introspection };
  res.setHeader('Content-Type', jwtMediaType);
  res.end(await signJwt(ctx, signer, 'token-introspection+jwt', claims));
}

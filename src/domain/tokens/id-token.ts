import type { Client } from '../clients/clients.js';
import { acceptedIssuers } from '../environment.js';
import { requireTime, type Context } from '../context.js';
import { isUuid } from '../../lib/random.js';
import { halfHash } from '../../lib/half-hash.js';
import { tokenHashOf } from '../../lib/signing-algorithm.js';
import { drawsOnUser, mappedClaims, type ClaimFacts } from '../claims/claim-mappings.js';
import { claimsOf } from '../claims/claims.js';
import { noOrganization, type OrganizationClaims } from './organization-claims.js';
import { keyRing, signerFor } from '../signing-keys/signing-keys.js';
import { signJwt, verifyJwt } from './formats/jwt.js';

/** What an ID token says beside `iss`, `aud`, `iat` and `exp` (OIDC Core 2). */
export type IdTokenContent = {
  readonly client: Client;
  readonly sub: string;
  readonly session_id: string;
  /** The organization that it is for; left out: none. */
  readonly organization?: OrganizationClaims;
  /** Null leaves it out: a provider didn't say when. */
  readonly auth_time: Date | null;
  readonly nonce: string | null;
  readonly acr: string | null;
  readonly amr: readonly string[];
  readonly issued_at: Date;
  /** What it says of the person; none of the protocol's claims is among it. */
  readonly claims: Readonly<Record<string, unknown>>;
};

/** Whether the client's tokens say something about the person, whatever a request asks for. */
export const saysOfUser = ({ id_token_claims, claim_mappings }: Client): boolean =>
  id_token_claims === 'profile' || drawsOnUser(claim_mappings, ['id_token', 'access_token']);

/**
 * The claims about the person in the client's ID token: what was asked for there, with `id_token_claims` `profile` also what the scopes release
 * (OIDC Core 5.4), and what is mapped, which goes before the others. `requested`: the names in the `claims` parameter (OIDC Core 5.5).
 */
export function idTokenClaimsOf(client: Client, facts: ClaimFacts, scope: string, requested: readonly string[]): Record<string, unknown> {
  const scopes = client.id_token_claims === 'profile' ? scope.split(' ') : [];
  return { ...(facts.user && claimsOf(facts.user, scopes, requested)), ...mappedClaims(client.claim_mappings, 'id_token', facts) };
}

/** The claims of an ID token that is issued with the access token; its lifetime is the client's, else the environment's. Undefined ones are left out of the token. */
export function idTokenPayload(ctx: Context, content: IdTokenContent, access_token: string): Record<string, unknown> {
  const iat = Math.floor(content.issued_at.getTime() / 1000);
  return {
    ...content.claims,
    iss: ctx.environment.issuer,
    sub: content.sub,
    aud: content.client.id,
    exp: iat + (content.client.id_token_lifetime ?? ctx.environment.id_token_lifetime),
    iat,
    auth_time: content.auth_time === null ? undefined : Math.floor(content.auth_time.getTime() / 1000),
    nonce: content.nonce ?? undefined,
    acr: content.acr ?? undefined,
    amr: content.amr.length > 0 ? content.amr : undefined,
    sid: content.session_id,
    ...(content.organization ?? noOrganization),
    at_hash: halfHash(tokenHashOf(content.client.id_token_signed_response_alg), access_token),
  };
}

export async function idTokenValue(ctx: Context, content: IdTokenContent, access_token: string): Promise<string> {
  requireTime(ctx);
  return signJwt(ctx, await signerFor(ctx, content.client.id_token_signed_response_alg), 'JWT', idTokenPayload(ctx, content, access_token));
}

/** What an `id_token_hint` says (OIDC Core 3.1.2.1, RP-Initiated Logout 1.0 2). */
export type IdTokenHint = { readonly sub: string; readonly client_id: string; readonly session_id: string | null };

type IdTokenClaims = Readonly<Record<string, unknown>> & { readonly sub: string; readonly aud: string; readonly exp: number };

/**
 * An ID token of ours that comes back, expired or not; null when it isn't one. Access tokens may bear the same `typ`: they have a
 * `client_id`; and so may userinfo, which has no `exp`.
 */
async function claimsOfIdToken(ctx: Context, token: string): Promise<IdTokenClaims | null> {
  const claims = verifyJwt(await keyRing(ctx), 'JWT', token) ?? {};
  const { iss, sub, aud, exp, client_id } = claims;
  if (typeof exp !== 'number' || client_id !== undefined) return null;
  if (typeof iss !== 'string' || !acceptedIssuers(ctx).includes(iss) || typeof sub !== 'string' || typeof aud !== 'string') return null;
  return { ...claims, sub, aud, exp };
}

/** The same as a hint. */
export async function readIdTokenHint(ctx: Context, hint: string): Promise<IdTokenHint | null> {
  const claims = await claimsOfIdToken(ctx, hint);
  const sid = claims?.['sid'];
  return claims && { sub: claims.sub, client_id: claims.aud, session_id: typeof sid === 'string' ? sid : null };
}

/** What an ID token says of the sign-in behind it, for whoever issues something on the strength of it. */
export type SignInOfIdToken = {
  readonly client_id: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly organization_id: string | null;
  readonly acr: string | null;
  readonly amr: readonly string[];
  readonly auth_time: Date | null;
  readonly issued_at: Date;
  readonly expires_at: Date;
};

const dateOf = (value: unknown) => (typeof value === 'number' ? new Date(value * 1000) : null);

/** An ID token of ours, expired or not, as {@link SignInOfIdToken}; null when it isn't one, or has no session. */
export async function readIdToken(ctx: Context, token: string): Promise<SignInOfIdToken | null> {
  const claims = await claimsOfIdToken(ctx, token);
  if (!claims) return null;
  const { sub, aud, exp, sid, org_id, acr, amr, auth_time, iat } = claims;
  const issued_at = dateOf(iat);
  if (typeof sid !== 'string' || !isUuid(sid) || !isUuid(sub) || issued_at === null) return null;
  return {
    client_id: aud,
    user_id: sub,
    session_id: sid,
    organization_id: typeof org_id === 'string' ? org_id : null,
    acr: typeof acr === 'string' ? acr : null,
    amr: Array.isArray(amr) ? amr.map(String) : [],
    auth_time: dateOf(auth_time),
    issued_at,
    expires_at: new Date(exp * 1000),
  };
}

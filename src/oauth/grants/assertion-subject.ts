import { findIdTokenSubject } from '../../db/tables/issued_assertions.js';
import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { requireBound, type DpopProof } from '../../domain/dpop/proof.js';
import type { Origin } from '../../domain/origin.js';
import { isClass, type AuthenticationClass } from '../../domain/proofs/classes.js';
import { sessionBounds } from '../../domain/sessions/sessions.js';
import { readIdToken } from '../../domain/tokens/id-token.js';
import { isOfRecord } from '../../domain/tokens/of-record.js';
import { notLetIn, effectiveTarget } from '../../domain/tokens/target.js';
import { OAuthError } from '../../errors.js';
import { refreshTokenEnds } from './authorization_code.js';
import { requireSignInMet } from './refresh-requirement.js';
import { isOld, requireUsable } from './refresh_token.js';

export const idTokenType = 'urn:ietf:params:oauth:token-type:id_token';
export const refreshTokenType = 'urn:ietf:params:oauth:token-type:refresh_token';

/** Whom an assertion is to be about, and how they signed in. */
export type AssertionSubject = {
  readonly user_id: string;
  readonly email: string | null;
  readonly organization_id: string | null;
  /** The session that it came of. */
  readonly session_id: string | null;
  readonly acr: AuthenticationClass;
  readonly amr: readonly string[];
  readonly auth_time: Date | null;
  /** The refresh token that was brought, and until when it is good from now on; null: as it was. */
  readonly refresh: { readonly digest: Buffer; readonly expires_at: Date | null } | null;
};

export type Brought = {
  readonly subject_token: string;
  readonly subject_token_type: string;
  readonly proof: DpopProof | null;
  readonly origin: () => Origin;
};

const unusable = (description: string) => OAuthError.invalid_grant(`subject_token: ${description}`).by('assertion_subject_not_usable');

/** The person of an ID token of this client, whose session lives. @throws {OAuthError} `invalid_grant` */
async function ofIdToken(ctx: Context, client: Client, { subject_token }: Brought): Promise<AssertionSubject> {
  const token = await readIdToken(ctx, subject_token);
  if (!token || token.client_id !== client.id) throw unusable('this is no ID token of this client');
  if (token.expires_at <= ctx.clock.now()) throw unusable('the ID token has expired');
  if (!isOfRecord(client, token.issued_at.getTime())) throw unusable('the tokens of the client that were issued by then were revoked');
  const person = await findIdTokenSubject(ctx.scope, token, sessionBounds(ctx));
  if (person?.status !== 'active' || !person.session_lives || !person.member_stands)
    throw unusable('the session, the person or the membership has ended');
  const { user_id, organization_id, acr, amr, auth_time } = token;
  return {
    user_id,
    email: person.email_verified ? person.email : null,
    organization_id,
    session_id: token.session_id,
    acr: isClass(acr) ? acr : '1',
    amr,
    auth_time,
    refresh: null,
  };
}

/** The person of a refresh token of this client, judged as at a refresh; it stays as it is, and counts as used. @throws {OAuthError} */
export async function ofRefreshToken(ctx: Context, client: Client, brought: Brought): Promise<AssertionSubject> {
  const { subject_token, proof, origin } = brought;
  const token = await requireUsable(ctx, client, { presented: subject_token, proof, origin, with_user: true });
  const target = token.resource === null ? null : await effectiveTarget(ctx, client, token.resource, token.grant_id);
  if (token.resource !== null && !target) throw notLetIn();
  requireBound(ctx, target && target.resource, proof);
  await requireSignInMet(ctx, client, token, target);
  const { user_id, user, organization_id, session_id, acr, amr, auth_time, digest, replaced_at } = token;
  const lasts = replaced_at === null && isOld(token, ctx.clock.now());
  const expires_at = lasts ? refreshTokenEnds(ctx, client, ctx.clock.now()).refresh_expires_at : null;
  return {
    user_id,
    email: user?.email_verified ? user.email : null,
    organization_id,
    session_id,
    acr: isClass(acr) ? acr : '1',
    amr,
    auth_time,
    refresh: { digest, expires_at },
  };
}

/** Whom what the client brings is of. @throws {OAuthError} `invalid_request`, `invalid_grant` */
export function assertionSubject(ctx: Context, client: Client, brought: Brought): Promise<AssertionSubject> {
  const { subject_token_type } = brought;
  if (subject_token_type === idTokenType) return ofIdToken(ctx, client, brought);
  if (subject_token_type === refreshTokenType) return ofRefreshToken(ctx, client, brought);
  throw OAuthError.invalid_request(`subject_token_type must be ${idTokenType} or ${refreshTokenType}`);
}

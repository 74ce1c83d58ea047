import { digest } from '../../lib/digest.js';
import type { Detail } from '../../lib/authorization-details.js';
import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import { requireTime, type Context } from '../context.js';
import { noOrganization, type OrganizationClaims } from './organization-claims.js';
import { signerFor } from '../signing-keys/signing-keys.js';
import { signJwt } from './formats/jwt.js';

/** The random parts of an access token: `value` and `digest` of an opaque one, `jti` of a JWT. */
export type TokenSeed = { readonly jti: string; readonly value: string; readonly digest: Buffer };

/** Makes the random parts of an access token before it is known what it will say. */
export function seedAccessToken(ctx: Context): TokenSeed {
  const value = randomToken('at_');
  return { jti: uuidv7(ctx.clock.now().getTime()), value, digest: digest(value) };
}

/** What a JWT access token is to say (RFC 9068 2.2); times in seconds are added here. */
export type AccessTokenContent = {
  readonly seed: TokenSeed;
  readonly format: 'jwt' | 'opaque';
  readonly sub: string;
  readonly client_id: string;
  readonly scope: string;
  readonly audience: string;
  readonly lifetime: number;
  readonly issued_at: Date;
  readonly grant_id?: string;
  readonly session_id?: string;
  /** The organization that it is for; left out: none. */
  readonly organization?: OrganizationClaims;
  readonly auth_time?: Date | null;
  readonly acr?: string | null;
  readonly amr?: readonly string[];
  /** Permissions of the API resource; left out for tokens without one. */
  readonly permissions?: readonly string[];
  /** Who acts for the person (RFC 8693 4.1). */
  readonly act?: Readonly<Record<string, unknown>> | null;
  /** What the client is that acts for itself. */
  readonly client_profile?: string | undefined;
  /** What was allowed beyond scopes (RFC 9396 9.1); null or left out: nothing was asked for. */
  readonly authorization_details?: readonly Detail[] | null;
  /** See `TokenContent`. */
  readonly earlier_scopes?: Readonly<Record<string, string>>;
  /** `typ` of the header; RFC 9068's unless the API resource says otherwise. */
  readonly typ?: 'at+jwt' | 'JWT';
  /** What a JWT is signed with: as the API resource, else the client, has it. */
  readonly algorithm: SigningAlgorithm;
  /** Claims under names that administrators chose; none of the protocol's is among them. */
  readonly mapped?: Readonly<Record<string, unknown>>;
  /** The thumbprint of the key that it is bound to (RFC 9449 6.1). */
  readonly jkt?: string | null;
  /** The names that the `claims` parameter asked for at userinfo (OIDC Core 5.5), which an opaque token's row keeps. */
  readonly userinfo_claims?: readonly string[];
};

const seconds = (time: Date) => Math.floor(time.getTime() / 1000);

/** The claims of a JWT access token (RFC 9068 2.2). Undefined ones are left out of the token. */
export function accessTokenPayload(ctx: Context, content: AccessTokenContent): Record<string, unknown> {
  const iat = seconds(content.issued_at);
  return {
    ...content.mapped,
    iss: ctx.environment.issuer,
    sub: content.sub,
    aud: content.audience,
    exp: iat + content.lifetime,
    iat,
    nbf: iat,
    jti: content.seed.jti,
    client_id: content.client_id,
    scope: content.scope,
    auth_time: content.auth_time ? seconds(content.auth_time) : undefined,
    acr: content.acr ?? undefined,
    amr: content.amr && content.amr.length > 0 ? content.amr : undefined,
    sid: content.session_id,
    gid: content.grant_id,
    ...(content.organization ?? noOrganization),
    permissions: content.permissions,
    authorization_details: content.authorization_details ?? undefined,
    act: content.act ?? undefined,
    client_profile: content.client_profile,
    // Without any, too, where `act` alone would not tell that the token was exchanged.
    earlier_scopes:
      content.earlier_scopes && (Object.keys(content.earlier_scopes).length > 0 || content.act?.['sub_profile'] !== undefined)
        ? content.earlier_scopes
        : undefined,
    cnf: content.jkt ? { jkt: content.jkt } : undefined,
    userinfo_claims: content.userinfo_claims && content.userinfo_claims.length > 0 ? content.userinfo_claims : undefined,
  };
}

/** The value to hand out: the opaque seed, or the signed JWT (RFC 9068). */
export async function accessTokenValue(ctx: Context, content: AccessTokenContent): Promise<string> {
  if (content.format === 'opaque') return content.seed.value;
  requireTime(ctx);
  return signJwt(ctx, await signerFor(ctx, content.algorithm), content.typ ?? 'at+jwt', accessTokenPayload(ctx, content));
}

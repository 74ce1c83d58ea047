import {
  findAccessToken,
  findAccessTokenWithUser,
  findJwtStanding,
  findJwtStandingWithUser,
  type TokenStanding,
  type UserWithRoles,
} from '../../db/tables/access_tokens.js';
import type { Scope } from '../../db/scope.js';
import { digest } from '../../lib/digest.js';
import { isUuid, randomToken, uuidv7 } from '../../lib/random.js';
import {
  apiResourceOf,
  askableScopes,
  clientGrantOf,
  enabledClient,
  withoutUnaskable,
  type ApiResource,
  type Client,
} from '../clients/clients.js';
import { requireTime, type Context } from '../context.js';
import { keyRing } from '../signing-keys/signing-keys.js';
import { signJwt, verifyJwt } from './formats/jwt.js';
import { isOpenidScope } from './scopes.js';

/** A valid access token. */
export type ActiveToken = {
  readonly format: 'jwt' | 'opaque';
  readonly jti: string;
  readonly grant_id: string | null;
  readonly client: Client;
  readonly sub: string;
  /** Null for a client acting for itself. */
  readonly user_id: string | null;
  readonly session_id: string | null;
  readonly scope: string;
  readonly audience: string;
  readonly issuer: string;
  /** The `claims` request parameter's userinfo part (OIDC Core 5.5). */
  readonly claims: Record<string, unknown> | null;
  readonly issued_at: Date;
  readonly expires_at: Date;
};

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
  readonly auth_time?: Date | null;
  readonly acr?: string | null;
  readonly amr?: readonly string[];
  /** Permissions of the API resource; left out for tokens without one. */
  readonly permissions?: readonly string[];
};

const seconds = (time: Date) => Math.floor(time.getTime() / 1000);

/** The value to hand out: the opaque seed, or the signed JWT (RFC 9068). */
export async function accessTokenValue(ctx: Context, content: AccessTokenContent): Promise<string> {
  if (content.format === 'opaque') return content.seed.value;
  requireTime(ctx);
  const iat = seconds(content.issued_at);
  return signJwt(await keyRing(ctx), 'at+jwt', {
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
    permissions: content.permissions,
  });
}

type Found = { claims: Omit<ActiveToken, 'client'> & { client_id: string }; standing: TokenStanding; user: UserWithRoles | null };

const isSeconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value < 1e11;
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const uuid = (value: unknown): string | null => (typeof value === 'string' && isUuid(value) ? value : null);

/** A few seconds of difference between the replicas' clocks. */
const skewSeconds = 5;

async function readJwt(ctx: Context, token: string): Promise<Found['claims'] | null> {
  const claims = verifyJwt(await keyRing(ctx), 'at+jwt', token);
  if (!claims) return null;
  const { iss, aud, exp, iat, nbf } = claims;
  const sub = text(claims['sub']);
  const client_id = text(claims['client_id']);
  const jti = uuid(claims['jti']);
  if (typeof iss !== 'string' || !ctx.environment.issuers.includes(iss) || typeof aud !== 'string') return null;
  if (!isSeconds(exp) || !isSeconds(iat) || !isSeconds(nbf) || sub === null || client_id === null || jti === null) return null;
  const now = seconds(ctx.clock.now());
  if (exp <= now || nbf > now + skewSeconds || iat > now + skewSeconds) return null;
  const session_id = uuid(claims['sid']);
  const grant_id = uuid(claims['gid']);
  return {
    format: 'jwt',
    jti,
    grant_id,
    client_id,
    sub,
    user_id: sub === client_id ? null : uuid(sub),
    session_id,
    scope: text(claims['scope']) ?? '',
    audience: aud,
    issuer: iss,
    claims: null,
    issued_at: new Date(iat * 1000),
    expires_at: new Date(exp * 1000),
  };
}

const isJwt = (token: string) => token.includes('.');

async function find(ctx: Context, scope: Scope, token: string, withUser: boolean): Promise<Found | null> {
  if (isJwt(token)) {
    const claims = await readJwt(ctx, token);
    if (!claims) return null;
    const ids = claims.grant_id === null ? [claims.jti] : [claims.jti, claims.grant_id];
    const key = { ids, user_id: claims.user_id, session_id: claims.session_id };
    if (withUser) {
      const { standing, user } = await findJwtStandingWithUser(scope, key);
      return { claims, standing, user };
    }
    return { claims, standing: await findJwtStanding(scope, key), user: null };
  }
  if (!/^at_[\w-]{43}$/.test(token)) return null;
  const found = withUser
    ? await findAccessTokenWithUser(scope, digest(token))
    : await findAccessToken(scope, digest(token)).then((row) => row && { token: row, user: null });
  if (!found) return null;
  const { token: row, user } = found;
  const claims: Found['claims'] = {
    format: 'opaque',
    jti: row.jti,
    grant_id: row.grant_id,
    client_id: row.client_id,
    sub: row.user_id ?? row.client_id,
    user_id: row.user_id,
    session_id: row.session_id,
    scope: row.scope,
    audience: row.audience,
    issuer: ctx.environment.issuer,
    claims: row.claims,
    issued_at: row.issued_at,
    expires_at: row.expires_at,
  };
  return { claims, standing: row, user };
}

function stands(ctx: Context, { claims, standing }: Found): boolean {
  if (claims.expires_at <= ctx.clock.now() || standing.revoked) return false;
  if (claims.user_id !== null && standing.user_status !== 'active') return false;
  const outlivesSession = claims.scope.split(' ').includes('offline_access');
  return standing.session_revoked_at === null || outlivesSession;
}

type InForce = Promise<readonly string[] | null>;

async function ownScopesInForce(ctx: Context, client: Client, resource: ApiResource, asked: readonly string[]): InForce {
  const grant = await clientGrantOf(ctx, client.id, resource, 'client');
  return grant && asked.filter((word) => grant.scopes.includes(word) && resource.permissions.includes(word));
}

async function scopesOfPersonInForce(ctx: Context, client: Client, resource: ApiResource, asked: readonly string[]): InForce {
  const askable = await askableScopes(ctx, client.id, resource);
  const known = (word: string) => resource.permissions.includes(word) || isOpenidScope(word) || client.scopes?.includes(word) === true;
  return askable && withoutUnaskable(resource, askable, asked.filter(known)); // prettier-ignore
}

/**
 * What is left of a token's scope at its API resource, from memory: a permission, the client's grant (for itself, or for people's tokens
 * where the resource demands one) and the resource itself may have been withdrawn since (specification 5.12.1); another resource of the same
 * identifier, made later, is not the token's. Null when that leaves nothing.
 */
async function scopeInForce(
  ctx: Context,
  client: Client,
  { audience, scope, user_id, issued_at }: Found['claims'],
): Promise<string | null> {
  if (ctx.environment.issuers.includes(audience)) return scope;
  const resource = await apiResourceOf(ctx, audience);
  if (resource && seconds(resource.created_at) > seconds(issued_at)) return null;
  if (!resource) return null;
  const asked = scope.split(' ').filter((word) => word !== '');
  const kept =
    user_id === null ? await ownScopesInForce(ctx, client, resource, asked) : await scopesOfPersonInForce(ctx, client, resource, asked);
  if (kept === null) return null;
  return kept.length === 0 && asked.length > 0 ? null : kept.join(' ');
}

async function activate(ctx: Context, found: Found | null): Promise<ActiveToken | null> {
  if (!found || !stands(ctx, found)) return null;
  const { client_id, ...claims } = found.claims;
  const client = await enabledClient(ctx, client_id);
  const scope = client && (await scopeInForce(ctx, client, found.claims));
  return client === null || scope === null ? null : { ...claims, scope, client };
}

/**
 * The access token if it is good right now: signature or digest, time, revocation, and that its user, session, client and API
 * resource still stand. One statement; client, resource and grant come from memory. Null for everything else, whatever the reason.
 * @param scope where the token is looked up: `lookUpScope(ctx)` when an answer up to a second old will do
 */
export async function findActiveToken(ctx: Context, token: string, scope: Scope = ctx.scope): Promise<ActiveToken | null> {
  return activate(ctx, await find(ctx, scope, token, false));
}

/** The same with the user's row and role names, still in one statement. */
export async function findActiveTokenWithUser(
  ctx: Context,
  token: string,
): Promise<{ token: ActiveToken; user: UserWithRoles | null } | null> {
  const found = await find(ctx, ctx.scope, token, true);
  const active = await activate(ctx, found);
  return active && { token: active, user: found?.user ?? null };
}

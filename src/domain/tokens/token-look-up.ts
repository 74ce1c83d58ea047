import {
  findAccessToken,
  findJwtStatus,
  findProvenAccessToken,
  findProvenJwtStatus,
  type AccessTokenState,
  type TokenExtras,
  type ProofToStore,
  type TokenStatus,
  type TokenUser,
} from '../../db/tables/access_tokens.js';
import { findTokenStates } from '../../db/tables/token_states.js';
import type { Scope } from '../../db/scope.js';
import { digest } from '../../lib/digest.js';
import { detailsIn, type Detail } from '../../lib/authorization-details.js';
import { jsonObject } from '../../lib/json-object.js';
import { isUuid } from '../../lib/random.js';
import type { Context } from '../context.js';
import { acceptedIssuers } from '../environment.js';
import { keyRing } from '../signing-keys/signing-keys.js';
import { actingKey, actorsIn, isUnexchanged } from './agent-claims.js';
import { verifyJwt } from './formats/jwt.js';

export type TokenContent = {
  readonly format: 'jwt' | 'opaque';
  readonly jti: string;
  readonly grant_id: string | null;
  readonly sub: string;
  /** Null for a client acting for itself. */
  readonly user_id: string | null;
  readonly session_id: string | null;
  /** The organization that it is for; null: for none. */
  readonly organization_id: string | null;
  readonly scope: string;
  readonly audience: string;
  readonly issuer: string;
  /** The names that the `claims` request parameter asked for at userinfo (OIDC Core 5.5). */
  readonly claims: readonly string[];
  /** Who acts for the person (RFC 8693 4.1); null when nobody does, or the token doesn't say. */
  readonly act: Readonly<Record<string, unknown>> | null;
  /** The scope that what it was exchanged for had at other API resources, by their identifiers: an exchange back gives no more (RFC 8693 2.1). */
  readonly earlier_scopes: Readonly<Record<string, string>>;
  /** What was allowed beyond scopes (RFC 9396); null: nothing was asked for. */
  readonly authorization_details: readonly Detail[] | null;
  /** Whether it is known to be issued on the strength of another token: a JWT tells by `act` only. */
  readonly exchanged: boolean;
  /** The thumbprint of the key that it is bound to (RFC 9449 6); null for a bearer token. */
  readonly jkt: string | null;
  /** How the person signed in, and when (RFC 9470 6); null and empty where it isn't known, and for a client. */
  readonly acr: string | null;
  readonly amr: readonly string[];
  readonly auth_time: Date | null;
  readonly issued_at: Date;
  readonly expires_at: Date;
};

const seconds = (time: Date) => Math.floor(time.getTime() / 1000);

/** A token that was found, good or not. */
export type FoundToken = TokenUser & {
  claims: TokenContent & { readonly client_id: string };
  status: TokenStatus;
  /** All claims of a JWT; null for an opaque token. */
  payload: Readonly<Record<string, unknown>> | null;
  /** Whether the proof that was to be stored was used for the first time. */
  first_use: boolean;
};

const isSeconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value < 1e11;
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
/** The texts of a list; empty for anything else. */
export const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []);
/** The members that are texts; none of what is no object. */
const textMembers = (value: unknown) =>
  value === null || value === undefined
    ? {}
    : Object.fromEntries(Object.entries(jsonObject(value) ?? {}).filter((one): one is [string, string] => typeof one[1] === 'string'));
const thumbprintIn = (cnf: unknown) => (typeof cnf === 'object' && cnf !== null ? text((cnf as Record<string, unknown>)['jkt']) : null);
const uuid = (value: unknown): string | null => (typeof value === 'string' && isUuid(value) ? value : null);

/** Whether a token of this audience is for this service's own endpoints, not for an API resource. */
export const isOwnAudience = (ctx: Context, audience: string) => acceptedIssuers(ctx).includes(audience);

/** A few seconds of difference between the replicas' clocks. */
const skewSeconds = 5;

type ReadJwt = { claims: FoundToken['claims']; payload: Record<string, unknown> };

async function readJwt(ctx: Context, token: string): Promise<ReadJwt | null> {
  const ring = await keyRing(ctx);
  const typed = verifyJwt(ring, 'at+jwt', token);
  const claims = typed ?? verifyJwt(ring, 'JWT', token);
  if (!claims) return null;
  const { iss, aud, exp, iat, nbf } = claims;
  // Only API resources may have the type that ID tokens bear too (`token_typ`); those have none of the claims that are demanded below.
  if (typed === null && isOwnAudience(ctx, String(aud))) return null;
  const sub = text(claims['sub']);
  const client_id = text(claims['client_id']);
  const jti = uuid(claims['jti']);
  if (typeof iss !== 'string' || !acceptedIssuers(ctx).includes(iss) || typeof aud !== 'string') return null;
  if (!isSeconds(exp) || !isSeconds(iat) || !isSeconds(nbf) || sub === null || client_id === null || jti === null) return null;
  const now = seconds(ctx.clock.now());
  if (exp <= now || nbf > now + skewSeconds || iat > now + skewSeconds) return null;
  const session_id = uuid(claims['sid']);
  const organization_id = uuid(claims['org_id']);
  // Never taken for one of no organization.
  if (claims['org_id'] !== undefined && organization_id === null) return null;
  const grant_id = uuid(claims['gid']);
  const act = jsonObject(claims['act']);
  const read: FoundToken['claims'] = {
    format: 'jwt',
    jti,
    grant_id,
    client_id,
    sub,
    user_id: sub === client_id ? null : uuid(sub),
    session_id,
    organization_id,
    scope: text(claims['scope']) ?? '',
    audience: aud,
    issuer: iss,
    claims: texts(claims['userinfo_claims']),
    act,
    earlier_scopes: textMembers(claims['earlier_scopes']),
    authorization_details: detailsIn(claims['authorization_details']),
    exchanged: act === null ? claims['act'] !== undefined : !isUnexchanged(act, claims['earlier_scopes']),
    jkt: thumbprintIn(claims['cnf']),
    acr: text(claims['acr']),
    amr: texts(claims['amr']),
    auth_time: isSeconds(claims['auth_time']) ? new Date(claims['auth_time'] * 1000) : null,
    issued_at: new Date(iat * 1000),
    expires_at: new Date(exp * 1000),
  };
  return { claims: read, payload: claims };
}

const isJwt = (token: string) => token.includes('.');
const isOpaque = (token: string) => /^at_[\w-]{43}$/.test(token);

/** By what the end of those is known who act for the person by an exchange or an assertion: what has a session otherwise ends with its grant. */
function actingKeys({ user_id, session_id, exchanged, earlier_scopes, client_id, act }: FoundToken['claims']): string[] {
  if (user_id === null || !(exchanged || session_id === null || Object.keys(earlier_scopes).length > 0)) return [];
  return [client_id, ...actorsIn(act)].map((one) => actingKey(user_id, one));
}

/** What the status of a JWT depends on. */
const statusKeys = (claims: FoundToken['claims']) => ({
  ids: [claims.jti, ...(claims.grant_id === null ? [] : [claims.grant_id]), ...actingKeys(claims)],
  ...whose(claims),
});
const whose = ({ user_id, session_id, organization_id, issued_at }: TokenContent) => ({ user_id, session_id, organization_id, issued_at });

const contentOf = (ctx: Context, row: AccessTokenState): FoundToken['claims'] => ({
  format: 'opaque',
  jti: row.jti,
  grant_id: row.grant_id,
  client_id: row.client_id,
  sub: row.user_id ?? row.client_id,
  user_id: row.user_id,
  session_id: row.session_id,
  organization_id: row.organization_id,
  scope: row.scope,
  audience: row.audience,
  issuer: ctx.environment.issuer,
  claims: row.claims === null ? [] : Object.keys(row.claims),
  act: row.act,
  earlier_scopes: textMembers(row.earlier_scopes),
  authorization_details: row.authorization_details,
  exchanged: row.exchanged,
  jkt: row.jkt,
  acr: row.acr,
  amr: row.amr ?? [],
  auth_time: row.auth_time,
  issued_at: row.issued_at,
  expires_at: row.expires_at,
});

async function findJwt(
  ctx: Context,
  scope: Scope,
  token: string,
  extras: TokenExtras,
  proof: ProofToStore | null,
): Promise<FoundToken | null> {
  const read = await readJwt(ctx, token);
  if (!read) return null;
  const { claims, payload } = read;
  const resource = isOwnAudience(ctx, claims.audience) ? null : claims.audience;
  const keys = { ...statusKeys(claims), resource };
  const proven = proof?.jkt === claims.jkt ? proof : null;
  if (!proven) {
    const { status, user, permissions } = await findJwtStatus(scope, keys, extras);
    return { claims, payload, status, user, permissions, first_use: true };
  }
  const { status, user, permissions, first_use } = await findProvenJwtStatus(scope, keys, proven);
  return { claims, payload, status, user, permissions, first_use };
}

/**
 * The token and the state of what it hangs on, in one statement; null when it isn't one of ours.
 * @param extras what is to be known besides
 * @param proof what it is presented with, if its use has to be stored: the same statement does, when it proves the key of the token; the user is then known
 */
export async function lookUpToken(
  ctx: Context,
  scope: Scope,
  token: string,
  extras: TokenExtras,
  proof: ProofToStore | null = null,
): Promise<FoundToken | null> {
  if (isJwt(token)) return findJwt(ctx, scope, token, extras, proof);
  if (!isOpaque(token)) return null;
  const issuers = acceptedIssuers(ctx);
  const found = proof
    ? await findProvenAccessToken(scope, digest(token), issuers, proof)
    : await findAccessToken(scope, digest(token), extras, issuers);
  if (!found) return null;
  const { token: row, user, permissions } = found;
  return { claims: contentOf(ctx, row), status: row, payload: null, user, permissions, first_use: found.first_use };
}

/**
 * The tokens, in their order, and the state of what they hang on, by one statement; null for what isn't one of ours. Nothing else is known of them: where
 * one token is presented, {@link lookUpToken} is for it.
 */
export async function lookUpTokens(ctx: Context, tokens: readonly string[]): Promise<(FoundToken | null)[]> {
  const read = await Promise.all(
    tokens.map(async (token): Promise<ReadJwt | { digest: Buffer } | null> => {
      if (isJwt(token)) return readJwt(ctx, token);
      return isOpaque(token) ? { digest: digest(token) } : null;
    }),
  );
  const known = read.filter((one) => one !== null);
  const rows = await findTokenStates(
    ctx.scope,
    known.map((one) => ('digest' in one ? one : statusKeys(one.claims))),
  );
  const none = { user: null, permissions: null, first_use: true };
  return read.map((one) => {
    const row = one === null ? null : (rows[known.indexOf(one)] ?? null);
    if (one === null || row === null) return null;
    if ('digest' in one) return { claims: contentOf(ctx, row), status: row, payload: null, ...none };
    return { ...one, status: row, ...none };
  });
}

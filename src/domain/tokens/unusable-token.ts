import type { Context } from '../context.js';
import { acceptedIssuers } from '../environment.js';
import { keyRing } from '../signing-keys/signing-keys.js';
import { peekJwt, verifyJwt, type JwtType } from './formats/jwt.js';

const isoSeconds = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');

/** A value out of a token that nobody has verified, as it may stand in an error description (RFC 6749 5.2): bounded visible ASCII. */
export const quotedValue = (value: unknown) =>
  typeof value === 'string' && value !== '' ? value.slice(0, 200).replaceAll(/[^\x21\x23-\x5b\x5d-\x7e]/g, '?') : 'nobody';

const isTime = (value: unknown): value is number => typeof value === 'number' && value > 0 && value < 1e11;

/** What an opaque text is that can't be an access token of this service. */
function whyNotOpaque(token: string): string {
  if (token.startsWith('rt_')) return 'this is a refresh token, not an access token';
  if (token.startsWith('at_'))
    return 'this opaque access token is not known here: it was revoked, expired long ago, or issued by another environment or service';
  return 'this is not an access token of this service';
}

/** The kinds of JWT that are signed here, and what one is that isn't an access token. */
const kinds = new Map<unknown, { readonly typ: JwtType; readonly other: string | null }>([
  ['at+jwt', { typ: 'at+jwt', other: null }],
  ['JWT', { typ: 'JWT', other: 'this is an ID token, not an access token' }],
  ['logout+jwt', { typ: 'logout+jwt', other: 'this is a logout token, not an access token' }],
]);

/**
 * Why a text that no access token was found by isn't one that is good here, for whoever sent it: nothing is said that the sender couldn't read in it or
 * in the published keys. Without a statement, for anybody can send such a text.
 */
export async function whyUnknown(ctx: Context, token: string): Promise<string> {
  if (!token.includes('.')) return whyNotOpaque(token);
  const seen = peekJwt(token);
  if (!seen) return 'this is not a well-formed JWT';
  const { header, claims } = seen;
  const { issuer } = ctx.environment;
  if (!acceptedIssuers(ctx).includes(claims['iss'] as string))
    return `this token was issued by ${quotedValue(claims['iss'])}, and this is ${issuer}`;
  const ring = await keyRing(ctx);
  const algorithms = [...new Set([...ring.byKid.values()].map(({ algorithm }) => algorithm))];
  if (!algorithms.some((algorithm) => algorithm === header['alg']))
    return `this token is signed with ${quotedValue(header['alg'])}; tokens of ${issuer} are signed with ${algorithms.join(', ')}`;
  if (!ring.byKid.has(header['kid'] as string)) return `this token is signed by a key that ${issuer} does not publish, or no longer`;
  const kind = kinds.get(header['typ']);
  if (!kind || verifyJwt(ring, kind.typ, token) === null) return 'the signature of this token is not right';
  // An access token of type `JWT` has a client_id, which an ID token hasn't (RFC 9068 2.2).
  if (kind.other !== null && claims['client_id'] === undefined) return kind.other;
  const { exp, nbf } = claims;
  const now = ctx.clock.now().getTime() / 1000;
  if (isTime(exp) && exp <= now) return expiredAt(exp);
  if (isTime(nbf) && nbf > now) return `the access token is not good before ${isoSeconds(nbf)}`;
  return 'this is not an access token of this service';
}

/** The reason of one whose time is up; `exp` in seconds. */
export const expiredAt = (exp: number): string => `the access token expired at ${isoSeconds(exp)}`;

import { isSignatureOf, signatureOf } from '../../../lib/signing-algorithm.js';
import type { Context } from '../../context.js';
import type { KeyRing, Signer } from '../../signing-keys/signing-keys.js';
import { jsonObject, type JsonObject } from '../../../lib/json-object.js';
import { memo, ofEach } from '../../../lib/memo.js';

/** The media type in the header keeps one kind of JWT from being taken for another (RFC 8725 3.11). */
export type JwtType =
  | 'at+jwt' | 'JWT' | 'logout+jwt' | 'token-introspection+jwt' | 'password-migration+jwt' | 'oauth-id-jag+jwt' | 'secevent+jwt'
  | 'revocations+jwt'; // prettier-ignore

/** The encoded header, by signer and type. */
const headersOf = ofEach(({ kid, algorithm }: Signer) =>
  memo((typ: JwtType) => Buffer.from(JSON.stringify({ alg: algorithm, typ, kid })).toString('base64url')),
);

/** Signs the claims with the key, on the thread pool. Undefined claims are left out. */
export async function signJwt(
  { crypto: { signing }, tracer }: Pick<Context, 'crypto' | 'tracer'>,
  signer: Signer,
  typ: JwtType,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  const input = `${headersOf(signer)(typ)}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  const span = tracer === null ? null : tracer.internal(`sign ${signer.algorithm}`);
  signing.entered();
  try {
    const signature = await signatureOf(signer.algorithm, signer.privateKey, input);
    return `${input}.${signature.toString('base64url')}`;
  } finally {
    signing.left();
    span?.end();
  }
}

const maxLength = 16_384;
const shape = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;

/** Canonical base64url only: two texts never stand for the same token. */
function decode(segment: string): Buffer | null {
  const bytes = Buffer.from(segment, 'base64url');
  return bytes.toString('base64url') === segment ? bytes : null;
}

function parseObject(segment: string): JsonObject | null {
  const bytes = decode(segment);
  if (bytes === null) return null;
  try {
    return jsonObject(JSON.parse(bytes.toString('utf8')));
  } catch {
    return null;
  }
}

const allowedHeaderMembers = new Set(['alg', 'typ', 'kid']);

/** What a JWT says of itself, which proves nothing: for telling its sender what is wrong with it. Null when it isn't one. */
export function peekJwt(token: string): { readonly header: JsonObject; readonly claims: JsonObject } | null {
  const segments = token.length > maxLength ? null : shape.exec(token);
  const header = segments && parseObject(segments[1] ?? '');
  const claims = segments && parseObject(segments[2] ?? '');
  return header && claims && { header, claims };
}

/**
 * The claims of a JWT that this environment signed with a key it still publishes, or null. Nothing in the token chooses
 * how it is verified: the key is ours, the algorithm is that key's, any other header member (jwk, jku, x5c, crit, b64, zip) is
 * a refusal (RFC 8725 3.1, 3.10). Time and audience are the caller's to check.
 */
export function verifyJwt(ring: Pick<KeyRing, 'byKid'>, typ: JwtType, token: string): Record<string, unknown> | null {
  if (token.length > maxLength) return null;
  const segments = shape.exec(token);
  if (!segments) return null;
  const [, head = '', body = '', tail = ''] = segments;
  const header = parseObject(head);
  if (!header || header['typ'] !== typ || typeof header['kid'] !== 'string') return null;
  if (Object.keys(header).some((name) => !allowedHeaderMembers.has(name))) return null;
  const key = ring.byKid.get(header['kid']);
  const signature = decode(tail);
  if (!key || header['alg'] !== key.algorithm || !signature) return null;
  return isSignatureOf(key.algorithm, key.publicKey, `${head}.${body}`, signature) ? parseObject(body) : null;
}

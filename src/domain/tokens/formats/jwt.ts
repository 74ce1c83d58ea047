import { sign, verify } from 'node:crypto';
import { createDrainRate } from '../../../lib/drain-rate.js';
import type { KeyRing } from '../../signing-keys/signing-keys.js';

/** The media type in the header keeps one kind of JWT from being taken for another (RFC 8725 3.11). */
export type JwtType = 'at+jwt' | 'JWT' | 'logout+jwt';

const headers = new Map<string, string>();

function encodedHeader(kid: string, typ: JwtType): string {
  const name = `${kid} ${typ}`;
  let header = headers.get(name);
  if (header === undefined) {
    header = Buffer.from(JSON.stringify({ alg: 'RS256', typ, kid })).toString('base64url');
    headers.set(name, header);
    if (headers.size > 10_000) headers.delete(headers.keys().next().value as string);
  }
  return header;
}

/** The signatures that this process is making. None is refused here, where what it is for may be spent already: the door asks before. */
export const signing = createDrainRate();

/** Signs the claims as RS256 with the environment's primary key, on the thread pool. Undefined claims are left out. */
export function signJwt(
  ring: Pick<KeyRing, 'kid' | 'privateKey'>,
  typ: JwtType,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  const input = `${encodedHeader(ring.kid, typ)}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return new Promise((resolve, reject) => {
    signing.entered();
    sign('sha256', Buffer.from(input), ring.privateKey, (error, signature) => {
      signing.left();
      if (error) reject(error);
      else resolve(`${input}.${signature.toString('base64url')}`);
    });
  });
}

const maxLength = 16_384;
const shape = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;

/** Canonical base64url only: two texts never stand for the same token. */
function decode(part: string): Buffer | null {
  const bytes = Buffer.from(part, 'base64url');
  return bytes.toString('base64url') === part ? bytes : null;
}

function parseObject(part: string): Record<string, unknown> | null {
  const bytes = decode(part);
  if (bytes === null) return null;
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

const allowedHeaderMembers = new Set(['alg', 'typ', 'kid']);

/**
 * The claims of a JWT that this environment signed with a key it still publishes, or null. Nothing in the token chooses
 * how it is verified: the algorithm is RS256, the key is ours, any other header member (jwk, jku, x5c, crit, b64, zip) is
 * a refusal (RFC 8725 3.1, 3.10). Time and audience are the caller's to check.
 */
export function verifyJwt(ring: Pick<KeyRing, 'byKid'>, typ: JwtType, token: string): Record<string, unknown> | null {
  if (token.length > maxLength) return null;
  const parts = shape.exec(token);
  if (!parts) return null;
  const [, head = '', body = '', tail = ''] = parts;
  const header = parseObject(head);
  if (!header || header['alg'] !== 'RS256' || header['typ'] !== typ || typeof header['kid'] !== 'string') return null;
  if (Object.keys(header).some((name) => !allowedHeaderMembers.has(name))) return null;
  const key = ring.byKid.get(header['kid']);
  const signature = decode(tail);
  if (!key || !signature) return null;
  return verify('sha256', Buffer.from(`${head}.${body}`), key.publicKey, signature) ? parseObject(body) : null;
}

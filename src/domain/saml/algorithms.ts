import { constants, verify, type KeyObject } from 'node:crypto';
import { named } from '../../lib/named.js';

type Hash = 'sha256' | 'sha384' | 'sha512';

/** How a method signs; `rsa-pss` with a salt as long as the hash. A key of another kind verifies nothing by it. */
type SignatureMethod = { readonly kind: 'rsa' | 'rsa-pss' | 'ec'; readonly hash: Hash };

const more = (name: string) => `http://www.w3.org/2001/04/xmldsig-more#${name}`;

/** The methods of signatures that count, RSA and ECDSA with SHA-256 or better (XML Signature 1.1 6.4, RFC 6931 2.3). */
export const signatureMethods: Readonly<Record<string, SignatureMethod>> = named({
  [more('rsa-sha256')]: { kind: 'rsa', hash: 'sha256' },
  [more('rsa-sha384')]: { kind: 'rsa', hash: 'sha384' },
  [more('rsa-sha512')]: { kind: 'rsa', hash: 'sha512' },
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1': { kind: 'rsa-pss', hash: 'sha256' },
  [more('ecdsa-sha256')]: { kind: 'ec', hash: 'sha256' },
  [more('ecdsa-sha384')]: { kind: 'ec', hash: 'sha384' },
  [more('ecdsa-sha512')]: { kind: 'ec', hash: 'sha512' },
});

export const digestMethods: Readonly<Record<string, Hash>> = named({
  'http://www.w3.org/2001/04/xmlenc#sha256': 'sha256',
  [more('sha384')]: 'sha384',
  'http://www.w3.org/2001/04/xmlenc#sha512': 'sha512',
});

/** Whether the key made the signature by the method: an RSA key by none for ECDSA, nor the other way round. */
export function isSignedBy(key: KeyObject, method: string, signed: Buffer, signature: Buffer): boolean {
  const known = signatureMethods[method];
  if (!known || key.asymmetricKeyType !== (known.kind === 'ec' ? 'ec' : 'rsa')) return false;
  const { RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING, RSA_PSS_SALTLEN_DIGEST } = constants;
  const how = {
    rsa: { padding: RSA_PKCS1_PADDING },
    'rsa-pss': { padding: RSA_PKCS1_PSS_PADDING, saltLength: RSA_PSS_SALTLEN_DIGEST },
    // r and s one behind the other, no DER (RFC 4050 3.3).
    ec: { dsaEncoding: 'ieee-p1363' },
  } as const;
  return verify(known.hash, signed, { key, ...how[known.kind] }, signature);
}

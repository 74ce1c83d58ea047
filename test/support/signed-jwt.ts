import { CompactSign, exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose';

/** A key pair of a client: signs what it says, and shows its public part. */
export type ClientKey = {
  readonly jwk: JWK;
  sign(claims: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  /** The same of a payload that no `JSON.stringify` writes. */
  signText(payload: string, header?: Record<string, unknown>): Promise<string>;
};

/** Makes a pair; `kid` is in key and header. */
export async function createClientKey(
  alg: 'RS256' | 'ES256' | 'PS256' | 'EdDSA' | 'Ed25519' = 'RS256',
  kid = `${alg}-1`,
): Promise<ClientKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    sign: (claims, header = {}) => new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
    signText: (payload, header = {}) => new CompactSign(Buffer.from(payload)).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
  };
}

/** A JWT that isn't signed at all. */
export function unsignedJwt(claims: object, header: object = { alg: 'none' }): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(claims)}.`;
}

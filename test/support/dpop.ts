import { createHash, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTHeaderParameters } from 'jose';
import type { proofAlgorithms } from '../../src/domain/dpop/proof.js';

/** What a proof is made for; `token`: the access token that it comes with. */
export type ProofFor = { readonly htu: string; readonly htm?: string; readonly token?: string; readonly nonce?: string | undefined };

/** A key of a client that uses DPoP (RFC 9449). */
export type ProofKey = {
  readonly jwk: JWK;
  readonly privateKey: CryptoKey;
  readonly jkt: string;
  /** A proof; claims and header members may be put in place of the right ones, undefined leaves one out. */
  proof(request: ProofFor, claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
};

export async function createProofKey(alg: (typeof proofAlgorithms)[number] | 'RS256' = 'ES256', now = () => Date.now()): Promise<ProofKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  return {
    jwk,
    privateKey,
    jkt: await calculateJwkThumbprint(jwk),
    proof({ htu, htm = 'POST', token, nonce }, claims = {}, header = {}) {
      const ath = token === undefined ? undefined : createHash('sha256').update(token).digest('base64url');
      const all = { jti: randomUUID(), htm, htu, iat: Math.floor(now() / 1000), ath, nonce, ...claims };
      return new SignJWT(all).setProtectedHeader({ typ: 'dpop+jwt', alg, jwk, ...header } as JWTHeaderParameters).sign(privateKey);
    },
  };
}

import 'reflect-metadata';
import { createHash, createPublicKey, sign, webcrypto, type KeyObject } from 'node:crypto';
import { decodeCBOR, encodeCBOR, type CBORType } from '@levischuck/tiny-cbor';
import { CRLDistributionPointsExtension, Extension, X509CertificateGenerator } from '@peculiar/x509';
import type { RegistrationResponseJSON } from '@simplewebauthn/server';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
/** The extension of certificates of Android keys (WebAuthn L3 8.4.1). */
const keyDescription = '1.3.6.1.4.1.11129.2.1.17';

/** Versions and levels, the challenge, and three parts with nothing in them, in DER. */
const described = (challenge: Buffer) =>
  Buffer.concat([Buffer.from('30340201030a01000201040a01000420', 'hex'), challenge, Buffer.from('040030003000', 'hex')]);

/**
 * The credential as an Android key attests to it (WebAuthn L3 8.4), by a root of the test's own: its certificate names where a list of revoked ones is.
 * @param key the credential's, P-256
 */
export async function attestedByAndroid(
  made: RegistrationResponseJSON,
  key: KeyObject,
  revocation_list: string,
): Promise<RegistrationResponseJSON> {
  const { response } = made;
  const decoded = decodeCBOR(new Uint8Array(Buffer.from(response.attestationObject, 'base64url'))) as Map<string, CBORType>;
  const authData = decoded.get('authData') as Uint8Array;
  const challenge = createHash('sha256').update(Buffer.from(response.clientDataJSON, 'base64url')).digest();
  const authority = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const name = 'CN=root.example';
  const root = await X509CertificateGenerator.createSelfSigned({ name, keys: authority, signingAlgorithm: algorithm });
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  const leaf = await X509CertificateGenerator.create({
    subject: 'CN=key.example',
    issuer: name,
    publicKey: await webcrypto.subtle.importKey('spki', spki, algorithm, true, ['verify']),
    signingKey: authority.privateKey,
    signingAlgorithm: algorithm,
    extensions: [new CRLDistributionPointsExtension([revocation_list]), new Extension(keyDescription, false, described(challenge))],
  });
  const signature = sign('sha256', Buffer.concat([authData, challenge]), key);
  const attStmt = new Map<string, CBORType>([
    ['alg', -7],
    ['sig', new Uint8Array(signature)],
    ['x5c', [leaf, root].map(({ rawData }) => new Uint8Array(rawData))],
  ]);
  const attestation = encodeCBOR(new Map<string, CBORType>([['fmt', 'android-key'], ['attStmt', attStmt], ['authData', authData]])); // prettier-ignore
  return { ...made, response: { ...response, attestationObject: Buffer.from(attestation).toString('base64url') } };
}

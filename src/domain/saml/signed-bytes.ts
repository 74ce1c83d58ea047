import { createHash, createPublicKey, type X509Certificate } from 'node:crypto';
import { digestMethods, isSignedBy, signatureMethods } from './algorithms.js';
import { childrenOf, readXml, type XmlElement } from './xml.js';

/** What the library knows to verify by: the methods that count, and no others. */
const verifiers = Object.fromEntries(
  Object.keys(signatureMethods).map((method) => [
    method,
    class {
      getAlgorithmName = () => method;
      getSignature = (): never => {
        throw new Error('it verifies alone');
      };
      verifySignature = (signed: string, pem: unknown, signature: string) =>
        isSignedBy(createPublicKey(pem as string), method, Buffer.from(signed), Buffer.from(signature, 'base64'));
    },
  ]),
);
const digests = Object.fromEntries(
  Object.entries(digestMethods).map(([method, hash]) => [
    method,
    class {
      getAlgorithmName = () => method;
      getHash = (text: string) => createHash(hash).update(text).digest('base64');
    },
  ]),
);

/**
 * The element as read from the bytes that its signature covers, by one of the certificates. Whatever KeyInfo says counts for nothing.
 * @param xml the document, whose form was looked at (gate.ts)
 * @returns null where none of the certificates has signed it
 */
export async function signedBytes(xml: string, element: XmlElement, certificates: readonly X509Certificate[]): Promise<XmlElement | null> {
  const [signature] = childrenOf(element, 'signature', 'Signature');
  if (!signature) return null;
  const { SignedXml } = await import('xml-crypto');
  for (const certificate of certificates) {
    const verifier = new SignedXml({ publicCert: certificate.toString(), getCertFromKeyInfo: () => null });
    verifier.SignatureAlgorithms = verifiers;
    verifier.HashAlgorithms = digests;
    verifier.loadSignature(signature.serialize());
    try {
      if (!verifier.checkSignature(xml)) continue;
    } catch {
      continue;
    }
    const [covered, ...more] = verifier.getSignedReferences();
    if (covered !== undefined && more.length === 0) return readXml(covered);
  }
  return null;
}

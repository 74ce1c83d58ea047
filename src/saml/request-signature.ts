import { isSignedBy, signatureMethods } from '../domain/saml/algorithms.js';
import { requireUniqueIds, signedElements } from '../domain/saml/gate.js';
import { certificatesOf } from '../domain/saml/metadata.js';
import { SamlRefusal } from '../domain/saml/saml-refusal.js';
import { signedBytes } from '../domain/saml/signed-bytes.js';
import type { XmlElement } from '../domain/saml/xml.js';

const missing = () => new SamlRefusal('signature_missing', 'the request is not signed');
const wrong = () => new SamlRefusal('signature', 'the signature is not one of the registered certificates');

/**
 * Verifies a request that came by HTTP-Redirect (SAML Bindings 3.4.4.1): what was signed are the parameters as they stand in the address.
 * @param query of the address, undecoded; each of the parameters occurs in it once
 * @throws {SamlRefusal} `signature_missing`, `signature_algorithm`, `signature`
 */
export function requireSignedQuery(query: string, texts: readonly string[]): void {
  // By its name as it is read: one that is written otherwise (`Relay%53tate`) counts too.
  const written = (name: string) => query.split('&').find((pair) => new URLSearchParams(pair).has(name));
  const valueOf = (pair: string) => new URLSearchParams(pair).values().next().value ?? '';
  const [signature, algorithm] = [written('Signature'), written('SigAlg')];
  if (signature === undefined || algorithm === undefined) throw missing();
  const method = valueOf(algorithm);
  if (!signatureMethods[method]) throw new SamlRefusal('signature_algorithm', 'SigAlg is not RSA or ECDSA with SHA-256 or better');
  const signed = Buffer.from([written('SAMLRequest'), written('RelayState'), algorithm].filter((pair) => pair !== undefined).join('&'));
  const bytes = Buffer.from(valueOf(signature), 'base64');
  if (!certificatesOf(texts).some(({ publicKey }) => isSignedBy(publicKey, method, signed, bytes))) throw wrong();
}

/**
 * Verifies a request that came by HTTP-POST (SAML Bindings 3.5.4).
 * @returns it, as read from the bytes that the signature covers
 * @throws {SamlRefusal}
 */
export async function requireSignedXml(root: XmlElement, texts: readonly string[]): Promise<XmlElement> {
  requireUniqueIds(root);
  if (!signedElements(root, [root]).has(root)) throw missing();
  const covered = await signedBytes(root, certificatesOf(texts));
  if (!covered) throw wrong();
  return covered;
}

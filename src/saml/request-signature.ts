import { verify } from 'node:crypto';
import { certificateOf } from '../domain/saml/metadata.js';
import { requireUniqueIds, signedElements } from '../domain/saml/gate.js';
import { SamlRefusal } from '../domain/saml/saml-refusal.js';
import { childrenOf, readXml, type XmlElement } from '../domain/saml/xml.js';

const hashes: ReadonlyMap<string, string> = new Map([
  ['http://www.w3.org/2001/04/xmldsig-more#rsa-sha256', 'sha256'],
  ['http://www.w3.org/2001/04/xmldsig-more#rsa-sha512', 'sha512'],
]);

const missing = () => new SamlRefusal('signature_missing', 'the request is not signed');
const wrong = () => new SamlRefusal('signature', 'the signature is not one of the registered certificates');

const certificatesOf = (texts: readonly string[]) => texts.flatMap((text) => certificateOf(text) ?? []);

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
  const hash = hashes.get(valueOf(algorithm));
  if (hash === undefined) throw new SamlRefusal('signature_algorithm', 'SigAlg is not RSA with SHA-256 or SHA-512');
  const signed = Buffer.from([written('SAMLRequest'), written('RelayState'), algorithm].filter((pair) => pair !== undefined).join('&'));
  const bytes = Buffer.from(valueOf(signature), 'base64');
  if (!certificatesOf(texts).some(({ publicKey }) => verify(hash, signed, publicKey, bytes))) throw wrong();
}

/**
 * Verifies a request that came by HTTP-POST (SAML Bindings 3.5.4). Whatever KeyInfo says counts for nothing.
 * @returns it, as read from the bytes that the signature covers
 * @throws {SamlRefusal}
 */
export async function requireSignedXml(xml: string, root: XmlElement, texts: readonly string[]): Promise<XmlElement> {
  requireUniqueIds(root);
  if (!signedElements(root, [root]).has(root)) throw missing();
  const [signature] = childrenOf(root, 'signature', 'Signature');
  if (!signature) throw missing();
  const { SignedXml } = await import('xml-crypto');
  for (const certificate of certificatesOf(texts)) {
    const verifier = new SignedXml({ publicCert: certificate.toString(), getCertFromKeyInfo: () => null });
    verifier.loadSignature(signature.serialize());
    try {
      if (!verifier.checkSignature(xml)) continue;
    } catch {
      continue;
    }
    const [covered, ...more] = verifier.getSignedReferences();
    if (covered !== undefined && more.length === 0) return readXml(covered);
  }
  throw wrong();
}

import { X509Certificate } from 'node:crypto';
import { checkUrl } from '../../platform/fetch/guard.js';
import { SamlRefusal } from './saml-refusal.js';
import { childrenOf, elementsOf, isElement, readXml, xmlNamespaces, type XmlElement } from './xml.js';

/** Who a provider is, where people are sent, and by which keys it signs. */
export type IdentityProvider = { readonly entity_id: string; readonly sso_url: string; readonly certificates: readonly string[] };

export const maxCertificates = 4;
export const maxMetadataLength = 262_144;
const redirectBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';

/** A certificate as PEM, from PEM or the Base64 of metadata; null unless it is one with an RSA key of 2048 bits or more. */
export function certificateOf(text: string): X509Certificate | null {
  const base64 = text.replaceAll(/-----(BEGIN|END) CERTIFICATE-----|\s+/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return null;
  try {
    const certificate = new X509Certificate(Buffer.from(base64, 'base64'));
    const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey;
    return asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048 ? certificate : null;
  } catch {
    return null;
  }
}

const inSignature = (element: XmlElement): boolean =>
  element.namespace === xmlNamespaces.signature && element.name === 'Signature'
    ? true
    : element.parent !== null && inSignature(element.parent);

function certificatesIn(descriptor: XmlElement): string[] {
  const keys = childrenOf(descriptor, 'metadata', 'KeyDescriptor').filter(
    ({ attributes }) => (attributes.get('use') ?? 'signing') === 'signing',
  );
  const texts = keys.flatMap((key) =>
    [...elementsOf(key)].filter((one) => isElement(one, 'signature', 'X509Certificate')).map(({ text }) => text),
  );
  return [...new Set(texts.flatMap((text) => certificateOf(text)?.toString() ?? []))];
}

/**
 * Reads the metadata of one provider (SAML Metadata 2.4.3).
 * @throws {SamlRefusal} with a sentence that says what it lacks
 */
export function readMetadata(xml: string): IdentityProvider {
  if (xml.length > maxMetadataLength) throw new SamlRefusal('size', 'the metadata is longer than 256 KiB');
  // An administrator gives it: comments in it are nobody's trick.
  const root = readXml(
    xml
      .replace(/^\ufeff/, '')
      .replaceAll(/<!--[\s\S]*?-->/g, '')
      .trim(),
  );
  const entities = [...elementsOf(root)].filter((one) => isElement(one, 'metadata', 'EntityDescriptor') && !inSignature(one));
  const providers = entities.filter((entity) => childrenOf(entity, 'metadata', 'IDPSSODescriptor').length > 0);
  const [entity, ...more] = providers;
  if (!entity || more.length > 0) throw new SamlRefusal('structure', 'the metadata has not exactly one identity provider');
  const [descriptor, ...others] = childrenOf(entity, 'metadata', 'IDPSSODescriptor');
  const entity_id = entity.attributes.get('entityID');
  if (!descriptor || others.length > 0 || !entity_id) throw new SamlRefusal('structure', 'the metadata names no single provider');
  const services = childrenOf(descriptor, 'metadata', 'SingleSignOnService');
  const sso_url = services.find(({ attributes }) => attributes.get('Binding') === redirectBinding)?.attributes.get('Location');
  if (!sso_url) throw new SamlRefusal('structure', 'the metadata has no SingleSignOnService for HTTP-Redirect');
  // People's browsers go there, into a company's own network too.
  if (checkUrl(sso_url, { allowPrivateNetwork: true }) !== null)
    throw new SamlRefusal('structure', 'the Location of SingleSignOnService is no address for browsers');
  const certificates = certificatesIn(descriptor);
  if (certificates.length === 0) throw new SamlRefusal('structure', 'the metadata has no certificate with an RSA key of 2048 bits or more');
  return { entity_id, sso_url, certificates: certificates.slice(0, maxCertificates) };
}

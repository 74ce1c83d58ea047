import { X509Certificate } from 'node:crypto';
import { checkUrl, type NetworkPolicy, type UrlProblem } from '../../platform/fetch/guard.js';
import { SamlRefusal } from './saml-refusal.js';
import { childrenOf, elementsOf, isElement, readXml, xmlNamespaces, type XmlElement } from './xml.js';

/** Who a provider is, where people are sent, and by which keys it signs. */
export type IdentityProvider = { readonly entity_id: string; readonly sso_url: string; readonly certificates: readonly string[] };

export const maxCertificates = 4;
/** So many of metadata are looked at, whether they count or not. */
const mostRead = 16;
export const maxMetadataLength = 262_144;
const redirectBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';

/** The curves of ECDSA (FIPS 186-5). */
const curves = ['prime256v1', 'secp384r1', 'secp521r1'];
/** Which keys count, as a sentence goes on with it. */
export const countingKeys = 'an RSA key of 2048 bits or more, or an EC key of P-256, P-384 or P-521';

/** A certificate, from PEM or the Base64 of metadata; null unless it is one with {@link countingKeys}. */
export function certificateOf(text: string): X509Certificate | null {
  const base64 = text.replaceAll(/-----(BEGIN|END) CERTIFICATE-----|\s+/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return null;
  try {
    const certificate = new X509Certificate(Buffer.from(base64, 'base64'));
    const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey;
    const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails ?? {};
    const counts = asymmetricKeyType === 'rsa' ? modulusLength >= 2048 : asymmetricKeyType === 'ec' && curves.includes(namedCurve);
    return counts ? certificate : null;
  } catch {
    return null;
  }
}

/** Those of a list that count. */
export const certificatesOf = (texts: readonly string[]): X509Certificate[] => texts.flatMap((text) => certificateOf(text) ?? []);

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
  return [...new Set(certificatesOf(texts.slice(0, mostRead)).map(String))];
}

/** Why people's browsers are not sent there; null when they are, into a company's own network too. */
export function browserUrlProblem(url: string, policy: NetworkPolicy): UrlProblem | null {
  const problem = checkUrl(url, policy);
  return problem === 'url_address' ? null : problem;
}

/** The XML without its comments: an administrator gives it, and they are nobody's trick. One without an end stays, and is refused. */
const withoutComments = (xml: string): string =>
  xml
    .split('<!--')
    .map((part, index) => {
      const end = index === 0 ? -3 : part.indexOf('-->');
      return end === -1 ? `<!--${part}` : part.slice(end + 3);
    })
    .join('');

/**
 * Reads the metadata of one provider (SAML Metadata 2.4.3).
 * @param policy whether http counts; what is kept was judged when it came
 * @throws {SamlRefusal} with a sentence that says what it lacks
 */
export function readMetadata(xml: string, policy: NetworkPolicy = { allowPrivateNetwork: true }): IdentityProvider {
  if (xml.length > maxMetadataLength) throw new SamlRefusal('size', 'the metadata is longer than 256 KiB');
  const root = readXml(withoutComments(xml.replace(/^\ufeff/, '')).trim());
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
  if (browserUrlProblem(sso_url, policy) !== null)
    throw new SamlRefusal('structure', 'the Location of SingleSignOnService is no https address for browsers');
  const certificates = certificatesIn(descriptor);
  if (certificates.length === 0) throw new SamlRefusal('structure', `the metadata has no certificate with ${countingKeys}`);
  return { entity_id, sso_url, certificates: certificates.slice(0, maxCertificates) };
}

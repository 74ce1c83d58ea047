// A SAML identity provider that says whatever a test wants: signed by xml-crypto, encrypted by xml-encryption, as a provider of another maker would.
import { createHash, createPrivateKey, generateKeyPairSync, sign as signBytes, webcrypto, type KeyObject } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import 'reflect-metadata';
import { X509CertificateGenerator } from '@peculiar/x509';
import { SignedXml } from 'xml-crypto';
import { encrypt } from 'xml-encryption';
import { selfSignedCertificate } from '../../src/domain/saml-certificates/self-signed.js';
import { randomToken } from '../../src/lib/random.js';

export type SamlKeyPair = { readonly certificate: string; readonly privateKey: KeyObject };

export async function samlKeyPair(): Promise<SamlKeyPair> {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const [from, until] = [new Date(Date.now() - 86_400_000), new Date(Date.now() + 86_400_000 * 365)];
  return { certificate: await selfSignedCertificate(pair, { name: 'provider.example', from, until }), privateKey: pair.privateKey };
}

/** A pair for ECDSA, with a certificate of its own. */
export async function ecKeyPair(namedCurve: 'P-256' | 'P-384' | 'P-521' = 'P-256'): Promise<SamlKeyPair> {
  const algorithm = { name: 'ECDSA', namedCurve, hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({ name: 'CN=provider.example', keys, signingAlgorithm: algorithm });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  return { certificate: certificate.toString('pem'), privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) };
}

/** What xml-crypto can't sign with: SHA-384 and ECDSA, whose signatures are r and s, or wrongly DER. */
function addAlgorithms(signer: SignedXml, { signatureAlgorithm = '', digestAlgorithm = '', encoding = 'ieee-p1363' }: Signing): void {
  const hash = /sha(?:1|224|256|384|512)$/.exec(signatureAlgorithm)?.[0];
  class Signature {
    getAlgorithmName = () => signatureAlgorithm;
    getSignature = (text: unknown, pem: unknown) =>
      signBytes(hash, Buffer.from(text as string), { key: pem as string, dsaEncoding: encoding }).toString('base64');
    verifySignature = () => false;
  }
  if (hash && /ecdsa|sha384/.test(signatureAlgorithm)) signer.SignatureAlgorithms[signatureAlgorithm] = Signature;
  class Digest {
    getAlgorithmName = () => digestAlgorithm;
    getHash = (text: string) => createHash('sha384').update(text).digest('base64');
  }
  if (digestAlgorithm.endsWith('sha384')) signer.HashAlgorithms[digestAlgorithm] = Digest;
}

export const entityId = 'https://provider.example/saml';
const assertionNs = 'urn:oasis:names:tc:SAML:2.0:assertion';
const protocolNs = 'urn:oasis:names:tc:SAML:2.0:protocol';

/** What a request says that came by HTTP-Redirect. */
export function readRequest(url: URL): { id: string; xml: string; relay_state: string; attribute(name: string): string | undefined } {
  const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
  const attribute = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(xml)?.[1];
  return { id: attribute('ID') ?? '', xml, relay_state: url.searchParams.get('RelayState') ?? '', attribute };
}

export type Told = {
  /** Where we are, and who. */
  readonly acs: string;
  readonly audience: string;
  readonly request_id: string | null;
  readonly now: Date;
  readonly name_id?: string | null;
  readonly format?: string;
  readonly attributes?: Readonly<Record<string, string | readonly string[]>>;
  readonly assertion_id?: string;
  readonly response_id?: string;
  readonly issuer?: string;
  readonly response_issuer?: string;
  readonly destination?: string;
  readonly recipient?: string;
  readonly confirmed_request?: string | null;
  readonly status?: string;
  readonly from?: Date;
  readonly until?: Date;
  readonly session_until?: Date;
  readonly authenticated_at?: Date;
  /** XML that stands in the assertion, and in the response, beside what has to. */
  readonly in_assertion?: string;
  readonly in_response?: string;
};

const attributeXml = (attributes: Told['attributes'] = {}) =>
  Object.entries(attributes)
    .map(
      ([name, values]) =>
        `<saml:Attribute Name="${name}">${[values]
          .flat()
          .map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`)
          .join('')}</saml:Attribute>`,
    )
    .join('');
const iso = (date: Date) => date.toISOString();
const later = (date: Date, seconds: number) => new Date(date.getTime() + seconds * 1000);
const inResponseTo = (id: string | null) => (id === null ? '' : ` InResponseTo="${id}"`);

export function assertionXml(told: Told): string {
  const { acs, audience, request_id, now, name_id = 'ada', from = later(now, -30), until = later(now, 300) } = told;
  const { format = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent', confirmed_request = request_id, in_assertion = '' } = told;
  const session = told.session_until ? ` SessionNotOnOrAfter="${iso(told.session_until)}"` : '';
  return (
    `<saml:Assertion xmlns:saml="${assertionNs}" ID="${told.assertion_id ?? `_a${randomToken('')}`}" Version="2.0" IssueInstant="${iso(now)}">` +
    `<saml:Issuer>${told.issuer ?? entityId}</saml:Issuer><saml:Subject>` +
    (name_id === null ? '' : `<saml:NameID Format="${format}">${name_id}</saml:NameID>`) +
    `<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="${iso(until)}" Recipient="${told.recipient ?? acs}"${inResponseTo(confirmed_request)}/></saml:SubjectConfirmation></saml:Subject>` +
    `<saml:Conditions NotBefore="${iso(from)}" NotOnOrAfter="${iso(until)}"><saml:AudienceRestriction><saml:Audience>${audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>` +
    `<saml:AuthnStatement AuthnInstant="${iso(told.authenticated_at ?? now)}"${session}><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>` +
    `<saml:AttributeStatement>${attributeXml(told.attributes)}</saml:AttributeStatement>${in_assertion}</saml:Assertion>`
  );
}

export function responseXml(told: Told, assertion: string): string {
  const { acs, request_id, now, in_response = '' } = told;
  return (
    `<samlp:Response xmlns:samlp="${protocolNs}" ID="${told.response_id ?? `_r${randomToken('')}`}" Version="2.0" IssueInstant="${iso(now)}" Destination="${told.destination ?? acs}"${inResponseTo(request_id)}>` +
    `<saml:Issuer xmlns:saml="${assertionNs}">${told.response_issuer ?? told.issuer ?? entityId}</saml:Issuer>` +
    `<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${told.status ?? 'Success'}"/></samlp:Status>${in_response}${assertion}</samlp:Response>`
  );
}

export type Signing = {
  readonly signatureAlgorithm?: string;
  readonly digestAlgorithm?: string;
  readonly transforms?: readonly string[];
  readonly c14n?: string;
  readonly withKeyInfo?: boolean;
  readonly encoding?: 'ieee-p1363' | 'der';
  /** Of namespaces that count as if the element used them. */
  readonly prefixes?: readonly string[];
};

const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';

/** Signs the element of the name, which the document has once. */
export function sign(xml: string, name: 'Assertion' | 'Response', { certificate, privateKey }: SamlKeyPair, signing: Signing = {}): string {
  const signer = new SignedXml({
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    signatureAlgorithm: signing.signatureAlgorithm ?? 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: (signing.c14n ?? exclusive) as never,
    ...(signing.withKeyInfo && { publicCert: certificate, getKeyInfoContent: SignedXml.getKeyInfoContent }),
  });
  addAlgorithms(signer, signing);
  signer.addReference({
    xpath: `//*[local-name(.)='${name}']`,
    transforms: [...(signing.transforms ?? ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusive])],
    digestAlgorithm: signing.digestAlgorithm ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
    ...(signing.prefixes && { inclusiveNamespacesPrefixList: [...signing.prefixes] }),
  });
  signer.computeSignature(xml, {
    prefix: 'ds',
    location: { reference: `//*[local-name(.)='${name}']/*[local-name(.)='Issuer']`, action: 'after' },
  });
  return signer.getSignedXml();
}

/** An assertion as only the key of the certificate opens it. */
export async function encrypted(
  assertion: string,
  certificate: string,
  { content = 'http://www.w3.org/2009/xmlenc11#aes256-gcm', key = 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p', ...more } = {} as {
    content?: string;
    key?: string;
    keyEncryptionDigest?: string;
    keyEncryptionMgf?: string;
  },
): Promise<string> {
  const options = {
    rsa_pub: certificate,
    pem: certificate,
    encryptionAlgorithm: content,
    keyEncryptionAlgorithm: key,
    warnInsecureAlgorithm: false,
    disallowEncryptionWithInsecureAlgorithm: false,
    ...more,
  };
  const data = await new Promise<string>((resolve, reject) => {
    encrypt(assertion, options as never, (error: Error | null, text: string) => (error ? reject(error) : resolve(text)));
  });
  return `<saml:EncryptedAssertion xmlns:saml="${assertionNs}">${data}</saml:EncryptedAssertion>`;
}

export const metadataXml = (
  certificates: readonly string[],
  { entity_id = entityId, sso_url = 'https://provider.example/sso' } = {},
): string =>
  `<?xml version="1.0"?><!-- made by a provider --><md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entity_id}"><md:IDPSSODescriptor protocolSupportEnumeration="${protocolNs}">` +
  certificates
    .map(
      (one) =>
        `<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${one.replaceAll(/-----[^-]+-----/g, '')}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`,
    )
    .join('') +
  `<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${sso_url}"/></md:IDPSSODescriptor></md:EntityDescriptor>`;

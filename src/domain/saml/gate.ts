import { digestMethods, signatureMethods } from './algorithms.js';
import { SamlRefusal, type SamlRule } from './saml-refusal.js';
import { childrenOf, elementsOf, isElement, readXml, xmlNamespaces, type NamespaceName, type XmlElement } from './xml.js';

const maxBytes = 262_144;

const envelopedSignature = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
const exclusiveC14n = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const contentEncryption = [
  'http://www.w3.org/2009/xmlenc11#aes128-gcm',
  'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  'http://www.w3.org/2001/04/xmlenc#aes128-cbc',
  'http://www.w3.org/2001/04/xmlenc#aes256-cbc',
];
const keyEncryption = ['http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p', 'http://www.w3.org/2009/xmlenc11#rsa-oaep'];

/** A response whose form leaves no doubt about what its signatures cover. Nothing of it is verified yet. */
export type SamlResponse = {
  readonly root: XmlElement;
  readonly isSigned: boolean;
  /** Null: there is none, as when the provider refuses. */
  readonly assertion: { readonly element: XmlElement; readonly isSigned: boolean; readonly isEncrypted: boolean } | null;
};

/** The one child of the name. @throws {SamlRefusal} */
function only(element: XmlElement, namespace: NamespaceName, name: string, rule: SamlRule): XmlElement {
  const [found, ...more] = childrenOf(element, namespace, name);
  if (!found || more.length > 0) throw new SamlRefusal(rule, `${element.name} has not exactly one ${name}`);
  return found;
}

/** Refuses children that a signature or an encryption may have elsewhere and hasn't here. @throws {SamlRefusal} */
function requireChildren(element: XmlElement, namespace: NamespaceName, names: readonly string[], rule: SamlRule): void {
  const other = element.children.find((child) => child.namespace !== xmlNamespaces[namespace] || !names.includes(child.name));
  if (other) throw new SamlRefusal(rule, `${element.name} has a ${other.name}`);
}

function requireAlgorithm(element: XmlElement, allowed: readonly string[], rule: SamlRule): void {
  const algorithm = element.attributes.get('Algorithm') ?? '';
  if (!allowed.includes(algorithm)) throw new SamlRefusal(rule, `${element.name} ${algorithm || 'without an algorithm'}`);
}

/** One reference, to the element that the signature stands in; enveloped and exclusively canonicalized; RSA or ECDSA, with SHA-256 or better. */
function checkSignature(signature: XmlElement, signed: XmlElement): void {
  const rule = 'signature_algorithm';
  requireChildren(signature, 'signature', ['SignedInfo', 'SignatureValue', 'KeyInfo'], rule);
  const info = only(signature, 'signature', 'SignedInfo', rule);
  only(signature, 'signature', 'SignatureValue', rule);
  requireChildren(info, 'signature', ['CanonicalizationMethod', 'SignatureMethod', 'Reference'], rule);
  const canonicalization = only(info, 'signature', 'CanonicalizationMethod', rule);
  requireAlgorithm(canonicalization, [exclusiveC14n], rule);
  if (canonicalization.children.length > 0) throw new SamlRefusal(rule, 'CanonicalizationMethod has parameters');
  requireAlgorithm(only(info, 'signature', 'SignatureMethod', rule), Object.keys(signatureMethods), rule);
  const reference = only(info, 'signature', 'Reference', rule);
  requireChildren(reference, 'signature', ['Transforms', 'DigestMethod', 'DigestValue'], rule);
  requireAlgorithm(only(reference, 'signature', 'DigestMethod', rule), Object.keys(digestMethods), rule);
  only(reference, 'signature', 'DigestValue', rule);
  const transforms = only(reference, 'signature', 'Transforms', rule);
  requireChildren(transforms, 'signature', ['Transform'], rule);
  const algorithms = transforms.children.map(({ attributes }) => attributes.get('Algorithm'));
  if (algorithms.join(' ') !== `${envelopedSignature} ${exclusiveC14n}`)
    throw new SamlRefusal(rule, `the transforms ${algorithms.join(', ')}`);
  const id = signed.attributes.get('ID') ?? '';
  if (id === '' || reference.attributes.get('URI') !== `#${id}`)
    throw new SamlRefusal('signature_place', `the signature in ${signed.name} refers to something else`);
}

/** Each signature stands right in the response or right in the assertion, once. @returns the elements that have one @throws {SamlRefusal} */
export function signedElements(root: XmlElement, signable: readonly XmlElement[]): ReadonlySet<XmlElement> {
  const signed = new Set<XmlElement>();
  for (const element of elementsOf(root)) {
    if (element.name !== 'Signature') continue;
    const { parent } = element;
    const isInPlace = isElement(element, 'signature', 'Signature') && parent !== null && signable.includes(parent) && !signed.has(parent);
    if (!isInPlace) throw new SamlRefusal('signature_place', `a signature in ${parent?.name ?? 'nothing'}`);
    checkSignature(element, parent);
    signed.add(parent);
  }
  return signed;
}

/** @throws {SamlRefusal} `ids` when one occurs twice, or is no name */
export function requireUniqueIds(root: XmlElement): void {
  const seen = new Set<string>();
  for (const { ids } of elementsOf(root))
    for (const id of ids) {
      if (seen.has(id) || !/^[\p{L}_][\p{L}\p{N}._-]*$/u.test(id)) throw new SamlRefusal('ids', 'an ID that occurs twice, or is no name');
      seen.add(id);
    }
}

const isAssertion = ({ name }: XmlElement) => name === 'Assertion' || name === 'EncryptedAssertion';

/** RSA-OAEP with AES: one key for one content, inside of each other. */
function checkEncryption(element: XmlElement): void {
  const rule = 'decryption';
  requireChildren(element, 'encryption', ['EncryptedData'], rule);
  const data = only(element, 'encryption', 'EncryptedData', rule);
  requireAlgorithm(only(data, 'encryption', 'EncryptionMethod', rule), contentEncryption, rule);
  const key = only(only(data, 'signature', 'KeyInfo', rule), 'encryption', 'EncryptedKey', rule);
  requireAlgorithm(only(key, 'encryption', 'EncryptionMethod', rule), keyEncryption, rule);
  for (const one of [data, key]) only(only(one, 'encryption', 'CipherData', rule), 'encryption', 'CipherValue', rule);
  const count = (expected: string) => [...elementsOf(element)].filter(({ name }) => name === expected).length;
  if (count('EncryptedKey') !== 1 || count('EncryptedData') !== 1 || count('CipherValue') !== 2 || count('RetrievalMethod') > 0)
    throw new SamlRefusal(rule, 'more than one key or content');
}

/** The XML of a response as it was posted. @throws {SamlRefusal} `size`, `encoding` */
export function decodeResponse(base64: string): string {
  const text = base64.replaceAll(/[\t\n\r ]+/g, '');
  if (text.length > Math.ceil(maxBytes / 3) * 4) throw new SamlRefusal('size', 'it is longer than 256 KiB');
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw new SamlRefusal('encoding', 'it is not Base64');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(text, 'base64'));
  } catch {
    throw new SamlRefusal('encoding', 'it is not UTF-8');
  }
}

/**
 * What a response may look like, looked at before anything of it is verified or decrypted: whatever is ambiguous is refused, and nothing is mended.
 * @throws {SamlRefusal}
 */
export function readResponse(xml: string): SamlResponse {
  const root = readXml(xml);
  if (!isElement(root, 'protocol', 'Response')) throw new SamlRefusal('structure', `it is a ${root.name}, no Response`);
  requireUniqueIds(root);
  const assertions = [...elementsOf(root)].filter(isAssertion);
  const [element = null, ...more] = assertions;
  if (more.length > 0) throw new SamlRefusal('structure', 'more than one assertion');
  if (element && (element.parent !== root || element.namespace !== xmlNamespaces.assertion))
    throw new SamlRefusal('structure', `the assertion is in ${element.parent?.name ?? 'nothing'}`);
  const isEncrypted = element?.name === 'EncryptedAssertion';
  const signed = signedElements(root, element && !isEncrypted ? [root, element] : [root]);
  if (element && isEncrypted) checkEncryption(element);
  return { root, isSigned: signed.has(root), assertion: element && { element, isSigned: signed.has(element), isEncrypted } };
}

/** The same of an assertion that was encrypted. @throws {SamlRefusal} unless it is one, and signed by itself */
export function readSignedAssertion(xml: string): XmlElement {
  const root = readXml(xml);
  requireUniqueIds(root);
  const others = [...elementsOf(root)].filter((one) => one !== root && isAssertion(one));
  if (!isElement(root, 'assertion', 'Assertion') || others.length > 0) throw new SamlRefusal('structure', 'no single assertion');
  if (!signedElements(root, [root]).has(root)) throw new SamlRefusal('signature_missing', 'the encrypted assertion is not signed');
  return root;
}

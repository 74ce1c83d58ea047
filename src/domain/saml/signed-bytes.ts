import { createHash, type X509Certificate } from 'node:crypto';
import { turns } from '../../lib/turns.js';
import { digestMethods, isSignedBy } from './algorithms.js';
import { childrenOf, elementsOf, isElement, readXml, type DomNode, type XmlElement } from './xml.js';

/** A namespace, as the library takes those around what it canonicalizes. */
type Binding = { readonly prefix: string; readonly namespaceURI: string };

/** The namespaces that the element declares itself. */
const declared = ({ attributes }: DomNode): Binding[] =>
  Array.from(attributes).flatMap(({ prefix, localName, value }) =>
    prefix === 'xmlns' ? [{ prefix: localName, namespaceURI: value }] : [],
  );

/** Those that it has from the elements around it, of each prefix the nearest. */
function inherited(node: DomNode): Binding[] {
  const found = new Map(declared(node).map(({ prefix }) => [prefix, null as Binding | null]));
  for (let around = node.parentNode; around?.attributes; around = around.parentNode)
    for (const one of declared(around)) if (!found.has(one.prefix)) found.set(one.prefix, one);
  return [...found.values()].filter((one) => one !== null);
}

const find = (element: XmlElement, name: string) => [...elementsOf(element)].find((one) => isElement(one, 'signature', name));

const decoded = (element: XmlElement | undefined) => Buffer.from(element?.text ?? '', 'base64');

/** The prefixes that count as if the element used them (Exclusive XML Canonicalization 3). */
const prefixesIn = (info: XmlElement): string[] =>
  [...elementsOf(info)]
    .filter(({ name }) => name === 'InclusiveNamespaces')
    .flatMap(({ attributes }) => (attributes.get('PrefixList') ?? '').split(' '))
    .filter((prefix) => prefix !== '');

/**
 * The element as read from the bytes that its signature covers, by one of the certificates. Whatever KeyInfo says counts for nothing. The signature is
 * looked at first, and what it covers only then: nobody else has anything large canonicalized.
 * @param element of a document whose form was looked at (gate.ts)
 * @returns null where none of the certificates has signed it
 */
export async function signedBytes(element: XmlElement, certificates: readonly X509Certificate[]): Promise<XmlElement | null> {
  const [signature] = childrenOf(element, 'signature', 'Signature');
  const [stated] = signature ? childrenOf(signature, 'signature', 'SignedInfo') : [];
  if (!signature || !stated) return null;
  const { ExclusiveCanonicalization } = await import('xml-crypto');
  const canonical = (node: DomNode, options: { ancestorNamespaces?: Binding[]; inclusiveNamespacesPrefixList?: string[] } = {}) =>
    new ExclusiveCanonicalization().process(node as never, options as never);
  const turn = turns();
  const text = canonical(stated.node);
  const info = readXml(text);
  const method = find(info, 'SignatureMethod')?.attributes.get('Algorithm') ?? '';
  const value = decoded(childrenOf(signature, 'signature', 'SignatureValue')[0]);
  if (!certificates.some(({ publicKey }) => isSignedBy(publicKey, method, Buffer.from(text), value))) return null;
  await turn();
  const copy = element.node.cloneNode(true);
  const enveloped = copy.childNodes[Array.from(element.node.childNodes).indexOf(signature.node)];
  if (enveloped) copy.removeChild(enveloped);
  const covered = canonical(copy, { ancestorNamespaces: inherited(element.node), inclusiveNamespacesPrefixList: prefixesIn(info) });
  const hash = digestMethods[find(info, 'DigestMethod')?.attributes.get('Algorithm') ?? ''];
  const isCovered =
    hash !== undefined &&
    createHash(hash)
      .update(covered)
      .digest()
      .equals(decoded(find(info, 'DigestValue')));
  await turn();
  return isCovered ? readXml(covered) : null;
}

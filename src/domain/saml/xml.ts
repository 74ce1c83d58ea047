import { onDemand } from '../../lib/on-demand.js';
import { SamlRefusal } from './saml-refusal.js';

/** What is read of the library's nodes, which are those of the DOM. */
export type DomNode = {
  readonly nodeType: number;
  readonly namespaceURI: string | null;
  readonly prefix: string | null;
  readonly localName: string;
  readonly data: string;
  readonly attributes: ArrayLike<DomAttribute>;
  readonly childNodes: ArrayLike<DomNode>;
  readonly parentNode: DomNode | null;
  cloneNode(deep: boolean): DomNode;
  removeChild(child: DomNode): void;
  toString(): string;
};
type DomAttribute = {
  readonly namespaceURI: string | null;
  readonly prefix: string | null;
  readonly localName: string;
  readonly name: string;
  readonly value: string;
};
type Parser = new (options: { errorHandler: (level: string, message: string) => void }) => {
  parseFromString(text: string, type: string): { readonly documentElement: DomNode | null; readonly childNodes: ArrayLike<DomNode> };
};

/** An element with its namespace, its attributes, the elements in it and its text. */
export type XmlElement = {
  readonly namespace: string;
  readonly name: string;
  readonly parent: XmlElement | null;
  /** Those without a namespace, by their names. */
  readonly attributes: ReadonlyMap<string, string>;
  /** The values of all that are called `ID`, in whatever case and namespace. */
  readonly ids: readonly string[];
  readonly children: readonly XmlElement[];
  /** The text in it itself, not that of the elements in it. */
  readonly text: string;
  /** As the library has it: for what canonicalizes it, or writes it as XML that stands by itself. */
  readonly node: DomNode;
};

export const xmlNamespaces = {
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  encryption: 'http://www.w3.org/2001/04/xmlenc#',
} as const;

const [elementNode, textNode] = [1, 3];
const [maxDepth, maxElements] = [20, 1500];
/** Of all elements, and of one. */
const [maxAttributes, maxAttributesOfOne] = [4500, 30];

/** Characters that XML 1.0 doesn't have (2.2), written as they are or as references. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const foreign = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const declaration = /^<\?xml version=["']1\.0["'](?: encoding=["']utf-8["'])?(?: standalone=["'](?:yes|no)["'])? ?\?>\s*/i;

const refuse = (found: string) => new SamlRefusal('xml', found);

function checkedText(text: string): string {
  if (foreign.test(text)) throw refuse('it holds a character that XML has not');
  return text;
}

/** A tag behind its `<`. */
const tagPattern = /^\/?(?:[^>"']|"[^"]*"|'[^']*')*>/;
const valuePattern = /"[^"]*"|'[^']*'/g;

/** Refuses by the text alone what takes a parser long: where there are no comments and no CDATA, each `<` begins a tag. */
function requireParsable(text: string): void {
  let [depth, count, attributes] = [0, 0, 0];
  for (const part of text.split('<', 2 * maxElements + 2).slice(1)) {
    const [tag] = tagPattern.exec(part) ?? [];
    if (tag === undefined) throw refuse('it is not well-formed');
    if (tag.startsWith('/')) depth -= 1;
    else {
      if (++count > maxElements || ++depth > maxDepth) throw refuse('it is nested too deeply, or has too many elements');
      const own = tag.match(valuePattern)?.length ?? 0;
      attributes += own;
      if (own > maxAttributesOfOne || attributes > maxAttributes) throw refuse('it has too many attributes');
      if (tag.endsWith('/>')) depth -= 1;
    }
  }
}

function elementOf(node: DomNode, parent: XmlElement | null): XmlElement {
  if ([node, ...Array.from(node.attributes)].some(({ prefix, namespaceURI }) => prefix && !namespaceURI))
    throw refuse('a prefix stands for no namespace');
  const attributes = new Map<string, string>();
  const ids: string[] = [];
  for (const { namespaceURI, localName, name, value } of Array.from(node.attributes)) {
    checkedText(value);
    if ((localName || name).toLowerCase() === 'id') ids.push(value);
    if (!namespaceURI && name !== 'xmlns') attributes.set(name, value);
  }
  const children: XmlElement[] = [];
  let text = '';
  const element: XmlElement = {
    namespace: node.namespaceURI ?? '',
    name: node.localName,
    parent,
    attributes,
    ids,
    children,
    get text() {
      return text;
    },
    node,
  };
  for (const child of Array.from(node.childNodes)) {
    if (child.nodeType === elementNode) children.push(elementOf(child, element));
    else if (child.nodeType === textNode) text += checkedText(child.data);
    else throw refuse('it holds something else than elements, attributes and text');
  }
  return element;
}

/**
 * Reads XML that consists of elements, attributes and text alone: no document type, and so no entities; no comments, processing instructions or CDATA. What
 * a lenient parser would mend is refused.
 * @throws {SamlRefusal} `xml`
 */
export function readXml(xml: string): XmlElement {
  const text = xml.replace(declaration, '');
  if (/<[!?]/.test(text)) throw refuse('it holds a document type, a comment, CDATA or a processing instruction');
  checkedText(text);
  requireParsable(text);
  const { DOMParser } = onDemand('@xmldom/xmldom') as { DOMParser: Parser };
  let root: DomNode | null;
  try {
    const parser = new DOMParser({
      errorHandler: (_level, message) => {
        throw new Error(message);
      },
    });
    const document = parser.parseFromString(text, 'text/xml');
    root = document.documentElement;
    const others = Array.from(document.childNodes).filter(
      (node) => node !== root && !(node.nodeType === textNode && node.data.trim() === ''),
    );
    if (others.length > 0) root = null;
  } catch {
    root = null;
  }
  if (root === null) throw refuse('it is not well-formed');
  return elementOf(root, null);
}

/** The element and all in it. */
export function* elementsOf(element: XmlElement): Generator<XmlElement> {
  yield element;
  for (const child of element.children) yield* elementsOf(child);
}

export type NamespaceName = keyof typeof xmlNamespaces;

export const isElement = (element: XmlElement, namespace: NamespaceName, name: string): boolean =>
  element.name === name && element.namespace === xmlNamespaces[namespace];

/** The elements of a name right in the element. */
export const childrenOf = (element: XmlElement, namespace: NamespaceName, name: string): XmlElement[] =>
  element.children.filter((child) => isElement(child, namespace, name));

import { named } from '../../lib/named.js';

/** XML that is well-formed by itself. */
export type Xml = { readonly xml: string };

const references: Readonly<Record<string, string>> = named({
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
});

/** Characters that XML 1.0 doesn't have (2.2). */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const foreign = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

const escaped = (text: string) => text.replaceAll(foreign, '\ufffd').replaceAll(/[&<>"\t\n\r]/g, (found) => references[found] ?? '');

/** An element; attributes of undefined are left out, and texts in it are escaped. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | undefined>>,
  ...content: readonly (Xml | string)[]
): Xml {
  const written = Object.entries(attributes).map(([key, value]) => (value === undefined ? '' : ` ${key}="${escaped(value)}"`));
  const inner = content.map((one) => (typeof one === 'string' ? escaped(one) : one.xml)).join('');
  return { xml: `<${name}${written.join('')}>${inner}</${name}>` };
}

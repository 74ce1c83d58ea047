import { createRequire } from 'node:module';
import type * as Saxes from 'saxes';
import type { SaxesTagNS } from 'saxes';
import { svgAttributes, svgElements, svgReferring, svgTexts } from './svg-names.js';
import { drawnElements, textWithin, type SvgElement } from './svg-drawing.js';

const onDemand = createRequire(import.meta.url);

const svgNamespace = 'http://www.w3.org/2000/svg';
const xlinkNamespace = 'http://www.w3.org/1999/xlink';

const maxElements = 5_000;
const maxDepth = 64;
const maxDrawn = 50_000;
const maxRemoved = 20;

/** An SVG image of what is allowed in one, written anew; `removed`: what of SVG isn't there any more, `<script>` or `onload`, each once. */
export type SanitisedSvg = { readonly text: string; readonly removed: readonly string[] };

/** Why a text is no SVG image that can be shown. The message completes "The image ...". */
export class SvgProblem extends Error {}

const localTarget = /^#[\w.:-]{1,200}$/;
const localUrl = /url\(\s*(["']?)#[\w.:-]{1,200}\1\s*\)/gi;
/** What CSS loads or runs by, and what hides it: escapes, comments within words. */
const unsafeCss = /[\\<]|url\s*\(|src\s*\(|image\s*\(|image-set|cross-fade|expression|javascript:|behavior|-moz-binding|@(?!media\b)/i;

/** So deep are brackets in CSS at most: browsers go down into them without looking how far, and the page around the image ends with them. */
const maxBrackets = 32;

function isNested(css: string): boolean {
  let depth = 0;
  for (const [sign] of css.matchAll(/[([{}\])]/g)) {
    depth = '([{'.includes(sign) ? depth + 1 : Math.max(0, depth - 1);
    if (depth > maxBrackets) return true;
  }
  return false;
}

/** Whether a value, of an attribute or of CSS, names nothing outside of the image. */
const isLocal = (value: string): boolean => !unsafeCss.test(value.replace(localUrl, ''));

/** Whether a style sheet, or a style, names nothing outside of the image, and can be read by every browser. */
const isStyle = (css: string): boolean => isLocal(css) && !isNested(css);

const escapes = new Map([['&', '&amp;'], ['<', '&lt;'], ['>', '&gt;'], ['"', '&quot;'], ['\t', '&#9;'], ['\n', '&#10;'], ['\r', '&#13;']]); // prettier-ignore
const escapeText = (text: string) => text.replace(/[&<>\r]/g, (sign) => escapes.get(sign) ?? '');
const escapeValue = (text: string) => text.replace(/[&<>"\t\n\r]/g, (sign) => escapes.get(sign) ?? '');

function written({ name, attributes, children }: SvgElement): string {
  const said = [...attributes].map(([attribute, value]) => ` ${attribute}="${escapeValue(value)}"`).join('');
  const inside = children.map((child) => (typeof child === 'string' ? escapeText(child) : written(child))).join('');
  return inside === '' ? `<${name}${said}/>` : `<${name}${said}>${inside}</${name}>`;
}

/** The attributes that stay, by their names without prefix; the others are told to `removed`. */
function attributesOf(tag: SaxesTagNS, removed: (name: string) => void): Map<string, string> {
  const kept = new Map<string, string>();
  for (const { name, local, prefix, uri, value } of Object.values(tag.attributes)) {
    const isHref = local === 'href' && (uri === '' || uri === xlinkNamespace);
    if (isHref && svgReferring.has(tag.local) && localTarget.test(value)) {
      if (uri === '' || !kept.has('href')) kept.set('href', value);
    } else if (uri === '' && svgAttributes.has(local) && (local === 'style' ? isStyle : isLocal)(value)) kept.set(local, value);
    else if (name === 'xml:space') kept.set(name, value);
    // What editors write for themselves draws nothing.
    else if (isHref || (uri === '' && prefix === '' && name !== 'xmlns' && !name.startsWith('data-'))) removed(local);
  }
  return kept;
}

/** Builds the tree of what stays. */
class Reading {
  readonly removed = new Set<string>();
  root: SvgElement | null = null;
  #open: SvgElement[] = [];
  /** How deep it is within an element that goes. */
  #skipped = 0;
  #count = 0;

  note = (name: string): void => {
    if (this.removed.size < maxRemoved) this.removed.add(name);
  };

  begin(tag: SaxesTagNS): void {
    const isSvg = tag.uri === svgNamespace || tag.uri === '';
    if (this.root === null && !(isSvg && tag.local === 'svg')) throw new SvgProblem('is no SVG: its outermost element is not svg.');
    if (++this.#count > maxElements) throw new SvgProblem(`has more than ${maxElements} elements.`);
    if (this.#open.length + this.#skipped >= maxDepth) throw new SvgProblem('is nested too deeply.');
    // Whether CSS goes on in elements within its own is seen differently by different programs.
    const isInStyle = this.#open.at(-1)?.name === 'style';
    if (this.#skipped > 0 || !isSvg || isInStyle || !svgElements.has(tag.local)) {
      if (this.#skipped === 0 && isSvg && tag.local !== 'metadata') this.note(`<${tag.local}>`);
      this.#skipped += 1;
      return;
    }
    const element: SvgElement = { name: tag.local, attributes: attributesOf(tag, this.note), children: [] };
    this.#open.at(-1)?.children.push(element);
    this.root ??= element;
    this.#open.push(element);
  }

  text(text: string): void {
    const within = this.#open.at(-1);
    if (within && this.#skipped === 0 && svgTexts.has(within.name)) within.children.push(text);
  }

  end(): void {
    if (this.#skipped > 0) {
      this.#skipped -= 1;
      return;
    }
    const element = this.#open.pop();
    if (element?.name !== 'style' || isStyle(textWithin(element))) return;
    element.children.length = 0;
    this.note('<style>');
  }
}

/**
 * An SVG image made anew from what draws (SVG 2): no scripts, no events, no animation, no foreign content, no links, and nothing that is loaded from elsewhere. XML only, without a
 * document type that declares anything.
 * @throws {SvgProblem} for a text that isn't well-formed, isn't SVG, or draws more elements than one should
 */
export function sanitiseSvg(source: string): SanitisedSvg {
  const reading = new Reading();
  const { SaxesParser } = onDemand('saxes') as typeof Saxes;
  const parser = new SaxesParser({ xmlns: true, position: false });
  parser.on('error', () => {
    throw new SvgProblem('is not well-formed XML.');
  });
  parser.on('doctype', (declared) => {
    // Entities multiply what they stand for, and name files.
    if (declared.includes('[')) throw new SvgProblem('declares entities in its document type.');
  });
  parser.on('opentag', (tag) => reading.begin(tag));
  parser.on('text', (text) => reading.text(text));
  parser.on('cdata', (text) => reading.text(text));
  parser.on('closetag', () => reading.end());
  parser.write(source.trimStart()).close();
  const { root } = reading;
  if (root === null) throw new SvgProblem('is no SVG.');
  if (drawnElements(root, maxDrawn) > maxDrawn) throw new SvgProblem('draws its elements too often by pointing at them.');
  root.attributes.delete('xmlns');
  const image = { ...root, attributes: new Map([['xmlns', svgNamespace], ...root.attributes]) };
  return { text: `${written(image)}\n`, removed: [...reading.removed].sort() };
}

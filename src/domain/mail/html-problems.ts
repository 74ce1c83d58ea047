import type * as Parse5 from 'parse5';
import type { Token } from 'parse5';
import { named, own } from '../../lib/named.js';
import { onDemand } from '../../lib/on-demand.js';
import type { Problem } from '../refusal.js';
import { findDeclarationProblem, findStyleProblem } from './style-problems.js';
import type { VariableKind, Variables } from './variables.js';

type Found = Pick<Problem, 'code' | 'detail'>;

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** What a mail is made of. Scripts, forms, frames and what is loaded by them are not in it: mail programs drop them, or warn of the whole mail. */
const elements = words(`html head meta title style body div span p a img table thead tbody tfoot tr td th caption colgroup col center font
  h1 h2 h3 h4 h5 h6 ul ol li dl dt dd br hr wbr b strong i em u s small sub sup mark del ins blockquote q cite pre code kbd abbr address time bdi bdo
  article aside section header footer main nav figure figcaption`);

/** What Outlook alone knows: VML, and settings of Office. */
const ofOffice = /^(?:[ovwx]:[a-z]+|xml)$/;

const attributes =
  words(`class id style lang dir title alt width height align valign bgcolor background color face size border cellpadding cellspacing
  colspan rowspan scope headers summary role href target rel src name content charset http-equiv type start value media datetime xmlns xmlns:v xmlns:o
  xml:lang aria-label aria-hidden`);

const readAttributes = words('title alt aria-label');

const schemes = named<readonly string[]>({ href: ['https:', 'mailto:', 'tel:'], src: ['https:'], background: ['https:'] });

/** The most attributes of an element: each one is compared with those before it. */
const mostAttributes = 100;
const pieceLength = 2_000;

/** What browsers forgive without reading something else into it. */
const forgiven =
  words(`absence-of-digits-in-numeric-character-reference control-character-reference missing-semicolon-after-character-reference
  unknown-named-character-reference noncharacter-character-reference null-character-reference surrogate-character-reference
  character-reference-outside-unicode-range non-void-html-element-start-tag-with-trailing-solidus end-tag-with-trailing-solidus`);

const refused = (line: number, detail: string): Found => ({ code: 'markup_not_allowed', detail: `line ${line} ${detail}` });

const tags = /\{\{\s*(?<name>\w+)\s*\}\}/g;
const holdsTag = (text: string) => text.includes('{{') || text.includes('}}');

function isVariable(text: string, kind: VariableKind, variables: Variables): boolean {
  const name = /^\{\{\s*(?<name>\w+)\s*\}\}$/.exec(text)?.groups?.['name'];
  return name !== undefined && own(variables, name)?.kind === kind;
}

/** Whether a variable may stand in the attribute: as a whole link that is ours, or among words that people read. */
function takesVariables({ name, value }: Token.Attribute, tagName: string, variables: Variables): boolean {
  if (readAttributes.has(name)) return !holdsTag(value.replaceAll(tags, ''));
  if (name !== 'href' || tagName !== 'a') return false;
  if (value.startsWith('mailto:')) return isVariable(value.slice('mailto:'.length), 'mailbox', variables);
  return isVariable(value, 'address', variables);
}

function addressProblem({ name, value }: Token.Attribute): string | null {
  const allowed = schemes[name];
  if (!allowed || (name === 'href' && value.startsWith('#'))) return null;
  const scheme = URL.canParse(value) ? new URL(value).protocol : null;
  if (scheme !== null && allowed.includes(scheme)) return null;
  return `has ${name}="${value.slice(0, 60)}": it must be an absolute address that begins with ${allowed.join(' or ')}.`;
}

/** Another encoding than that of the mail makes other characters, and other markup, of the same bytes. */
const encodings = named<RegExp>({ charset: /^utf-8$/i, content: /^(?![^]*charset)|charset\s*=\s*"?utf-8"?\s*$/i });

/** What speaks against the value of an attribute that holds no variables; null for nothing. */
function valueProblem(attribute: Token.Attribute): string | null {
  const { name, value } = attribute;
  if (name === 'style') return findDeclarationProblem(value, 'style="..."');
  if (encodings[name]?.test(value) === false) return `has ${name}="${value.slice(0, 60)}": mails are in UTF-8.`;
  return addressProblem(attribute);
}

function attributeProblem(attribute: Token.Attribute, tag: Token.TagToken, source: string, variables: Variables): string | null {
  const { name, value } = attribute;
  const known = attributes.has(name) || /^data-[a-z-]+$/.test(name) || (ofOffice.test(tag.tagName) && !name.startsWith('on'));
  if (!known) return `has the attribute ${name.slice(0, 60)}: what a mail does, it does without scripts, and without what looks like them.`;
  if (name === 'http-equiv' && value.toLowerCase() !== 'content-type') return 'has http-equiv: a mail goes nowhere by itself.';
  if (!holdsTag(value)) return valueProblem(attribute);
  const end = tag.location?.attrs?.[name]?.endOffset ?? 0;
  if (!/["']/.test(source.charAt(end - 1)))
    return `has ${name} without quotes around it: a value with a space in it would be further attributes.`;
  if (takesVariables(attribute, tag.tagName, variables)) return null;
  return name === 'href'
    ? 'has a link of variables: href="{{...}}" is one variable that is an address, and nothing else, lest the link carry a code elsewhere.'
    : `has variables in ${name}: they stand between tags, in title, alt or aria-label, or as a whole href.`;
}

/** The states that the parser puts the tokenizer in, for the elements of ours whose content is text (HTML Living Standard 13.2.6.2). */
const textStates: ReadonlyMap<string, 'RCDATA' | 'RAWTEXT'> = new Map([
  ['title', 'RCDATA'],
  ['style', 'RAWTEXT'],
]);

/** The parser of HTML, loaded when a template is looked at. */
export const parser = () => onDemand('parse5') as typeof Parse5;

/** What stands inside of title and style, of which nothing may be left out: what follows would be read as something else. */
function contentProblem(tagName: string, content: string): string | null {
  if (tagName === 'style') return holdsTag(content) ? 'has variables in <style>: they stand in text.' : findStyleProblem(content);
  return holdsTag(content.replaceAll(tags, '')) ? 'has a section in <title>: only plain variables can be there.' : null;
}

/** `<!--[if mso]>...<![endif]-->`: markup to Outlook, a comment to all others; `<!--[if !mso]><!-->` is its other half. */
const conditional = /^\s*\[if\b[^\]]*\]>(?<markup>.*?)(?:<!\[endif\]\s*|<!)?$/is;

/** What Outlook reads as markup of a comment; undefined: nothing. */
export const markupForOffice = (comment: string): string | undefined => conditional.exec(comment)?.groups?.['markup'];

/**
 * What speaks against a comment; null for nothing. What programs take it for markup has no scripts, and ends within it as it began: left open, an attribute
 * would go on over what follows, which may be a code.
 */
function commentProblem(data: string, variables: Variables, forOffice: boolean): string | null {
  if (holdsTag(data)) return 'has variables in a comment: they stand in text.';
  const markup = markupForOffice(data);
  if (markup === undefined) return /\[\s*if\b/i.test(data) ? 'has a conditional comment that can not be read.' : null;
  // No end of a comment closes two of them; and each would be read as deep as there are.
  if (forOffice) return 'has a conditional comment within another one.';
  const found = findHtmlProblem(markup, variables, true);
  return found && `has a conditional comment, of which ${found.detail}`;
}

/**
 * What speaks against an HTML template, whose tags are known to be fine by themselves; null for nothing. It is read as HTML, token by token, with its tags as
 * text. Sections begin and end between tags alone, where a `<` is always a tag's: so whatever of them is left out or repeated, the rest is read in the same way.
 * @param forOffice whether it stands in a conditional comment
 */
export function findHtmlProblem(template: string, variables: Variables, forOffice = false): Found | null {
  const { Tokenizer, TokenizerMode } = parser();
  const source = template.replaceAll('\r\n', '\n');
  let found: Found | null = null;
  let open: { readonly tagName: string; readonly from: number; readonly line: number } | null = null;
  const refuse = (line: number | undefined, detail: string | null) => {
    if (detail !== null) found ??= refused(line ?? 1, detail);
  };
  const isKnown = (tagName: string) => elements.has(tagName) || (forOffice && ofOffice.test(tagName));
  const startTag = (token: Token.TagToken) => {
    const { tagName, location } = token;
    if (!isKnown(tagName))
      refuse(location?.startLine, `has <${tagName.slice(0, 60)}>, which mail programs drop or warn of, or which is no element of mails.`);
    for (const attribute of token.attrs) refuse(location?.startLine, attributeProblem(attribute, token, source, variables));
    const state = textStates.get(tagName);
    if (state === undefined) return;
    tokenizer.state = TokenizerMode[state];
    open = { tagName, from: location?.endOffset ?? 0, line: location?.startLine ?? 1 };
  };
  const endTag = ({ tagName, location }: Token.TagToken) => {
    if (!isKnown(tagName)) refuse(location?.startLine, `has </${tagName.slice(0, 60)}>, which is no element of mails.`);
    if (open?.tagName === tagName) refuse(open.line, contentProblem(tagName, source.slice(open.from, location?.startOffset)));
    if (open?.tagName === tagName) open = null;
  };
  const ignore = () => undefined;
  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onStartTag: startTag,
      onEndTag: endTag,
      onComment: ({ data, location }) => refuse(location?.startLine, commentProblem(data, variables, forOffice)),
      onDoctype: ({ location }) =>
        refuse(
          location?.startLine,
          holdsTag(source.slice(location?.startOffset, location?.endOffset)) ? 'has variables in the doctype.' : null,
        ),
      onEof: () => refuse(open?.line, open ? `has <${open.tagName}> without its end.` : null),
      onCharacter: ignore,
      onNullCharacter: ignore,
      onWhitespaceCharacter: ignore,
      onParseError: ({ code, startLine }) =>
        refuse(startLine, forgiven.has(code) ? null : `is not well-formed HTML (${code}). A < that begins no tag is written &lt;.`),
    },
  );
  for (let at = 0; found === null && (at < source.length || at === 0); at += pieceLength) {
    tokenizer.write(source.slice(at, at + pieceLength), at + pieceLength >= source.length);
    const { attrs = [] } = (tokenizer as unknown as { currentToken: Partial<Token.TagToken> | null }).currentToken ?? {};
    if (attrs.length > mostAttributes) refuse(1, `has an element with more than ${mostAttributes} attributes.`);
  }
  return found;
}

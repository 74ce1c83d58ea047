import type { VariableKind, Variables } from './variables.js';
import { markupForOffice, parser } from './html-problems.js';
import { fillingOf, tagsOf } from './mustache.js';

/** Stands for a code, or for an address that brings one along, where a template is looked at. */
const marker = '\uE000';

/**
 * What mail programs make links of, in a word that a code is part of: an address, a host, an address of mail. A host may have symbols, hyphens and what
 * nobody sees; brackets, quotation marks and other dots beside a dot make none. Dots of other scripts count between what hosts are mostly made of: between
 * other letters they end sentences.
 */
const makesLink =
  /[/\\@\uff0f\uff20\ufe6b]|[^\s\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}]\.(?:[^\s\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}]|[%[])|[a-z0-9\uE000][\uff0e\u3002\uff61\u2024\ufe52][a-z0-9\uE000]/iu;

const carriesCode = (kind: VariableKind) => kind === 'code' || kind === 'address';

/** What may end with the address that the request came from: whoever sends it is at that host. */
const endsWithHost: ReadonlySet<string> = new Set(['ip_address', 'origin', 'details']);

/**
 * What stands for a variable: the same as a section would ask for, `there` or not. Values of people are no links (`plainWords`), addresses of mail and of
 * the network are. A list has two: what is said for each of them stands beside itself.
 */
function standIn(name: string, kind: VariableKind, there: boolean): unknown {
  if (carriesCode(kind)) return marker;
  const value = endsWithHost.has(name) ? '192.0.2.1' : 'x';
  if (kind === 'flag') return there;
  if (kind === 'list') return there ? [value, value] : [];
  if (kind === 'mailbox') return there ? 'x@x.xx' : '';
  return there || (kind !== 'optional' && kind !== 'message') ? value : '';
}

/** The most characters that are read, of all forms together: five sections make 32 forms. */
const mostRead = 150_000;

/** More is in words that tags are part of, in all that sections make of a template, than is read. */
export class TooManyForms extends Error {}

/** Everything that a template can become, by which of its sections are there. @throws {TooManyForms} */
function* formsOf(template: string, variables: Variables): Generator<string> {
  const fill = fillingOf(template, String);
  const sections = [...new Set(tagsOf(template).flatMap(({ type, name }) => (type === '#' || type === '^' ? [name] : [])))];
  if (sections.length > 0 && template.length * 2 ** sections.length > mostRead) throw new TooManyForms();
  for (let form = 0; form < 2 ** sections.length; form += 1) {
    const left = new Set(sections.filter((_, index) => (form & (1 << index)) !== 0));
    const values = Object.entries(variables).map(([name, { kind }]) => [name, standIn(name, kind, !left.has(name))]);
    yield fill(Object.fromEntries(values) as Record<string, unknown>);
  }
}

/** What parts words to every program: what is white space to Unicode alone is a part of a link to some. */
const spaces = new Set('\t\n\f\r ');

/** The words that a code is part of, each once and each character looked at once, however many codes there are: templates come from people. */
function* wordsWithCode(text: string): Generator<string> {
  for (let at = text.indexOf(marker), end = 0; at !== -1; at = text.indexOf(marker, end)) {
    let begin = at;
    while (begin > end && !spaces.has(text.charAt(begin - 1))) begin -= 1;
    end = at + 1;
    while (end < text.length && !spaces.has(text.charAt(end))) end += 1;
    yield text.slice(begin, end);
  }
}

/** A template without the words that no tag is part of, which carry nothing: what is left is read in each of its forms. */
function wordsBesideTags(template: string): string {
  const shortened = template.split(/(\{\{[^{}]*\}\})/).map((piece) => {
    const [first, last] = [piece.search(/[\t\n\f\r ]/), Math.max(...[...spaces].map((space) => piece.lastIndexOf(space)))];
    return /[{}]/.test(piece) || last <= first ? piece : piece.slice(0, first + 1) + piece.slice(last);
  });
  return shortened.join('');
}

/**
 * The word in which a mail that carries a code would have it in a link, were it only because mail programs make links of what looks like one: whoever clicks
 * tells the code to that host. Null when there is none, as in mails without a code. @throws {TooManyForms} @throws {Error} when it can't be read
 */
export function findCodeInLink(text: string, variables: Variables): string | null {
  if (!Object.values(variables).some(({ kind }) => kind === 'code')) return null;
  for (const form of formsOf(wordsBesideTags(text), variables)) {
    for (const word of wordsWithCode(form)) if (makesLink.test(word)) return word.replaceAll(marker, '{{...}}').slice(0, 80);
  }
  return null;
}

/** Elements within a line: what stands before and behind them is one word. */
const inline = new Set('a abbr b bdi bdo cite code del em font i ins kbd mark q small span strong sub sup time u wbr'.split(' '));

/**
 * The words of an HTML template, character references read; its tags (`{{name}}`) stay as they are.
 * @param forOffice as Outlook has them, which reads conditional comments
 */
export function wordsOfHtml(html: string, forOffice: boolean): string {
  const { Tokenizer, TokenizerMode } = parser();
  const words: string[] = [];
  let styles = false;
  // Nobody reads styles, and what stands before and behind them is no word with them.
  const add = ({ chars }: { chars: string }) => void (styles || words.push(chars));
  const between = ({ tagName }: { tagName: string }) => {
    styles = false;
    words.push(inline.has(tagName) ? '' : '\n');
  };
  const ignore = () => undefined;
  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: false },
    {
      onStartTag: (tag) => {
        between(tag);
        if (tag.tagName !== 'style') return;
        tokenizer.state = TokenizerMode.RAWTEXT;
        styles = true;
      },
      onEndTag: between,
      onCharacter: add,
      onWhitespaceCharacter: add,
      onNullCharacter: ignore,
      onComment: ({ data }) => void words.push(forOffice ? wordsOfHtml(markupForOffice(data) ?? '', false) : ''),
      onDoctype: ignore,
      onEof: ignore,
      onParseError: ignore,
    },
  );
  tokenizer.write(html, true);
  return words.join('');
}

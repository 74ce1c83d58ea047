import { Tokenizer, TokenizerMode } from 'parse5';
import type { VariableKind, Variables } from './variables.js';
import { fillingOf, tagsOf } from './mustache.js';

/** Stands for a code, or for an address that brings one along, where a template is looked at. */
const marker = '\uE000';

/** What mail programs make links of, in a word that a code is part of: an address, a host, an address of mail. */
const makesLink = /[/\\@]|[\p{L}\p{N}\uE000]\.[\p{L}\p{N}\uE000]/u;

/** Longer addresses are none to any program. */
const longestLink = 8_192;

const carriesCode = (kind: VariableKind) => kind === 'code' || kind === 'address';

/** What stands for a variable: the same as a section would ask for, `there` or not. Values of people are no links (`plainWords`), addresses of mail are. */
function standIn(kind: VariableKind, there: boolean): unknown {
  if (carriesCode(kind)) return marker;
  if (kind === 'flag') return there;
  if (kind === 'list') return there ? ['x'] : [];
  if (kind === 'mailbox') return there ? 'x@x.xx' : '';
  return there || kind !== 'optional' ? 'x' : '';
}

/** Everything that a template can become, by which of its sections are there. */
function* formsOf(template: string, variables: Variables): Generator<string> {
  const fill = fillingOf(template, String);
  const sections = [...new Set(tagsOf(template).flatMap(({ type, name }) => (type === '#' || type === '^' ? [name] : [])))];
  for (let form = 0; form < 2 ** sections.length; form += 1) {
    const left = new Set(sections.filter((_, index) => (form & (1 << index)) !== 0));
    const values = Object.entries(variables).map(([name, { kind }]) => [name, standIn(kind, !left.has(name))]);
    yield fill(Object.fromEntries(values) as Record<string, unknown>);
  }
}

/** The words of a text that a code is part of. */
function* wordsWithCode(text: string): Generator<string> {
  for (let at = text.indexOf(marker); at !== -1;) {
    const [before, after] = [/\S*$/u.exec(text.slice(Math.max(0, at - longestLink), at)), /^\S*/u.exec(text.slice(at, at + longestLink))];
    yield `${before?.[0] ?? ''}${after?.[0] ?? ''}`;
    at = text.indexOf(marker, at + 1);
  }
}

/**
 * The word in which a mail that carries a code would have it in a link, were it only because mail programs make links of what looks like one: whoever clicks
 * tells the code to that host. Null when there is none, as in mails without a code. @throws {Error} when it can't be read
 */
export function findCodeInLink(text: string, variables: Variables): string | null {
  if (!Object.values(variables).some(({ kind }) => kind === 'code')) return null;
  for (const form of formsOf(text, variables)) {
    for (const word of wordsWithCode(form)) if (makesLink.test(word)) return word.replaceAll(marker, '{{...}}').slice(0, 80);
  }
  return null;
}

/** Elements within a line: what stands before and behind them is one word. */
const inline = new Set('a abbr b bdi bdo cite code del em font i ins kbd mark q small span strong sub sup time u wbr'.split(' '));

/** The words of an HTML template, character references read; its tags (`{{name}}`) stay as they are. */
export function wordsOfHtml(html: string): string {
  const words: string[] = [];
  const add = ({ chars }: { chars: string }) => void words.push(chars);
  const between = ({ tagName }: { tagName: string }) => void words.push(inline.has(tagName) ? '' : '\n');
  const nothing = () => undefined;
  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: false },
    {
      onStartTag: (tag) => {
        between(tag);
        if (tag.tagName === 'style') tokenizer.state = TokenizerMode.RAWTEXT;
      },
      onEndTag: between,
      onCharacter: add,
      onWhitespaceCharacter: add,
      onNullCharacter: nothing,
      onComment: nothing,
      onDoctype: nothing,
      onEof: nothing,
      onParseError: nothing,
    },
  );
  tokenizer.write(html, true);
  return words.join('');
}

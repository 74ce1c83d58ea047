import { TYPE, type MessageFormatElement } from '@formatjs/icu-messageformat-parser';
import type { IntlMessageFormat } from 'intl-messageformat';
import { nearestName } from '../nearest.js';
import { own } from '../named.js';
import { holdsInvisible, holdsStack } from '../plain-words.js';
import type { Language } from './languages.js';
import { catalogueOf, createFormat, type MessageKey, type OwnTexts } from './messages.js';
import { memo, ofEach } from '../memo.js';

/** The most characters of a text; the longest built-in one has half of that. */
export const maxOwnText = 500;

/** How often a text may show a placeholder, since its value may be long. */
const mostShown = 2;

/** What a text names, and how often each is shown at most. */
type Shape = { readonly plurals: ReadonlySet<string>; readonly shown: ReadonlyMap<string, number>; readonly odd: string | null };

export type TextProblem = {
  readonly code: 'invalid_text' | 'unknown_variable' | 'variable_required' | 'markup_not_allowed' | 'invalid_characters';
  readonly detail: string;
};

/** What tells a line its direction where it begins with a number, and shows nothing itself (UAX 9): texts from right to left need it. */
const marks = /[\u200e\u200f\u061c]/g;
/** A part whose own direction doesn't reorder what stands around it (UAX 9, 2.4.2). */
const isolated = /[\u2066\u2068]([^\u2066-\u2069]*)\u2069/gu;

const add = (one: number, other: number) => one + other;

/** One shape of several, in which what is shown is added up (one after the other), or of which one alone is shown (`Math.max`). */
function joined(shapes: readonly Shape[], count: (one: number, other: number) => number): Shape {
  const shown = new Map<string, number>();
  for (const shape of shapes) for (const [name, times] of shape.shown) shown.set(name, count(shown.get(name) ?? 0, times));
  const plurals = new Set(shapes.flatMap((shape) => [...shape.plurals]));
  return { plurals, shown, odd: shapes.find(({ odd }) => odd !== null)?.odd ?? null };
}

const emptyShape: Shape = { plurals: new Set(), shown: new Map(), odd: null };

/** @param inPlural whether it stands in a plural */
function shapeOf(elements: readonly MessageFormatElement[], inPlural = false): Shape {
  const shapes = elements.map((element): Shape => {
    if (element.type === TYPE.literal || element.type === TYPE.pound) return emptyShape;
    if (element.type === TYPE.argument) return { ...emptyShape, shown: new Map([[element.value, 1]]) };
    if (element.type !== TYPE.plural) return { ...emptyShape, odd: 'has another form than a placeholder or a plural' };
    if (inPlural) return { ...emptyShape, odd: 'has a plural within another one' };
    if (element.offset !== 0 || element.pluralType !== 'cardinal') return { ...emptyShape, odd: 'has an offset, or counts by rank' };
    const options = Object.values(element.options).map(({ value }) => shapeOf(value, true));
    return joined(
      [joined(options, Math.max), { ...emptyShape, plurals: new Set([element.value]), shown: new Map([[element.value, 1]]) }],
      add,
    );
  });
  return joined(shapes, add);
}

/** What the English text of the key has: those of all languages have the same. */
const originalOf = memo((key: MessageKey) => shapeOf(createFormat('en', catalogueOf('en')[key]).getAst()));

/** Whether it is the key of a text of the pages; the words of mails are those of their templates. */
export const isPageTextKey = (key: string): key is MessageKey => !key.startsWith('mail.') && own(catalogueOf('en'), key) !== undefined;

export const pageTextKeys = (): MessageKey[] => Object.keys(catalogueOf('en')).filter(isPageTextKey);

/** A placeholder of a text; `counts`: it is a number that plurals go by. `needed`: every text of the key has it. */
export type Placeholder = { readonly name: string; readonly counts: boolean; readonly needed: boolean };

/** Where people decide whom they let in, or whom they join, the text says whom, and where it leads. */
const decisions: ReadonlySet<string> = new Set([
  'approval', 'consent', 'device', 'device_answer', 'invitation', 'link', 'provider_access', 'scope', 'unverified',
]); // prettier-ignore

export function placeholdersOf(key: MessageKey): Placeholder[] {
  const { shown, plurals } = originalOf(key);
  const needed = decisions.has(key.slice(0, key.indexOf('.')));
  return [...shown.keys()].map((name) => ({ name, counts: plurals.has(name), needed }));
}

const invalid = (detail: string): TextProblem => ({ code: 'invalid_text', detail });

function shapeProblem(key: MessageKey, { shown, plurals, odd }: Shape): TextProblem | null {
  if (odd !== null) return invalid(`${odd}.`);
  const known = placeholdersOf(key);
  const names = known.map(({ name }) => name);
  for (const [name, times] of shown) {
    const original = known.find((one) => one.name === name);
    if (!original) {
      const nearest = nearestName(name, names);
      const ending = nearest === null ? '.' : `: did you mean {${nearest}}?`;
      return { code: 'unknown_variable', detail: `has {${name.slice(0, 60)}}, which is no placeholder of this text${ending}` };
    }
    if (plurals.has(name) && !original.counts) return invalid(`has a plural of {${name}}, which is no number.`);
    if (times > mostShown + (plurals.has(name) ? 1 : 0)) return invalid(`shows {${name}} more than ${mostShown} times.`);
  }
  const missing = known.find(({ name, needed }) => needed && !shown.has(name));
  if (missing) return { code: 'variable_required', detail: `must have {${missing.name}}: people decide by it.` };
  return null;
}

/** What speaks against a text of the key in the language; null for nothing. Texts longer than {@link maxOwnText} are not looked at. */
export function textProblem(key: MessageKey, language: Language, text: string): TextProblem | null {
  if (text.length > maxOwnText) return invalid(`has more than ${maxOwnText} characters.`);
  if (text.trim() !== text) return invalid('must not begin or end with a space.');
  if (!/[^\s\p{M}\p{C}\u2800]/u.test(text)) return invalid('must show something.');
  if (holdsInvisible(text.replaceAll(marks, '').replaceAll(isolated, '$1')))
    return { code: 'invalid_characters', detail: 'must not hold line ends, invisible characters or directions of writing.' };
  if (holdsStack(text))
    return {
      code: 'invalid_characters',
      detail: 'must not have more than six marks on a character: they would cover the lines around it.',
    };
  if (/[<>]|&#?\w+;/.test(text)) return { code: 'markup_not_allowed', detail: 'must be plain text: no tags or entities, neither < nor >.' };
  let shape: Shape;
  try {
    shape = shapeOf(createFormat(language, text).getAst());
  } catch (error) {
    return invalid(`can not be read as ICU MessageFormat: ${(error as Error).message.slice(0, 200)}.`);
  }
  return shapeProblem(key, shape);
}

export type StoredText = { readonly id: string; readonly key: string; readonly locale: Language; readonly text: string };

/**
 * Texts before the built-in ones. Each is read when it is first shown; one that doesn't fit its key, as after a release that took a placeholder away,
 * is passed over for the built-in one.
 * @param onUnusable hears of such a text, once
 */
export function createOwnTexts(stored: readonly StoredText[], onUnusable: (text: StoredText, problem: TextProblem) => void): OwnTexts {
  const texts = new Map(stored.map((text) => [`${text.locale} ${text.key}`, text]));
  const formatOf = ofEach((text: StoredText, { language, key }: { language: Language; key: MessageKey }): IntlMessageFormat | null => {
    const problem = textProblem(key, language, text.text);
    if (problem === null) return createFormat(language, text.text);
    onUnusable(text, problem);
    return null;
  });

  return {
    formatOf(language, key) {
      const text = texts.get(`${language} ${key}`);
      return text === undefined ? null : formatOf(text, { language, key });
    },
  };
}

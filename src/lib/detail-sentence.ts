import { TYPE, type MessageFormatElement } from '@formatjs/icu-messageformat-parser';
import { asMoney, type Detail, type DetailField, type DetailShape } from './authorization-details.js';
import { dateWords } from './date-words.js';
import { languageTags, type Language } from './languages/languages.js';
import { createFormat, localeOf } from './languages/messages.js';
import { memo, ofEach } from './memo.js';
import { named, own } from './named.js';
import { holdsInvisible, holdsStack } from './plain-words.js';

/** The sentence of a type by language, in ICU MessageFormat. */
export type DetailSentence = Readonly<Partial<Record<Language, string>>>;

export const maxSentence = 500;

/** What stands for an optional field that isn't there. */
const absent = '–';

type Shape = { readonly shown: ReadonlySet<string>; readonly problem: string | null };

const nothing: Shape = { shown: new Set(), problem: null };

const both = (one: Shape, other: Shape): Shape => ({
  shown: new Set([...one.shown, ...other.shown]),
  problem: one.problem ?? other.problem,
});
const either = (one: Shape, other: Shape): Shape => ({
  shown: new Set([...one.shown].filter((name) => other.shown.has(name))),
  problem: one.problem ?? other.problem,
});

const wrong = (problem: string): Shape => ({ ...nothing, problem });

/** What a sentence shows, whatever its fields hold; fields that stand in some branches alone aren't shown. */
const shapeOf = (elements: readonly MessageFormatElement[], fields: readonly DetailField[]): Shape =>
  elements
    .map((element): Shape => {
      if (element.type === TYPE.literal || element.type === TYPE.pound) return nothing;
      const field = 'value' in element ? fields.find(({ name }) => name === element.value) : undefined;
      if (!field) return wrong('it names something that is no field of the type, or has a tag');
      if (element.type === TYPE.argument) return { ...nothing, shown: new Set([field.name]) };
      if (element.type !== TYPE.plural && element.type !== TYPE.select)
        return wrong('it may hold placeholders, plurals and choices: how values are written is up to the language');
      if (field.list || !field.required) return wrong(`${field.name} may be left out or hold several values: it takes a placeholder`);
      const options = Object.entries(element.options);
      const branches = options.map(([, { value }]) => shapeOf(value, fields)).reduce(either);
      if (element.type === TYPE.plural) {
        if (field.kind !== 'number' || element.offset !== 0) return wrong(`${field.name} is no number, or has an offset`);
        const isCounted = options.every(([name, { value }]) => name.startsWith('=') || value.some(({ type }) => type === TYPE.pound));
        return isCounted ? both(branches, { ...nothing, shown: new Set([field.name]) }) : branches;
      }
      if (field.kind !== 'choice') return wrong(`${field.name} is no choice`);
      const isTold = (field.choices ?? []).every((one) => own(element.options, one)) && options.every(([, { value }]) => value.length > 0);
      return isTold ? both(branches, { ...nothing, shown: new Set([field.name]) }) : wrong(`it has to say every choice of ${field.name}`);
    })
    .reduce(both, nothing);

/** What is wrong with the sentence in a language; null: nothing. */
export function sentenceProblem(language: Language, text: string, fields: readonly DetailField[]): string | null {
  if (text.trim() === '' || holdsInvisible(text) || holdsStack(text)) return 'it is empty, or holds invisible characters';
  let shape: Shape;
  try {
    shape = shapeOf(createFormat(language, text).getAst(), fields);
  } catch {
    return 'it is no ICU MessageFormat';
  }
  const missing = fields.find(({ name }) => !shape.shown.has(name));
  return shape.problem ?? (missing ? `it does not show ${missing.name} in every case` : null);
}

const formatsOf = memo((language: Language) => {
  const locale = localeOf(language);
  return {
    number: new Intl.NumberFormat(locale, { maximumFractionDigits: 20 }),
    money: memo((currency: string) => {
      const { minimumFractionDigits = 0 } = new Intl.NumberFormat(locale, { style: 'currency', currency }).resolvedOptions();
      return new Intl.NumberFormat(locale, { style: 'currency', currency, minimumFractionDigits, maximumFractionDigits: 4 });
    }),
    list: new Intl.ListFormat(locale, { type: 'conjunction' }),
  };
});

const sentencesOf = ofEach((sentence: DetailSentence) =>
  memo((language: Language) => createFormat(language, own(sentence, language) ?? '')),
);

/** The fields that plurals and choices go by. */
const decisive = (elements: readonly MessageFormatElement[]): string[] =>
  elements.flatMap((element) =>
    element.type === TYPE.plural || element.type === TYPE.select
      ? [element.value, ...Object.values(element.options).flatMap(({ value }) => decisive(value))]
      : [],
  );

/** A value of the field in the language. Decimals are written as they are, never rounded. */
function words(language: Language, value: unknown): string {
  const { number, money } = formatsOf(language);
  if (typeof value === 'number') return number.format(value);
  const sum = asMoney(value);
  return sum ? money(sum.currency).format(sum.amount as `${number}`) : String(value);
}

/** A value that stays a text of its own, whatever its direction (Unicode UAX 9, first strong isolate). */
const isolated = (value: string): string => `\u2068${value}\u2069`;

/** The first of the languages that the sentence has, else any that it has. */
export const languageOfSentence = (sentence: DetailSentence, languages: readonly Language[]): Language =>
  [...languages, ...languageTags].find((one) => own(sentence, one) !== undefined) ?? 'en';

/**
 * The detail as its type's sentence says it, as plain text.
 * @param languages the person's first, then those that come in its place
 */
export function detailSentence(
  { fields, sentence }: DetailShape & { readonly sentence: DetailSentence },
  detail: Detail,
  languages: readonly Language[],
): string {
  const language = languageOfSentence(sentence, languages);
  const format = sentencesOf(sentence)(language);
  const { list } = formatsOf(language);
  const spoken = ({ kind }: DetailField, value: unknown) =>
    isolated(kind === 'date' ? dateWords(String(value), language) : words(language, value));
  const valueOf = (field: DetailField): string => {
    const value = own(detail, field.name);
    if (value === undefined) return absent;
    return Array.isArray(value) ? list.format(value.map((one) => spoken(field, one))) : spoken(field, value);
  };
  const raw = decisive(format.getAst()).map((name) => [name, own(detail, name) as string | number] as const);
  return String(format.format(named(Object.fromEntries([...fields.map((field) => [field.name, valueOf(field)] as const), ...raw]))));
}

import mustache from 'mustache';
import { memo } from '../../lib/memo.js';

/** A tag of a template: `{{name}}`, `{{#name}}`, `{{^name}}` or `{{.}}`; any other kind is one that templates can't have. */
export type Tag = {
  readonly type: 'name' | '#' | '^' | '&' | '>' | '=' | '!';
  readonly name: string;
  /** Where it begins in the template. */
  readonly at: number;
  /** Names of the sections around it, the innermost last. */
  readonly sections: readonly string[];
};

/** The last is the content of a section; of a partial it is the white space before it. */
type Token = [type: string, value: string, start: number, end: number, inner?: Token[] | string];

/** One that remembers no templates: those that were replaced would stay. */
function writer(): InstanceType<typeof mustache.Writer> {
  const made = new mustache.Writer();
  (made as unknown as { templateCache: undefined }).templateCache = undefined;
  return made;
}

const own = writer();

/** The tokens of a template. The last one is remembered: whoever checks a template asks for them several times, and each character takes its time. */
const parsed = memo((template: string): string[][] => own.parse(template), 1);

const flattened = (tokens: readonly Token[], sections: readonly string[]): Tag[] =>
  tokens.flatMap(([type, name, at, , inner]) =>
    type === 'text'
      ? []
      : [{ type: type as Tag['type'], name, at, sections }, ...flattened(Array.isArray(inner) ? inner : [], [...sections, name])],
  );

/** All tags of a template but the ends of sections, in their order. @throws {Error} when it can't be read: a tag or section that doesn't end */
export const tagsOf = (template: string): Tag[] => flattened(parsed(template) as unknown as Token[], []);

type Values = Readonly<Record<string, unknown>>;

/** Fills in a template that is read once. @throws {Error} when it can't be read */
export function fillingOf(template: string, escape: (text: string) => string): (values: Values) => string {
  const tokens = parsed(template);
  const config = { escape: (value: unknown) => escape(String(value)) };
  return (values) => own.renderTokens(tokens, new mustache.Context(values), undefined, template, config);
}

export const filledIn = (template: string, values: Values, escape: (text: string) => string): string => fillingOf(template, escape)(values);

import mustache from 'mustache';

/** A tag of a template: `{{name}}`, `{{#name}}`, `{{^name}}` or `{{.}}`; any other kind is one that templates can't have. */
export type Tag = {
  readonly type: 'name' | '#' | '^' | '&' | '>' | '=' | '!';
  readonly name: string;
  /** Where it begins in the template. */
  readonly at: number;
  /** Names of the sections around it, the innermost last. */
  readonly within: readonly string[];
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

let last: { readonly template: string; readonly tokens: string[][] } | null = null;

/** The tokens of a template. The last one is remembered: whoever checks a template asks for them several times, and each character takes its time. */
function parsed(template: string): string[][] {
  if (last?.template !== template) last = { template, tokens: own.parse(template) };
  return last.tokens;
}

function flattened(tokens: readonly Token[], within: readonly string[]): Tag[] {
  return tokens.flatMap(([type, name, at, , inner]) =>
    type === 'text'
      ? []
      : [{ type: type as Tag['type'], name, at, within }, ...flattened(Array.isArray(inner) ? inner : [], [...within, name])],
  );
}

/** All tags of a template but the ends of sections, in their order. @throws {Error} when it can't be read: a tag or section that doesn't end */
export const tagsOf = (template: string): Tag[] => flattened(parsed(template) as unknown as Token[], []);

type Values = Readonly<Record<string, unknown>>;

/** Fills in a template that is read once. @throws {Error} when it can't be read */
export function fillingOf(template: string, escape: (text: string) => string): (values: Values) => string {
  const tokens = parsed(template);
  const config = { escape: (value: unknown) => escape(String(value)) };
  return (values) => own.renderTokens(tokens, new mustache.Context(values), undefined, template, config);
}

/** The template with the values in the place of its tags, each through `escape`. */
export const filledIn = (template: string, values: Values, escape: (text: string) => string): string => fillingOf(template, escape)(values);

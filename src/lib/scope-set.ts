/** One or more scope tokens of RFC 6749 3.3: visible ASCII without `"` and `\`, separated by single spaces. */
const scopeSyntax = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/** The distinct scope tokens in their order, or null when the text isn't a scope (RFC 6749 3.3). Empty text is no scopes. */
export function parseScope(text: string): string[] | null {
  const trimmed = text.trim();
  if (trimmed === '') return [];
  return scopeSyntax.test(trimmed) ? [...new Set(trimmed.split(' '))] : null;
}

export const formatScope = (scopes: Iterable<string>): string => [...scopes].join(' ');

export const isSubset = (requested: readonly string[], held: readonly string[]): boolean =>
  requested.every((scope) => held.includes(scope));

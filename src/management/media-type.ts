/** A media type with its parameters; names in lower case, values as sent. `q` of an Accept header is not among them. */
export type MediaType = { readonly type: string; readonly parameters: ReadonlyMap<string, string>; readonly q: number };

/** JSON:API's own media type. */
export const jsonApi = 'application/vnd.api+json';

const typeSyntax = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+/;
const parameterSyntax = /^[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+)))?/;

/** Splits a header at top-level commas: those inside quoted strings stay. */
function splitList(text: string): string[] {
  return (text.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? []).map((part) => part.trim()).filter((part) => part !== '');
}

/** One media type (RFC 9110 8.3.1), or null when it can't be read. */
export function parseMediaType(text: string): MediaType | null {
  const type = typeSyntax.exec(text.trim().toLowerCase())?.[0];
  if (type === undefined) return null;
  let rest = text.trim().slice(type.length);
  const parameters = new Map<string, string>();
  let q = 1;
  while (rest.trim() !== '') {
    const found = parameterSyntax.exec(rest);
    if (!found) return null;
    const name = found[1]?.toLowerCase();
    const value = found[2]?.replaceAll(/\\(.)/g, '$1') ?? found[3] ?? '';
    if (name === 'q') q = Number.isFinite(Number(value)) ? Number(value) : 0;
    else if (name !== undefined) parameters.set(name, value);
    rest = rest.slice(found[0].length);
  }
  return { type, parameters, q };
}

/** The media types of an Accept header; what can't be read is left out. */
export function parseAccept(text: string): MediaType[] {
  return splitList(text)
    .map(parseMediaType)
    .filter((type) => type !== null);
}

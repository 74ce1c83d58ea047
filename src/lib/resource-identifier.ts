const authority = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * A resource identifier (RFC 8707 2) as two spellings of the same one compare: scheme and host in small letters, without the default port of http(s)
 * and without one slash at the end of the path (RFC 3986 6.2.2.1, 6.2.3). What isn't `scheme://...` only loses the slash. The column
 * `api_resources.canonical_identifier` is made by the same rule.
 */
export function canonicalResource(identifier: string): string {
  const origin = authority.exec(identifier)?.[0] ?? '';
  const rest = identifier.slice(origin.length);
  const small = origin.toLowerCase().replace(/^(https:\/\/.*):443$|^(http:\/\/.*):80$/, '$1$2');
  return small + rest.replace(/^([^?]*)\/$/, '$1');
}

/** RFC 8707 2: an absolute URI without fragment. */
export const isResourceIdentifier = (text: string): boolean =>
  /^[a-z][a-z0-9+.-]*:[\x21-\x7e]+$/i.test(text) && URL.canParse(text) && !text.includes('#');

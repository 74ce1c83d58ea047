import type { Assets } from './static.js';

/** What views can call beside reading their model, as `page.<name>`. */
export const viewHelpers = (assets: Assets) => ({ asset: assets.url, withQuery, splitLinks, webAddress });

/** `path?a=1&b=2` without the empty parameters. */
function withQuery(path: string, parameters: Record<string, string | null | undefined>): string {
  const query = new URLSearchParams(Object.entries(parameters).filter((entry): entry is [string, string] => Boolean(entry[1])));
  return query.size > 0 ? `${path}?${query}` : path;
}

/** Plain text in pieces, so that a view can link the web addresses in it and escape everything. */
const splitLinks = (text: string): { text: string; href: string | null }[] =>
  text.split(/(https?:\/\/[^\s<>"]+)/).map((piece, index) => ({ text: piece, href: index % 2 === 1 ? piece : null }));

/** The address if it is http or https (no `javascript:` in a link or logo), else null. */
const webAddress = (uri: string | null | undefined): string | null => (uri && /^https?:\/\//i.test(uri) && URL.canParse(uri) ? uri : null);

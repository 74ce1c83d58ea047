import type { Request, Response } from 'express';
import { named } from '../../lib/named.js';
import { clearCookie, cookieName, readCookie, setCookie } from '../../http/request/cookies.js';

const name = 'dashboard_list';
/** The longest address that is kept, so that no header grows with it. */
const longest = 1000;

/** Keeps where somebody stands in a list, filters and place, so that the way back from a record leads there. The last list alone is kept. */
export function rememberList(req: Request, res: Response): void {
  const { pathname, searchParams } = new URL(req.originalUrl, 'http://own.invalid');
  searchParams.delete('done');
  const query = searchParams.toString();
  const address = `${pathname}?${query}`;
  if (query !== '' && address.length <= longest) setCookie(req, res, name, encodeURIComponent(address));
  else if (readCookie(req, cookieName(req, name)) !== undefined) clearCookie(req, res, name);
}

/** The address of a list: where somebody stood in it, when it is the last one that they looked at. */
export function listAddress(req: Request, path: string, added: Readonly<Record<string, string>> = named()): string {
  const list = `/dashboard/${path}`;
  const stored = readCookie(req, cookieName(req, name)) ?? '';
  // Whatever the cookie holds, only a query of this very list is taken from it.
  const start = `${encodeURIComponent(`${list}?`)}`;
  let query = new URLSearchParams();
  try {
    if (stored.startsWith(start) && stored.length <= 3 * longest)
      query = new URLSearchParams(decodeURIComponent(stored.slice(start.length)));
  } catch {
    // No address of ours: the list from its beginning.
  }
  for (const [key, value] of Object.entries(added)) query.set(key, value);
  const text = query.toString();
  return text === '' ? list : `${list}?${text}`;
}

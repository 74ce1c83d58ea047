import { isLoopbackHost } from './redirect-uri.js';

/** The longest `client_id` that is the address of a document, in characters. */
const maxDocumentIdLength = 512;

/** Whether a `client_id` can mean a document that describes the client (OAuth Client ID Metadata Document 3). */
export const isDocumentId = (client_id: string): boolean => /^https?:\/\//.test(client_id);

const userinfo = /^https?:\/\/[^/?#]*@/;
const path = /^https?:\/\/[^/?#]+\//;
const dotSegment = /\/(?:\.|%2e){1,2}(?=[/?#]|$)/i;

/**
 * What is wrong with a `client_id` as the address of a document (OAuth Client ID Metadata Document 3), or null. It is compared as text and fetched as it
 * is: any other spelling of the same address is refused.
 * @param allowLoopback whether `http:` will do on this machine
 * @param ownOrigins of the service, which describes no client
 */
export function documentIdProblem(
  client_id: string,
  { allowLoopback, ownOrigins }: { readonly allowLoopback: boolean; readonly ownOrigins: readonly string[] },
): string | null {
  if (client_id.length > maxDocumentIdLength) return `is longer than ${maxDocumentIdLength} characters`;
  if (!URL.canParse(client_id)) return 'is not a URL';
  const url = new URL(client_id);
  const problems: [boolean, string][] = [
    [client_id.includes('#'), 'must not hold a fragment'],
    [userinfo.test(client_id), 'must not hold a user name or password'],
    [!path.test(client_id), 'must hold a path'],
    [dotSegment.test(client_id), 'must not hold a dot segment'],
    [url.href !== client_id, 'must be a URL in normal form'],
    [url.protocol === 'http:' && !(allowLoopback && isLoopbackHost(url.hostname)), 'must use https'],
    [ownOrigins.includes(url.origin), 'is an address of this service'],
  ];
  return problems.find(([applies]) => applies)?.[1] ?? null;
}

/** Whether a host is one of the listed: a name for itself, `*.example.com` for all below it by whole labels. */
export const isListedHost = (listed: readonly string[], hostname: string): boolean =>
  listed.some((one) => (one.startsWith('*.') ? hostname.endsWith(one.slice(1)) && hostname.length > one.length - 1 : hostname === one));

import { opensElsewhere } from './redirect-schemes.js';

/** Parameters that the authorization response adds itself; registered in the URI they would be answered twice. */
const responseParameters = ['code', 'state', 'error', 'iss', 'id_token', 'access_token'];

/** Whether the host is this machine, by address or by name (RFC 6761 6.3). */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);

/** Why the text can't be registered as a redirect URI (RFC 6749 3.1.2, RFC 9700 2.6, RFC 8252 7), or null. */
export function redirectUriProblem(text: string): string | null {
  if (text.length > 2048) return 'is longer than 2048 characters';
  if (!/^[\x21-\x7e]+$/.test(text)) return 'must be visible ASCII without spaces';
  if (text.includes('*')) return 'must not hold a wildcard';
  if (text.includes('#')) return 'must not hold a fragment';
  if (text.includes('\\')) return 'must not hold a backslash';
  if (!URL.canParse(text)) return 'must be an absolute URI';
  const url = new URL(text);
  const scheme = url.protocol.slice(0, -1);
  if (opensElsewhere(scheme)) return `must not use the scheme ${scheme}`;
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/?]*@/.test(text)) return 'must not hold a user name or password';
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) return 'must use https (http is for loopback addresses only)';
  if (/^https?:$/.test(url.protocol) ? !/^https?:\/\//i.test(text) : !/^[a-z][a-z0-9+.-]*:/i.test(text)) return 'must be an absolute URI';
  if (responseParameters.some((name) => url.searchParams.has(name)))
    return 'must not hold a parameter of the answer, such as code or state';
  return null;
}

/** Where a native application listens (RFC 8252 7.3); `localhost` as well, for many do. */
const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d{1,5})?(?=[/?]|$)/;

/**
 * Whether the requested URI is a registered one: the exact same text (RFC 9700 2.1). For a native client the port of a
 * registered loopback address is free, of each address for itself (RFC 8252 7.3).
 */
export function matchesRedirectUri(registered: readonly string[], requested: string, native: boolean): boolean {
  if (registered.includes(requested)) return true;
  // What the pattern takes for a port may be none: they end at 65535.
  if (!native || !loopback.test(requested) || !URL.canParse(requested)) return false;
  const withoutPort = (uri: string) => uri.replace(loopback, 'http://$1');
  return registered.some((uri) => loopback.test(uri) && withoutPort(uri) === withoutPort(requested));
}

/** Whether only an application on the person's device gets the answer: a loopback address, or a private-use scheme (RFC 8252 7.1, 7.3). */
export function isNativeRedirectUri(uri: string): boolean {
  if (!URL.canParse(uri)) return false;
  const { protocol, hostname } = new URL(uri);
  return protocol === 'http:' ? isLoopbackHost(hostname) : protocol !== 'https:';
}

/** The redirect URI with the parameters added to its query; what was registered in the query stays. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | undefined>>, inFragment = false): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) added.append(name, value);
  if (inFragment) return `${uri}#${added.toString()}`;
  return uri + (uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?') + added.toString();
}

/** The origins of the http and https addresses among redirect URIs, each once: where pages of a browser application come from. */
export const originsOf = (redirect_uris: readonly string[]): string[] => [
  ...new Set(
    redirect_uris
      .filter((uri) => URL.canParse(uri))
      .map((uri) => new URL(uri))
      .filter(({ protocol }) => /^https?:$/.test(protocol))
      .map(({ origin }) => origin),
  ),
];

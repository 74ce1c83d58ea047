import type { IncomingMessage } from 'node:http';

// Node makes `headers` when it is first read, which takes longer than finding out in the list of what came that nothing in it is asked for.

/** Whether a header came. @param name in lower case */
export function hasHeader({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): boolean {
  for (let index = 0; index < rawHeaders.length; index += 2) if (isNamed(rawHeaders[index] as string, name)) return true;
  return false;
}

/** The host that the request names, empty without one; null when it names several: Node keeps the first, a proxy in front may have chosen another (RFC 9112 3.2: refused). */
export function soleHost({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): string | null {
  let host: string | null = null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!isNamed(rawHeaders[index] as string, 'host')) continue;
    if (host !== null) return null;
    host = rawHeaders[index + 1] as string;
  }
  return host ?? '';
}

const isNamed = (sent: string, name: string): boolean => sent.length === name.length && sent.toLowerCase() === name;

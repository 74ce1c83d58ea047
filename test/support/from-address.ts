import { request, type IncomingHttpHeaders } from 'node:http';

export type PlainAnswer = { status: number; headers: IncomingHttpHeaders; text: string };

/** One request from a source address of the loopback network: 127.0.0.2, 127.0.0.3 ... are different clients without any proxy. */
export function fromAddress(
  localAddress: string,
  url: string,
  { method = 'GET', body = '', headers = {} }: { method?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<PlainAnswer> {
  const { hostname, port, pathname, search } = new URL(url);
  // The path goes out as it is written, double slashes and all.
  const path = url.slice(url.indexOf('/', 'http://'.length)) || `${pathname}${search}`;
  return new Promise((resolve, reject) => {
    const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const host = hostname === 'localhost' ? '127.0.0.1' : hostname;
    const options = {
      host,
      port,
      path,
      method,
      localAddress,
      agent: false,
      headers: { host: `${hostname}:${port}`, ...length, ...headers },
    };
    const outgoing = request(options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }));
      answer.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** The same as JSON. */
export const jsonFrom = (localAddress: string, url: string, body: unknown, headers: Record<string, string> = {}): Promise<PlainAnswer> =>
  fromAddress(localAddress, url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The SHA-1 of a password, as lists of leaked ones have it. */
export const sha1Of = (password: string) => createHash('sha1').update(password).digest('hex').toUpperCase();

/** A mirror of Pwned Passwords on this machine: what it knows, what it was asked. */
export type BreachMirror = {
  /** What to set BREACHED_PASSWORDS_URL to. */
  readonly url: string;
  /** How often each password was seen; 0 is padding. */
  readonly known: Map<string, number>;
  readonly asked: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** What it does instead of answering as it should; null: nothing. */
  misbehave: ((res: ServerResponse) => void) | null;
  close(): Promise<void>;
};

const padding = () => `${randomBytes(18).toString('hex').slice(0, 35).toUpperCase()}:0`;

export async function startBreachMirror(): Promise<BreachMirror> {
  const known = new Map<string, number>();
  const asked: BreachMirror['asked'] = [];
  const server = createServer((req, res) => {
    asked.push({ path: req.url ?? '', headers: req.headers });
    if (mirror.misbehave) return mirror.misbehave(res);
    const prefix = /^\/range\/([0-9A-F]{5})$/.exec(req.url ?? '')?.[1];
    if (prefix === undefined) return void res.writeHead(400).end('The hash prefix was not in a valid format');
    const found = [...known].map(([password, count]) => ({ hash: sha1Of(password), count })).filter(({ hash }) => hash.startsWith(prefix));
    const lines = found.map(({ hash, count }) => `${hash.slice(5)}:${count}`);
    if (req.headers['add-padding'] === 'true') lines.push(...Array.from({ length: 800 }, padding));
    res.writeHead(200, { 'content-type': 'text/plain' }).end(lines.sort().join('\r\n'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const mirror: BreachMirror = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/range/`,
    known,
    asked,
    misbehave: null,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return mirror;
}

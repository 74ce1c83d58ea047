import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGuardedFetch, type GuardedFetch } from '../../src/platform/fetch/fetch.js';
import { selfSigned } from './certificates.js';
import type { TestClient } from './data.js';

export type Answer = (req: IncomingMessage, res: ServerResponse) => void;

/** A web server of clients, reached by https under the names of `hosts`, and the guarded fetch that trusts its certificate. */
export type DocumentServer = {
  readonly fetch: GuardedFetch;
  /** Every request that came, as `host path`, with its headers. */
  readonly requests: { readonly target: string; readonly headers: IncomingMessage['headers'] }[];
  url(path: string, host?: string): string;
  serve(url: string, answer: Answer): void;
  /** Serves a document at its address; `members` beside a client that signs in at `https://{host}/cb`. @returns the client as the helpers of tests take it */
  publish(url: string, members?: Record<string, unknown>, headers?: Record<string, string>): TestClient;
  close(): Promise<void>;
};

/** Answers 200 with JSON. */
export const json =
  (body: unknown, headers: Record<string, string> = {}): Answer =>
  (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json', ...headers });
    res.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** What a client says of itself at least. */
export const describing = (url: string, members: Record<string, unknown> = {}): Record<string, unknown> => ({
  client_id: url,
  client_name: 'Notes Helper',
  redirect_uris: [`https://${new URL(url).hostname}/cb`],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  ...members,
});

/** @param hosts the names that lead to it; @param policy of the fetch: whether it may reach this machine */
export async function startDocumentServer(
  hosts = ['client.example', 'other.example'],
  allowPrivateNetwork = true,
): Promise<DocumentServer> {
  const authority = selfSigned({ name: 'Authority of clients', authority: true });
  const certificates = new Map(hosts.map((name) => [name, authority.issue({ name })]));
  const answers = new Map<string, Answer>();
  const requests: { target: string; headers: IncomingMessage['headers'] }[] = [];
  const [first] = certificates.values();
  const { createSecureContext } = await import('node:tls');
  const SNICallback = (name: string, done: (error: Error | null, context?: ReturnType<typeof createSecureContext>) => void) =>
    done(null, createSecureContext(certificates.get(name) ?? first ?? {}));
  const server: Server = createServer({ cert: first?.cert, key: first?.key, SNICallback }, (req, res) => {
    const target = `${(req.headers.host ?? '').replace(/:\d+$/, '')} ${req.url}`;
    requests.push({ target, headers: req.headers });
    const answer = answers.get(target);
    if (answer) return answer(req, res);
    res.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const resolve = async (name: string) => {
    if (hosts.includes(name.replace(/\.$/, ''))) return ['127.0.0.1'];
    throw new Error('NXDOMAIN');
  };
  const keyOf = (url: string) => `${new URL(url).hostname} ${url.replace(/^https:\/\/[^/]+/, '')}`;
  const serve = (url: string, answer: Answer) => void answers.set(keyOf(url), answer);
  const fetch = createGuardedFetch({ allowPrivateNetwork, resolve, trustedCertificates: [authority.cert] });
  return {
    fetch,
    requests,
    url: (path, host = hosts[0]) => `https://${host}:${port}${path}`,
    serve,
    publish(url, members = {}, headers = {}) {
      const document = describing(url, members);
      serve(url, json(document, headers));
      return {
        id: url,
        client_secret: '',
        token_endpoint_auth_method: document['token_endpoint_auth_method'],
        redirect_uris: document['redirect_uris'],
      } as TestClient;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

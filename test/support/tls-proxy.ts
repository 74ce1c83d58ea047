import { connect } from 'node:net';
import { createServer } from 'node:tls';
import { Agent, fetch as undiciFetch } from 'undici';
import { selfSigned } from './certificates.js';

/** TLS in front of a service on loopback, as a reverse proxy does it in production; with a certificate of its own. */
export type TlsProxy = {
  /** `fetch` that trusts the certificate. */
  readonly fetch: typeof fetch;
  readonly certificate: string;
  close(): Promise<void>;
};

/** Listens on `port` and passes the decrypted bytes on to `target`. */
export async function startTlsProxy(port: number, target: number): Promise<TlsProxy> {
  const { cert, key } = selfSigned({ name: 'localhost' });
  const server = createServer({ cert, key }, (socket) => {
    const upstream = connect(target, '127.0.0.1');
    socket.pipe(upstream).pipe(socket);
    socket.on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const dispatcher = new Agent({ connect: { ca: cert } });
  return {
    certificate: cert,
    fetch: ((url: string, init: object) => undiciFetch(url, { ...init, dispatcher })) as unknown as typeof fetch,
    async close() {
      await dispatcher.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

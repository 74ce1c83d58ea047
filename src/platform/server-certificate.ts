import { once } from 'node:events';
import { isIP, type LookupFunction } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { NetworkPolicy } from './fetch/guard.js';
import type { NameLookup } from './fetch/look-up.js';
import { vettedLookup } from './fetch/vetted-lookup.js';

export type ServerCertificate = {
  /** Why browsers and clients refuse it: `name` it isn't for the host, `expired`, `chain` no trusted authority signed it; null: they don't. */
  readonly problem: 'name' | 'expired' | 'chain' | null;
  /** As OpenSSL calls it, such as `SELF_SIGNED_CERT_IN_CHAIN`; null without a problem. */
  readonly code: string | null;
  readonly valid_to: Date;
};

const problemOf = (code: string): NonNullable<ServerCertificate['problem']> =>
  code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? 'name' : code === 'CERT_HAS_EXPIRED' ? 'expired' : 'chain';

/**
 * Asks a host for its certificate, and judges it as Node does (NODE_EXTRA_CA_CERTS counts). Nothing is sent over the connection.
 * @param lookup finds the addresses of the host; it may refuse some
 * @throws the socket's error when there is no TLS at the port, or none within `timeoutMs`
 */
export async function readCertificate(host: string, port: number, timeoutMs: number, lookup?: LookupFunction): Promise<ServerCertificate> {
  const signal = AbortSignal.timeout(timeoutMs);
  const bare = host.replace(/^\[|\]$/g, '');
  // Refused certificates are what is looked for; nothing is sent or believed.
  const options = { host: bare, port, rejectUnauthorized: false, ...(isIP(bare) === 0 && { servername: bare }), ...(lookup && { lookup }) };
  const socket: TLSSocket = connect(options);
  try {
    await once(socket, 'secureConnect', { signal });
    const { valid_to } = socket.getPeerCertificate();
    const code = socket.authorized ? null : codeOf(socket.authorizationError);
    return { problem: code === null ? null : problemOf(code), code, valid_to: new Date(valid_to) };
  } finally {
    socket.on('error', () => undefined);
    socket.destroy();
  }
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : typeof error === 'string' ? error : 'UNKNOWN';
}

/** Reads the certificate that a name of somebody else's shows on port 443. @throws {OutboundError} `blocked_address`, `dns`; else as {@link readCertificate} */
export type CertificateReader = (host: string) => Promise<ServerCertificate>;

/** Asks only addresses that requests may go to. */
export function createCertificateReader(resolve: NameLookup, policy: NetworkPolicy): CertificateReader {
  const lookup = vettedLookup(resolve, policy);
  return (host) => readCertificate(host, 443, 3000, lookup);
}

import { setTimeout as delay } from 'node:timers/promises';
import { rootCertificates } from 'node:tls';
import { buildConnector } from 'undici';
import { isAllowedAddress, isAllowedHost, type NetworkPolicy } from './guard.js';
import type { NameLookup } from './look-up.js';
import { asOutboundError, OutboundError } from './outbound-error.js';
import { vettedLookup } from './vetted-lookup.js';

const connectTimeoutMs = 5000;

/** The connector of the service's sockets: only to addresses that may be asked, with TLS 1.2 or newer and checked certificates. */
export function guardedConnector(resolve: NameLookup, policy: NetworkPolicy, trusted: readonly string[]): buildConnector.connector {
  const connect = buildConnector({
    lookup: vettedLookup(resolve, policy),
    autoSelectFamily: true,
    timeout: connectTimeoutMs,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(trusted.length > 0 && { ca: [...rootCertificates, ...trusted] }),
  } as buildConnector.BuildOptions);
  return (options, callback) => {
    const refuse = () => callback(new OutboundError('blocked_address', `${options.hostname} may not be asked`), null);
    // A literal address is connected to without a lookup.
    if (!isAllowedHost(options.hostname, policy)) return refuse();
    connect(options, (...[error, socket]) => {
      if (error) return callback(error, null);
      if (isAllowedAddress(socket.remoteAddress ?? '', policy)) return callback(null, socket);
      socket.destroy();
      refuse();
    });
  };
}

/** Opens a connection to the origin and closes it again. @throws {OutboundError} when there is none within `timeoutMs` */
export async function connectOnce(connect: buildConnector.connector, origin: string, timeoutMs: number): Promise<void> {
  const { protocol, host, hostname, port } = new URL(origin);
  const options = { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port } as buildConnector.Options;
  const opened = new Promise<void>((resolve, reject) => {
    connect(options, (...[error, socket]) => {
      socket?.destroy();
      if (error) reject(asOutboundError(error));
      else resolve();
    });
  });
  const timer = new AbortController();
  const late = delay(timeoutMs, null, { signal: timer.signal }).then(() => {
    throw new OutboundError('timeout', `no connection within ${timeoutMs} ms`);
  });
  try {
    await Promise.race([opened, late]);
  } finally {
    timer.abort();
    late.catch(() => undefined);
    opened.catch(() => undefined);
  }
}

import type { LookupFunction } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { rootCertificates } from 'node:tls';
import { buildConnector } from 'undici';
import { isAllowedAddress, isAllowedHost, type NetworkPolicy } from './guard.js';
import type { NameLookup } from './look-up.js';
import { asOutboundError, OutboundError } from './outbound-error.js';

const connectTimeoutMs = 5000;

type Vetted = { readonly address: string; readonly family: 4 | 6 };

/** All addresses of a name. @throws {OutboundError} `blocked_address` when any of them isn't allowed, `dns` when there are none */
async function vet(name: string, resolve: NameLookup, policy: NetworkPolicy): Promise<[Vetted, ...Vetted[]]> {
  const addresses = await resolve(name).catch((error: unknown) => {
    throw new OutboundError('dns', `${name} could not be resolved`, error);
  });
  const [first, ...others] = addresses.map((address): Vetted => ({ address, family: address.includes(':') ? 6 : 4 }));
  if (!first) throw new OutboundError('dns', `${name} has no address`);
  if (!addresses.every((address) => isAllowedAddress(address, policy))) {
    throw new OutboundError('blocked_address', `${name} leads to an address that requests may not go to`);
  }
  return [first, ...others];
}

/** A `lookup` function for sockets that checks every address it returns, so that the checked address is the one connected to (DNS rebinding). */
export function vettedLookup(resolve: NameLookup, policy: NetworkPolicy): LookupFunction {
  return (name, options, callback) => {
    const answer = async () => {
      const vetted = await vet(name, resolve, policy).catch((error: unknown) => asOutboundError(error));
      if (vetted instanceof OutboundError) callback(vetted, '', 0);
      else if (options.all) callback(null, vetted);
      else callback(null, vetted[0].address, vetted[0].family);
    };
    void answer();
  };
}

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

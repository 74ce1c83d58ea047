import type { IncomingMessage } from 'node:http';
import { isLoopbackHost } from '../../config.js';

const loopbackAddress = /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/;
/** What proxies and tunnels write; a caller on this machine has no reason to. */
const relayHeader =
  /^(?:x-forwarded(?:-.*)?|forwarded|via|x-real-ip|x-original-.*|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip)$/;

/**
 * Whether a program on this very machine is asking, and no relay for somebody else: by the address of the connection, whatever
 * TRUST_PROXY says, and without a header that a relay adds. HTTP/1.0 counts as one: nginx speaks it to what is behind it unless told
 * otherwise, and may add nothing.
 */
export function isDirectLoopback(req: IncomingMessage): boolean {
  if (!loopbackAddress.test(req.socket.remoteAddress ?? '')) return false;
  return req.httpVersionMajor * 10 + req.httpVersionMinor > 10 && !Object.keys(req.headers).some((name) => relayHeader.test(name));
}

/**
 * Whether the request is addressed to this machine by one of its own names. A web page can have a name of its own point here (DNS rebinding):
 * the browser then lets it read the answers, and is a direct caller, but says that name.
 */
export const isToLoopback = ({ headers }: IncomingMessage): boolean => isLoopbackHost((headers.host ?? '').replace(/:\d+$/, ''));

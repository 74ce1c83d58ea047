import type { IncomingMessage } from 'node:http';
import { isOwnMachine } from '../../config.js';

const loopbackAddress = /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/;
/** Headers that proxies and tunnels add. */
const relayHeader =
  /^(?:x-forwarded(?:-.*)?|forwarded|via|x-real-ip|x-original-.*|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip)$/;

/**
 * Whether a program on this machine sends the request, rather than a proxy: by the address of the connection, whatever TRUST_PROXY says, and
 * without headers that proxies add. HTTP/1.0 counts as a proxy's: nginx uses it for upstreams by default and may add no header.
 */
export function isDirectLoopback(req: IncomingMessage): boolean {
  if (!loopbackAddress.test(req.socket.remoteAddress ?? '')) return false;
  return req.httpVersionMajor * 10 + req.httpVersionMinor > 10 && !Object.keys(req.headers).some((name) => relayHeader.test(name));
}

/**
 * Whether the Host header is a loopback name or address. With DNS rebinding a web page's own name resolves to this machine: the browser
 * connects directly and lets the page read the response, but sends that name.
 */
export const isToLoopback = ({ headers }: IncomingMessage): boolean => isOwnMachine((headers.host ?? '').replace(/:\d+$/, ''));

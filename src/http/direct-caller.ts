import type { Request } from 'express';

const loopback = /^(127\.|::1$|::ffff:127\.)/;

/** Headers that whoever relays a request adds to it, beside all that begin with `x-forwarded-` (RFC 7239, RFC 9110 7.6.3). */
const relayHeaders = new Set(['forwarded', 'via', 'x-real-ip', 'x-client-ip', 'x-cluster-client-ip', 'true-client-ip', 'cf-connecting-ip']);

/**
 * Whether the caller is a program on this machine: the connection comes from loopback, and no header says that it relays for
 * somebody else, as a proxy on this machine would. A header can only take this away: what a caller claims to be proves nothing.
 */
export function isDirectLoopback(req: Request): boolean {
  if (!loopback.test(req.socket.remoteAddress ?? '')) return false;
  return !Object.keys(req.headers).some((name) => name.startsWith('x-forwarded-') || relayHeaders.has(name));
}

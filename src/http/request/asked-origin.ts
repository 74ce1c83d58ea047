import type { Request } from 'express';
import { originOfHost } from '../../domain/environment.js';
import { hostOf } from './environment.js';

/**
 * The origin of the host that was asked, one that the environment answers at; its base URL where that isn't known, as behind a proxy that writes a
 * Host of its own.
 */
export function requestOrigin(req: Request): string {
  const { config, environment } = req.ctx;
  return originOfHost(environment, hostOf(req, config.trustProxy)) ?? environment.base_url;
}

/**
 * Whether an `Origin` header names the host that was asked (RFC 6454). Other names of the environment are other sites: who holds the DNS of one can
 * serve pages there.
 */
export function isRequestOrigin(req: Request, origin: string): boolean {
  const { config, environment } = req.ctx;
  const host = hostOf(req, config.trustProxy);
  const own = originOfHost(environment, host);
  if (own !== null) return origin === own;
  // The scheme counts too (RFC 6454 4): a page forged over plain http must not post here.
  return [`${new URL(config.baseUrl).protocol}//${host}`, environment.base_url, environment.issuer].includes(origin);
}

import type { Request } from 'express';
import { originOfHost } from '../../domain/environments/environment.js';
import { hostOf } from './environment.js';

/**
 * The origin of the host that was asked, one that the environment answers at; its base URL where that isn't known, as behind a proxy that writes a
 * Host of its own.
 */
export function askedOrigin(req: Request): string {
  const { config, environment } = req.ctx;
  return originOfHost(environment, hostOf(req, config.trustProxy)) ?? environment.base_url;
}

/**
 * Whether an `Origin` header names the host that was asked (RFC 6454). Other names of the environment are other sites: who holds the DNS of one can
 * serve pages there.
 */
export function isAskedOrigin(req: Request, origin: string): boolean {
  const { config, environment } = req.ctx;
  const host = hostOf(req, config.trustProxy);
  const asked = originOfHost(environment, host);
  if (asked !== null) return origin === asked;
  // The scheme counts too (RFC 6454 4): a page forged over plain http must not post here.
  return [`${new URL(config.baseUrl).protocol}//${host}`, environment.base_url, environment.issuer].includes(origin);
}

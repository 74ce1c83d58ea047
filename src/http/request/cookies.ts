import type { Request, Response } from 'express';

/** The first cookie of the name, undefined without one; further ones, which another path or domain may have set, are ignored. */
export function readCookie(req: Request, name: string): string | undefined {
  for (const pair of (req.headers.cookie ?? '').split(';')) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** `__Host-<name>` where the issuer is https (RFC 6265bis 4.1.3.2), `idp_<name>` on plain http: browsers don't part cookies by port, and an application beside us on localhost has a `session` of its own. */
export const cookieName = (req: Request, name: string): string => (isSecure(req) ? `__Host-${name}` : `idp_${name}`);

/** Whether cookies are `Secure`: decided by the issuer, never by a header of the request. */
const isSecure = (req: Request): boolean => req.ctx.environment.issuer.startsWith('https:');

/** Sets an HttpOnly, SameSite=Lax cookie on the whole host; `maxAge` in seconds, absent = until the browser ends. */
export function setCookie(req: Request, res: Response, name: string, value: string, maxAge?: number): void {
  res.cookie(cookieName(req, name), value, {
    httpOnly: true,
    secure: isSecure(req),
    sameSite: 'lax',
    path: '/',
    encode: String,
    ...(maxAge === undefined ? {} : { maxAge: maxAge * 1000 }),
  });
}

export function clearCookie(req: Request, res: Response, name: string): void {
  res.clearCookie(cookieName(req, name), { httpOnly: true, secure: isSecure(req), sameSite: 'lax', path: '/' });
}

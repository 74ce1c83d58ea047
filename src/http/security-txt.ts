import type { Request, Response } from 'express';
import type { Deps } from '../domain/context.js';
import { PageError } from '../errors.js';

/** Where finders of a vulnerability look for whom to tell (RFC 9116 3). */
export const securityTextPath = '/.well-known/security.txt';

const dayMs = 86_400_000;
/** How long security.txt is valid, in days; RFC 9116 2.5.5 recommends less than a year. */
const trustedDays = 180;

/**
 * GET /.well-known/security.txt (RFC 9116): the operator's contact for reports of vulnerabilities, from SECURITY_CONTACT. It is made anew for each answer, so it never
 * expires while the service runs.
 * @throws {PageError} 404 without SECURITY_CONTACT.
 */
export function securityText({ config, clock }: Deps) {
  return (_req: Request, res: Response): void => {
    if (config.securityContact === null) {
      throw new PageError(
        404,
        'not_found',
        'There is nothing at this address: the operator names no contact for security reports (SECURITY_CONTACT).',
      );
    }
    const day = Math.floor(clock.now().getTime() / dayMs) * dayMs;
    const expires = new Date(day + trustedDays * dayMs).toISOString().replace('.000Z', 'Z');
    const lines = [
      `Contact: ${config.securityContact}`,
      `Expires: ${expires}`,
      'Preferred-Languages: en',
      `Canonical: ${config.baseUrl}${securityTextPath}`,
    ];
    res
      .set('Cache-Control', 'public, max-age=3600')
      .type('text/plain; charset=utf-8')
      .send(`${lines.join('\n')}\n`);
  };
}

import type { Environment } from '../environment.js';

/** Whether new accounts may have this (normalised) address: exactly one of `allowed_email_domains`, or any when there are none. */
export function isEmailDomainAllowed(environment: Pick<Environment, 'allowed_email_domains'>, email_key: string): boolean {
  const { allowed_email_domains } = environment;
  const domain = email_key.slice(email_key.lastIndexOf('@') + 1);
  return allowed_email_domains.length === 0 || allowed_email_domains.some((allowed) => allowed.trim().toLowerCase() === domain);
}

import type { Problem } from '../refusal.js';
import { assertionIssuerOf, type Connection } from './connections.js';

/** Whose assertions they are has to be known; a provider of OpenID Connect signs them as its ID tokens. */
export function assertionProblems(row: Connection): Problem[] {
  if (row.assertions === 'off') return [];
  const isSaml = row.strategy === 'saml';
  const missing = isSaml && row.assertion_issuer === null ? ['assertion_issuer'] : [];
  const unknown = !isSaml && assertionIssuerOf(row) === null ? ['issuer'] : [];
  return [...missing, ...unknown].map((name) => ({
    status: 422,
    code: 'required',
    detail: 'Assertions are taken of a known issuer alone.',
    attribute: name,
  }));
}

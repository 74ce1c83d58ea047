import { listTakersOfTenant } from '../../db/tables/connections.js';
import type { Context } from '../context.js';
import { type Problem, Refusal, unfit } from '../refusal.js';
import { assertionIssuerOf, type Connection } from './connections.js';

/** Whose assertions they are has to be known; a provider of OpenID Connect signs them as its ID tokens. */
export function assertionProblems(row: Connection): Problem[] {
  if (row.assertions === 'off') return [];
  const isSaml = row.strategy === 'saml';
  const missing = isSaml && row.assertion_issuer === null ? ['assertion_issuer'] : [];
  const unknown = !isSaml && assertionIssuerOf(row) === null ? ['issuer'] : [];
  return [...missing, ...unknown].map((name) => unfit(name, 'required', 'Assertions are taken of a known issuer alone.'));
}

type Taker = Pick<Connection, 'id' | 'status' | 'strategy' | 'issuer' | 'assertions' | 'assertion_issuer' | 'assertion_tenant'>;

/** Whose assertions it takes: the issuer, and the tenant of it; null for nobody's. */
function takenBy(row: Taker | null): string | null {
  if (row?.status !== 'enabled' || row.assertions !== 'on') return null;
  return JSON.stringify([assertionIssuerOf(row), row.assertion_tenant]);
}

/**
 * Of an issuer, and a tenant of it, one enabled connection takes assertions: a second one would silence the first, which may be another organization's. The
 * refusal names no connection. @throws {Refusal} 409 `already_exists`
 */
export async function refuseTakenAssertions(tx: Context, before: Taker | null, after: Taker): Promise<void> {
  const taken = takenBy(after);
  if (taken === null || taken === takenBy(before)) return;
  const others = await listTakersOfTenant(tx.scope, after.assertion_tenant);
  if (!others.some((one) => one.id !== after.id && assertionIssuerOf(one) === assertionIssuerOf(after))) return;
  const detail =
    'Another connection takes the assertions of this issuer and tenant already. Whoever runs the service can say which one is to.';
  throw new Refusal({ status: 409, code: 'already_exists', detail, attribute: 'assertions' });
}

import { listConnectionDomains } from '../../db/tables/connections.js';
import { remembered, type Context } from '../context.js';
import { domainOfEmail, namesDomain, type Connection } from './connections.js';

export type AssertedAddress = { readonly email: string | null; readonly email_verified: boolean };

/**
 * Whether the connection speaks for a domain: `own` when it lists it, or lists none; `foreign` when the domain belongs to another
 * connection, a disabled one too; `open` when it is nobody's. What a connection says of addresses that aren't its own proves nothing.
 */
export async function speaksFor(ctx: Context, connection: Connection, domain: string): Promise<'own' | 'open' | 'foreign'> {
  if (namesDomain(connection.domains, domain)) return 'own';
  const listed = (await remembered(ctx, 'connections', 'domains', ({ scope }) => listConnectionDomains(scope))) ?? [];
  if (listed.some((other) => other.id !== connection.id && namesDomain(other.domains, domain))) return 'foreign';
  // An organization's speaks for its verified domains alone, and for nobody without any (specification 16.4.1).
  return connection.domains.length === 0 && connection.organization_id === null ? 'own' : 'open';
}

/**
 * The one decision whether a provider's word proves an address (specification 8.3.6): the provider says so, the connection is trusted, and it speaks
 * for the domain.
 */
export async function provesAddress(ctx: Context, connection: Connection, { email, email_verified }: AssertedAddress): Promise<boolean> {
  const domain = email === null ? null : domainOfEmail(email);
  // Within the verified domains of an organization the domain is the proof.
  const isBelieved = connection.organization_id !== null || (email_verified && connection.trusted);
  if (domain === null || !isBelieved) return false;
  return (await speaksFor(ctx, connection, domain)) === 'own';
}

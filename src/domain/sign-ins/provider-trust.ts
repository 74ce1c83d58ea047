import { speaksFor } from '../connections/address-owner.js';
import { domainOfEmail, type Connection } from '../connections/connections.js';
import type { Context } from '../context.js';
import type { ProviderSignIn } from '../sessions/sessions.js';

/** What a provider's word is worth here: the class that it is trusted for, and whether anything is asked after it. */
export type ProviderTrust = { readonly asserted: '2' | 'phr' | null; readonly suffices: boolean };

/** Values by which providers name a phishing-resistant sign-in (OpenID Connect Extended Authentication Profile ACR Values 1.0). */
const phishingResistant = ['phr', 'phrh'];

/**
 * What the connection's `second_factor` makes of what the provider says of a sign-in. `own`: nothing, it is a first step as a password is. `asserted`: a
 * second factor, where a signed ID token names one (RFC 8176 `mfa`) or a class that the connection trusts; a phishing-resistant one only where that very
 * value is trusted. `provider`: that nothing is asked, at the lowest class.
 */
export function providerTrust(connection: Pick<Connection, 'second_factor' | 'trusted_acr_values'>, stated: ProviderSignIn): ProviderTrust {
  if (connection.second_factor === 'provider') return { asserted: null, suffices: true };
  if (connection.second_factor === 'own') return { asserted: null, suffices: false };
  const trusted = stated.acr !== null && connection.trusted_acr_values.includes(stated.acr);
  if (trusted && phishingResistant.includes(stated.acr ?? '')) return { asserted: 'phr', suffices: false };
  return { asserted: trusted || stated.amr.includes('mfa') ? '2' : null, suffices: false };
}

/** What its word is worth of one person: a second step of those for whose addresses it speaks, of anybody else a first step alone. */
export async function trustFor(
  ctx: Context,
  connection: Connection,
  { email }: { readonly email: string },
  stated: ProviderSignIn,
): Promise<ProviderTrust> {
  const none = { asserted: null, suffices: false };
  if (connection.second_factor === 'own') return none;
  const domain = domainOfEmail(email);
  return domain !== null && (await speaksFor(ctx, connection, domain)) === 'own' ? providerTrust(connection, stated) : none;
}

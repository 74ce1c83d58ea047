import type { ClientGrantRow } from '../../db/tables/client_grants.js';
import type { Client } from '../../domain/clients/clients.js';
import type { ExchangeableToken } from '../../domain/tokens/exchangeable-token.js';
import { OAuthError } from '../../errors.js';

/** Who acts for a person, and who did before (RFC 8693 4.1). */
export type Act = { readonly sub: string; readonly client_id: string; readonly act?: unknown };

/** How many may act one for the other in one token. */
const maxActors = 4;

/** Whether so many act one for the other already that one more would be too many. */
function isDeep(act: unknown): boolean {
  let depth = 0;
  for (let one = act; typeof one === 'object' && one !== null; one = (one as { act?: unknown }).act) depth++;
  return depth >= maxActors;
}

/**
 * The claim `act` of what is exchanged: who acts from now on, around whoever did before (RFC 8693 4.1); null for impersonation.
 * @throws {OAuthError} `invalid_request`
 */
export function actClaim(
  client: Client,
  policy: { readonly grant: ClientGrantRow },
  subject: ExchangeableToken,
  actor: ExchangeableToken | null,
): Act | null {
  if (policy.grant.token_exchange === 'impersonation') return null;
  const earlier = subject.token.act;
  if (isDeep(earlier)) throw OAuthError.invalid_request(`subject_token: ${maxActors} act for the person already`);
  return { sub: actor?.token.sub ?? client.id, client_id: client.id, ...(earlier === null ? {} : { act: earlier }) };
}

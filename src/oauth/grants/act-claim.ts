import type { ClientGrantRow } from '../../db/tables/client_grants.js';
import type { ApiResource, Client } from '../../domain/clients/clients.js';
import { agentAct, agentMember, isDeep, maxActors, type Act } from '../../domain/tokens/agent-claims.js';
import type { ExchangeableToken } from '../../domain/tokens/exchangeable-token.js';
import { OAuthError } from '../../errors.js';

/**
 * The claim `act` of what is exchanged: who acts from now on, around whoever did before (RFC 8693 4.1), an agent that the subject's token was issued to too;
 * of impersonation the agent alone, if one does it.
 * @throws {OAuthError} `invalid_request`
 */
export function actClaim(
  client: Client,
  { grant, resource }: { readonly grant: ClientGrantRow; readonly resource: ApiResource },
  subject: ExchangeableToken,
  actor: ExchangeableToken | null,
): Act | null {
  if (grant.token_exchange === 'impersonation') return agentAct(client, resource);
  const earlier = subject.token.act ?? agentAct(subject.token.client, resource);
  if (isDeep(earlier)) throw OAuthError.invalid_request(`subject_token: ${maxActors} act for the person already`);
  const sub = actor?.token.sub ?? client.id;
  return { sub, client_id: client.id, ...agentMember(client, resource, sub), ...(earlier === null ? {} : { act: earlier }) };
}

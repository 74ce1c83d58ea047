import { createHash } from 'node:crypto';
import { jsonObject } from '../../lib/json-object.js';
import type { ApiResource, Client } from '../clients/clients.js';

/** What agents are called in tokens (draft-mora-oauth-entity-profiles-01). */
const agentProfile = 'ai_agent';

/** Who acts for a person, and who did before (RFC 8693 4.1); `sub_profile` what `sub` is, `client_profile` what the client is. */
export type Act = {
  /** Of an actor that another issuer tells of, whose names these are then. */
  readonly iss?: string;
  readonly sub: string;
  readonly client_id?: string;
  readonly sub_profile?: string;
  readonly client_profile?: string;
  readonly act?: unknown;
};

/** Whether tokens for the API resource say that the client is an agent. */
const tellsOf = (client: Pick<Client, 'is_agent'>, resource: Pick<ApiResource, 'agent_claims'> | null): boolean =>
  client.is_agent && resource?.agent_claims === true;

/** What a person's token says of the agent that acts with it, as `sub` or, where that is another, as the client alone. */
export const agentMember = (client: Client, resource: ApiResource | null, sub: string): Pick<Act, 'sub_profile' | 'client_profile'> =>
  !tellsOf(client, resource) ? {} : sub === client.id ? { sub_profile: agentProfile } : { client_profile: agentProfile };

/** The `act` of a person's token that an agent gets (draft-mcguinness-oauth-actor-profile-00); null for other clients, and where the API doesn't ask for it. */
export const agentAct = (client: Client, resource: ApiResource | null): Act | null =>
  tellsOf(client, resource) ? { sub: client.id, client_id: client.id, sub_profile: agentProfile } : null;

/** The same of an assertion for a server outside, which knows the agent as `client_id`. */
export const assertedAct = ({ is_agent }: Client, client_id: string): Act | undefined =>
  is_agent ? { sub: client_id, client_id, sub_profile: agentProfile } : undefined;

/** `client_profile` of an agent's own token. */
export const ownProfile = (client: Client, resource: ApiResource | null): string | undefined =>
  tellsOf(client, resource) ? agentProfile : undefined;

/** How many may act one for the other in one token. */
export const maxActors = 4;

/** Those in an `act`, the last one first. */
function chainOf(act: unknown): Readonly<Record<string, unknown>>[] {
  const one = jsonObject(act);
  return one ? [one, ...chainOf(one['act'])] : [];
}

/** Whether so many act one for the other already that one more would be too many. */
export const isDeep = (act: unknown): boolean => chainOf(act).length >= maxActors;

/** The `act` of a token that an assertion gives: the client, where that is an agent and isn't there yet, and whoever the assertion's issuer says acted. */
export function redeemedAct(client: Client, resource: ApiResource, asserted: Act | null): Act | null {
  const own = agentAct(client, resource);
  if (own === null || asserted === null) return own ?? asserted;
  const earlier = asserted.client_id === client.id ? asserted.act : asserted;
  return { ...own, ...(earlier !== undefined && { act: earlier }) };
}

const isElsewhere = (act: unknown): boolean => jsonObject(act)?.['iss'] !== undefined;

/**
 * Whether no exchange put the `act` there: it is of the agent that the token was issued to, or came with an assertion, whose actors have an issuer. An
 * exchange by an agent leaves where the token comes from.
 */
export function isUnexchanged(act: Readonly<Record<string, unknown>>, earlier_scopes: unknown): boolean {
  const isAgents = act['sub_profile'] === agentProfile && earlier_scopes === undefined;
  return isElsewhere(act) || (isAgents && (act['act'] === undefined || isElsewhere(act['act'])));
}

/** The clients in an `act`, the last one first. */
export const actorsIn = (act: unknown): string[] =>
  chainOf(act).flatMap(({ client_id }) => (typeof client_id === 'string' ? [client_id] : []));

/** Under what `revocations` knows that a client no longer acts for a person: `acting_key` of the database. */
export function actingKey(user_id: string, client_id: string): string {
  const hex = createHash('sha256').update(`${user_id} ${client_id}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

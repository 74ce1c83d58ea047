import { isDeepStrictEqual } from 'node:util';
import type { ClientRow, RegistrationCeiling } from '../../db/tables/clients.js';
import { openGrants } from './initial-access-tokens.js';

/** Guards that a client's own metadata name, or leave out, too. */
const metadataGuards = ['require_pkce', 'require_pushed_authorization_requests', 'dpop_bound_access_tokens'] as const;

/** What a client that came without an initial access token may give itself. */
const openCeiling: RegistrationCeiling = { grant_types: openGrants, scopes: null, verified: false };

/**
 * The ceiling of a client that registered itself, after an administrator's change: what it may give itself by its registration access token (RFC 7592 2.2) is what
 * the administrator left it. Nothing for other clients.
 */
export function decidedCeiling(client: ClientRow, changes: Partial<ClientRow>): Pick<ClientRow, 'registration_ceiling'> | null {
  if (client.origin !== 'registration') return null;
  const before = client.registration_ceiling ?? openCeiling;
  // A form sends what it was shown as well: that is no decision.
  const left = <Value>(given: Value | undefined, now: Value, until_now: Value): Value =>
    given === undefined || isDeepStrictEqual(given, now) ? until_now : given;
  const grant_types = left(changes.grant_types, client.grant_types, before.grant_types);
  const scopes = left(changes.scopes, client.scopes, before.scopes);
  const guards = metadataGuards.filter((name) => left(changes[name], client[name], before.guards?.includes(name) ?? false));
  const types = left(changes.authorization_details_types, client.authorization_details_types, before.authorization_details_types);
  return { registration_ceiling: { ...before, grant_types, scopes, guards, ...(types && { authorization_details_types: types }) } };
}

/** The metadata within what an administrator decided: guards that are on stay on, and types of authorization details that were taken away don't come back. */
export function underDecided<Metadata extends Pick<ClientRow, 'authorization_details_types'>>(
  metadata: Metadata,
  { registration_ceiling: ceiling }: Pick<ClientRow, 'registration_ceiling'>,
): Metadata {
  const most = ceiling?.authorization_details_types;
  return {
    ...metadata,
    ...(Object.fromEntries((ceiling?.guards ?? []).map((name) => [name, true])) as Partial<Metadata>),
    ...(most && { authorization_details_types: metadata.authorization_details_types.filter((one) => most.includes(one)) }),
  };
}

import { isDeepStrictEqual } from 'node:util';
import type { ClientRow } from '../../db/tables/clients.js';
import { recordSecurityEvent } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import type { Origin } from '../origin.js';

/** What proves a client, beside its secret. */
export const clientCredentials: readonly string[] = ['jwks', 'jwks_uri', 'token_endpoint_auth_method'];

/** What describes a client to people and decides nothing; whatever else there is, is told. */
export const describing: ReadonlySet<string> = new Set([
  'name',
  'description',
  'token_rate_limit',
  'client_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'contacts',
]);

/**
 * Records what of a client that describes itself changed by its own word (RFC 7592 2.2, or its metadata document), in the transaction of the change. An administrator's
 * change is told by the Management API.
 * @param described the columns that it says of itself
 */
export async function recordOwnChange(
  tx: Context,
  before: ClientRow,
  after: ClientRow,
  described: readonly string[],
  origin: Origin,
): Promise<void> {
  const columns = described as readonly (keyof ClientRow)[];
  const changed = columns.filter((name) => !describing.has(name) && !isDeepStrictEqual(before[name], after[name])).sort();
  const details = {
    actor: { actor_kind: 'client', actor_id: after.id, display: after.name },
    target: { target_type: 'client', target_id: after.id, display: after.name },
    origin,
  } as const;
  const action = 'client.updated';
  const proofs = changed.filter((name) => clientCredentials.includes(name));
  const settings = changed.filter((name) => !clientCredentials.includes(name));
  if (proofs.length > 0) await recordSecurityEvent(tx, 'client_credential.changed', { ...details, detail: { action, settings: proofs } });
  if (settings.length > 0) await recordSecurityEvent(tx, 'security_setting.changed', { ...details, detail: { action, settings } });
}

import { isDeepStrictEqual } from 'node:util';
import { findSystemApiResource } from '../../db/tables/api_resources.js';
import { findClientGrant, insertClientGrant, updateClientGrant } from '../../db/tables/client_grants.js';
import { findClient, insertClient, updateClient, type ClientRow } from '../../db/tables/clients.js';
import { commandLineClient } from '../../lib/command-line-client.js';
import { deviceCodeGrantType } from '../../lib/grant-types.js';
import { own } from '../../lib/named.js';
import { uuidv7 } from '../../lib/random.js';
import { transaction, type Context } from '../context.js';
import { clientIdProblem } from '../clients/names.js';
import { noSecret } from '../clients/registration.js';
import { managementPermissions } from '../reach/management-permissions.js';

/** What decides who can act with it; brought back at every start. Whether it is enabled is for administrators to say. */
const columns: Partial<ClientRow> = {
  application_type: 'native',
  redirect_uris: [commandLineClient.redirectUri],
  post_logout_redirect_uris: [],
  allowed_origins: [],
  grant_types: ['authorization_code', 'refresh_token', deviceCodeGrantType],
  token_endpoint_auth_method: 'none',
  ...noSecret,
  registration_token_digest: null,
  jwks: null,
  jwks_uri: null,
  scopes: null,
  // Any program of the machine can pose as it (RFC 8252 8.6).
  first_party: false,
  require_pkce: true,
  introspection_allowed: false,
  backchannel_logout_uri: null,
  is_system: true,
};

/**
 * The client by which people sign in to the command line: it may ask them for every Management permission, and gets those that they hold. Where a client
 * or an API resource had its name before, or it was deleted, there is none.
 * @throws {Error} in an environment that wasn't prepared
 */
export async function ensureCommandLineClient(ctx: Context): Promise<void> {
  const client_id = commandLineClient.id;
  await transaction(ctx, async (tx) => {
    const now = tx.clock.now();
    const times = { created_at: now, updated_at: now };
    const existing = await findClient(tx.scope, client_id);
    if (existing ? !existing.is_system : (await clientIdProblem(tx, client_id)) !== null) return;
    if (!existing) await insertClient(tx.scope, { id: client_id, name: 'Command line', ...columns, ...times });
    else if (Object.entries(columns).some(([name, value]) => !isDeepStrictEqual(own(existing, name), value)))
      await updateClient(tx.scope, client_id, { ...columns, updated_at: now });
    const resource = await findSystemApiResource(tx.scope);
    if (!resource) throw new Error('the Management API resource is missing');
    const scopes = [...managementPermissions];
    const grant = await findClientGrant(tx.scope, client_id, resource.id, 'user');
    const subject_type = 'user';
    if (!grant)
      await insertClientGrant(tx.scope, {
        id: uuidv7(now.getTime()),
        client_id,
        api_resource_id: resource.id,
        subject_type,
        scopes,
        ...times,
      });
    else if (grant.scopes.join() !== scopes.join()) await updateClientGrant(tx.scope, grant.id, { scopes, updated_at: now });
  });
}

import { providerSecretAad } from '../../src/domain/connections/connections.js';
import type { Context } from '../../src/domain/context.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { insert } from '../../src/db/scope.js';
import { randomToken, uuidv7 } from '../../src/lib/random.js';

/** The secret that every connection of `addConnection` shares with its provider. */
export const providerSecret = 'provider secret, 32 characters ok';

/**
 * An enabled `oidc` connection that an administrator trusts with verified addresses, unless told otherwise; `secret: null` for a public client.
 */
export async function addConnection(
  ctx: Context,
  { secret = providerSecret, ...row }: Partial<ConnectionRow> & { secret?: string | null } = {},
): Promise<ConnectionRow> {
  const now = ctx.clock.now();
  const id = uuidv7(now.getTime());
  const connection = await insert<ConnectionRow>(ctx.scope, 'connections', {
    id,
    name: `connection-${randomToken('').slice(0, 8).toLowerCase()}`,
    display_name: 'Example Corporation',
    strategy: 'oidc',
    provider_client_id: 'the-service',
    provider_client_secret_sealed: secret === null ? null : ctx.crypto.sealer.seal(secret, providerSecretAad(id)),
    issuer: 'https://id.corp.example',
    account_linking: 'verified_email',
    trusted: true,
    created_at: now,
    updated_at: now,
    ...row,
  });
  ctx.cache.invalidate(ctx.environment.id, 'connections');
  return connection;
}

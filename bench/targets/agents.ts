import { transaction, type Context } from '../../src/domain/context.js';
import { createSignalStream } from '../../src/domain/signals/streams.js';
import { insert, type Scope } from '../../src/db/scope.js';
import { insertDetailType } from '../../src/db/tables/authorization_detail_types.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { insertExternalServer } from '../../src/db/tables/external_servers.js';
import { insertOutboundGrant } from '../../src/db/tables/outbound_grants.js';
import { insertProviderGrant } from '../../src/db/tables/provider_grants.js';
import { uuidv7 } from '../../src/lib/random.js';
import { fixtures } from './target.js';

/** Turns on all that has to do with agents: each client is one, APIs tell of it, have types of details and take assertions; there are vault, signals and a stream. */
export async function turnAgentsOn(ctx: Context): Promise<void> {
  const stamp = () => {
    const now = ctx.clock.now();
    return { id: uuidv7(now.getTime()), created_at: now, updated_at: now };
  };
  const { scope, environment } = ctx;
  const rows = (table: string) => ctx.db.knex(table).where({ environment_id: environment.id });
  const apis = (await rows('api_resources').where({ is_system: false })) as { id: string; identifier: string }[];
  const authorization_details_types = apis.map(({ identifier }) => new URL(identifier).host);
  for (const [index, { id: api_resource_id }] of apis.entries()) {
    const name = authorization_details_types[index] as string;
    const fields = [{ name: 'amount', kind: 'money' as const, required: true }];
    await insertDetailType(scope, { ...stamp(), api_resource_id, name, fields, sentence: { en: 'Pay {amount}' } });
  }
  await rows('api_resources').where({ is_system: false }).update({ agent_claims: true, assertion_access: 'granted' });
  await rows('clients').where({ is_system: false }).update({ is_agent: true, signal_audience: 'everybody', authorization_details_types });
  const connection = await insertProvider(scope, stamp());
  const client_id = fixtures.client.id;
  await insertProviderGrant(scope, { ...stamp(), client_id, connection_id: connection.id, scopes: ['read'] });
  const outside = {
    name: 'Outside',
    issuer: 'https://outside.example',
    resources: [{ identifier: 'https://mcp.example/', scopes: ['read'] }],
  };
  const { id: external_server_id } = await insertExternalServer(scope, { ...stamp(), ...outside });
  await insertOutboundGrant(scope, { ...stamp(), client_id, external_server_id, external_client_id: 'there', authorization_details_types });
  await ctx.db
    .knex('environments')
    .where({ id: environment.id })
    .update({ unused_authorization_lifetime: 30 * 86_400 });
  const events_requested = ['session-revoked', 'credential-change', 'assurance-level-change'] as const;
  for (const id of [client_id, fixtures.publicClient.id, fixtures.othersClient.id])
    await transaction(ctx, (tx) =>
      createSignalStream(tx, { id }, { events_requested: [...events_requested], delivery: { method: 'poll' }, description: null }),
    );
}

const insertProvider = (scope: Scope, stamp: { readonly id: string; readonly created_at: Date; readonly updated_at: Date }) =>
  insert<ConnectionRow>(scope, 'connections', {
    ...stamp,
    name: 'provider',
    display_name: 'Provider',
    strategy: 'oidc',
    provider_client_id: 'bench',
    issuer: 'https://provider.example',
    assertions: 'on',
    token_storage: true,
    signals: 'push',
  });

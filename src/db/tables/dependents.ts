import { run, type Scope } from '../scope.js';
import { isRevokedSql } from './revocations.js';
import { isLiveSql, type SessionBounds } from './sessions.js';

/** Nothing is counted beyond this: whether 1,000 or a million go along, somebody thinks twice. */
export const maxDependentsCounted = 1000;

/** How many rows of a table without an index on what they are counted by are looked at. */
const mostLookedAt = 100_000;

/** How many there are; `more`: there may be more than that, for counting ended before the last. */
export type Counted = { readonly count: number; readonly more: boolean };

/**
 * What is counted, from `from` on; the parameters are those of {@link countDependents}. `beyond`: SQL, whether rows were left out that were never looked at.
 */
type Dependent = { readonly from: string; readonly beyond?: string };

const rowsBy = (name: string, column: string, id = '$2::uuid'): Dependent => ({
  from: `${name} d where d.environment_id = $1 and d.${column} = ${id}`,
});

const allOf = (name: string, condition = 'true'): Dependent => ({
  from: `${name} d where d.environment_id = $1 and $1 = $2::uuid and ${condition}`,
});

const isLive = isLiveSql('s', { now: '$3', signed_in_after: '$4', active_after: '$5' });
/** A refresh token that would still be taken: neither rotated, run out nor revoked. */
const isUsable = `t.rotated_at is null and t.expires_at > $3 and not ${isRevokedSql('t.grant_id')}`;

/** What hangs on a record, by its collection and by what it is. */
const dependents = {
  users: {
    sessions: { from: `sessions s where s.environment_id = $1 and s.user_id = $2::uuid and ${isLive}` },
    refresh_tokens: { from: `refresh_tokens t where t.environment_id = $1 and t.user_id = $2::uuid and ${isUsable}` },
    identities: rowsBy('identities', 'user_id'),
    authenticators: {
      from: `authenticators a where a.environment_id = $1 and a.user_id = $2::uuid and a.status = 'active' and a.kind <> 'recovery_codes'`,
    },
    devices: { from: `devices d where d.environment_id = $1 and d.user_id = $2::uuid and d.expires_at > $3` },
    approvals: rowsBy('approvals', 'user_id'),
    authorizations: rowsBy('authorizations', 'user_id'),
    consents: rowsBy('consents', 'user_id'),
    provider_tokens: rowsBy('provider_tokens', 'user_id'),
    roles: rowsBy('user_roles', 'user_id'),
    memberships: rowsBy('organization_memberships', 'user_id'),
    directory_users: rowsBy('directory_users', 'user_id'),
  },
  sessions: { session_clients: rowsBy('session_clients', 'session_id') },
  consents: {
    refresh_tokens: {
      from: `consents c join refresh_tokens t on t.environment_id = c.environment_id and t.user_id = c.user_id and t.client_id = c.client_id
             where c.environment_id = $1 and c.id = $2::uuid and ${isUsable}`,
    },
  },
  organizations: {
    memberships: rowsBy('organization_memberships', 'organization_id'),
    connections: rowsBy('connections', 'organization_id'),
    domains: rowsBy('organization_domains', 'organization_id'),
    invitations: rowsBy('organization_invitations', 'organization_id'),
    directories: rowsBy('directories', 'organization_id'),
    organization_groups: rowsBy('organization_groups', 'organization_id'),
    setup_links: rowsBy('setup_links', 'organization_id'),
    outbound_grants: rowsBy('outbound_grants', 'organization_id'),
  },
  directories: {
    organization_groups: rowsBy('organization_groups', 'directory_id'),
    directory_users: rowsBy('directory_users', 'directory_id'),
  },
  roles: {
    users: rowsBy('user_roles', 'role_id'),
    outbound_grants: rowsBy('outbound_grants', 'role_id'),
    permissions: rowsBy('role_permissions', 'role_id'),
  },
  clients: {
    client_grants: rowsBy('client_grants', 'client_id', '$2'),
    approvals: rowsBy('approvals', 'client_id', '$2'),
    authorizations: rowsBy('authorizations', 'client_id', '$2'),
    consents: rowsBy('consents', 'client_id', '$2'),
    federated_credentials: rowsBy('federated_credentials', 'client_id', '$2'),
    outbound_grants: rowsBy('outbound_grants', 'client_id', '$2'),
    provider_grants: rowsBy('provider_grants', 'client_id', '$2'),
    provider_tokens: rowsBy('provider_tokens', 'client_id', '$2'),
    signal_streams: rowsBy('signal_streams', 'client_id', '$2'),
    // No index leads from a client to its tokens, for each would be written with every token: the look goes so far and no further.
    refresh_tokens: {
      from: `(select * from refresh_tokens where environment_id = $1 limit ${mostLookedAt}) t where t.client_id = $2 and ${isUsable}`,
      beyond: `(select count(*) > ${mostLookedAt} from (select from refresh_tokens where environment_id = $1 limit ${mostLookedAt + 1}) looked_at)`,
    },
  },
  api_resources: {
    permissions: rowsBy('permissions', 'api_resource_id'),
    authorization_detail_types: rowsBy('authorization_detail_types', 'api_resource_id'),
    client_grants: rowsBy('client_grants', 'api_resource_id'),
    roles: {
      from: `roles r where r.environment_id = $1 and exists (
               select from permissions p
               join role_permissions rp on rp.environment_id = p.environment_id and rp.permission_id = p.id
               where p.environment_id = $1 and p.api_resource_id = $2::uuid and rp.role_id = r.id)`,
    },
  },
  permissions: {
    roles: rowsBy('role_permissions', 'permission_id'),
    client_grants: {
      from: `permissions p
             join client_grants g on g.environment_id = p.environment_id and g.api_resource_id = p.api_resource_id and p.name = any (g.scopes)
             where p.environment_id = $1 and p.id = $2::uuid`,
    },
  },
  connections: {
    identities: rowsBy('identities', 'connection_id'),
    clients: rowsBy('client_connections', 'connection_id'),
    provider_grants: rowsBy('provider_grants', 'connection_id'),
    provider_tokens: rowsBy('provider_tokens', 'connection_id'),
  },
  provider_grants: {
    provider_tokens: {
      from: `provider_grants g
             join provider_tokens t on t.environment_id = g.environment_id and t.client_id = g.client_id and t.connection_id = g.connection_id
             where g.environment_id = $1 and g.id = $2::uuid`,
    },
  },
  identities: { provider_tokens: rowsBy('provider_tokens', 'identity_id') },
  trusted_issuers: { federated_credentials: rowsBy('federated_credentials', 'trusted_issuer_id') },
  external_servers: { outbound_grants: rowsBy('outbound_grants', 'external_server_id') },
  webhooks: {
    waiting_deliveries: {
      from: `webhook_deliveries d where d.environment_id = $1 and d.webhook_id = $2::uuid and d.next_attempt_at is not null`,
    },
    past_deliveries: { from: `webhook_deliveries d where d.environment_id = $1 and d.webhook_id = $2::uuid and d.next_attempt_at is null` },
  },
  signal_streams: { signal_sets: rowsBy('signal_sets', 'signal_stream_id') },
  log_streams: { log_stream_entries: rowsBy('log_stream_entries', 'log_stream_id') },
  environments: {
    users: allOf('users'),
    clients: allOf('clients', 'not d.is_system'),
    connections: allOf('connections'),
    api_resources: allOf('api_resources', 'not d.is_system'),
    roles: allOf('roles', 'not d.is_system'),
    webhooks: allOf('webhooks'),
    log_streams: allOf('log_streams'),
    custom_domains: allOf('custom_domains'),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Dependent>>>>;

export type DependedOn = keyof typeof dependents;
export type DependentOf<C extends DependedOn> = keyof (typeof dependents)[C] & string;

/**
 * How many of each hang on a record, up to {@link maxDependentsCounted} of each; of environments only from their own scope. Sessions count while they are live, refresh tokens
 * while they would be taken (specification 9.2.5).
 * @param id the record's
 */
export async function countDependents<C extends DependedOn>(
  scope: Scope,
  collection: C,
  id: string,
  { now, signed_in_after, active_after }: SessionBounds,
): Promise<Readonly<Record<DependentOf<C>, Counted>>> {
  const counted = Object.entries<Dependent>(dependents[collection]);
  const columns = counted.map(
    ([name, { from, beyond }]) => `(select count(*)::int from (select from ${from} limit ${maxDependentsCounted + 1}) counted) as "${name}",
      ${beyond ?? 'false'} as "${name}_beyond"`,
  );
  // Not every statement compares times; the types of those that it doesn't are told here.
  const text = `select ${columns.join(', ')} from (select $3::timestamptz, $4::timestamptz, $5::timestamptz) given`;
  const [row = {}] = await run<Record<string, number | boolean>>(scope, { name: `dependents.count_${collection}`, text }, [
    id,
    now,
    signed_in_after,
    active_after,
  ]);
  const results = counted.map(([name]): [string, Counted] => {
    const count = Number(row[name]);
    return [name, { count: Math.min(count, maxDependentsCounted), more: count > maxDependentsCounted || row[`${name}_beyond`] === true }];
  });
  return Object.fromEntries(results) as Record<DependentOf<C>, Counted>;
}

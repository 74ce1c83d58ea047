import type { Knex } from 'knex';
import { rowFunctions, type RecordRow } from '../records.js';
import { table, type Scope } from '../scope.js';
import { servedSql } from '../served.js';
import { runSystem } from '../system.js';

/** Who sees to the second factor of a sign-in through a connection. */
export const connectionSecondFactors = ['own', 'asserted', 'provider'] as const;

export const connectionAssertions = ['off', 'on'] as const;
export const assertionReuses = ['once', 'until_expiry'] as const;
export const assertionClients = ['authenticated', 'any'] as const;
export const connectionSignals = ['off', 'push', 'poll'] as const;

/** A row of `connections`; `provider_client_secret_sealed` is sealed for `connections/<id>`. */
export type ConnectionRow = RecordRow & {
  name: string;
  display_name: string;
  strategy: string;
  status: 'enabled' | 'disabled';
  provider_client_id: string;
  provider_client_secret_sealed: Buffer | null;
  issuer: string | null;
  authorization_endpoint: string | null;
  token_endpoint: string | null;
  userinfo_endpoint: string | null;
  jwks_uri: string | null;
  scopes: string[];
  claim_mapping: Record<string, string | string[]>;
  options: Record<string, unknown>;
  allow_registration: boolean;
  account_linking: 'verified_email' | 'ask' | 'never';
  profile_sync: 'never' | 'on_create' | 'on_login';
  domains: string[];
  /** Addresses of `domains` sign in through it alone. */
  required: boolean;
  /** Whether new users of it get what its provider states: a verified address, and default roles that hold Management permissions. */
  trusted: boolean;
  /** After a sign-in through it: our second step as after a password, none where the provider tells of one, or none at all. */
  second_factor: (typeof connectionSecondFactors)[number];
  /** With `asserted`: values of the provider's `acr` that say of a second factor. */
  trusted_acr_values: string[];
  /** Whose connection it is: then its domains are the verified ones of the organization. Null: the environment's. */
  organization_id: string | null;
  /** Whether identity assertions of the provider (ID-JAG) are redeemed here. */
  assertions: (typeof connectionAssertions)[number];
  /** Their `iss`, and where their keys are; null: as of the connection. */
  assertion_issuer: string | null;
  assertion_jwks_uri: string | null;
  /** Their `tenant`; null: none. */
  assertion_tenant: string | null;
  /** Whether one is good once, or for the same client, resource and key until it expires. */
  assertion_reuse: (typeof assertionReuses)[number];
  /** Which clients may bring them without a key that they are bound to. */
  assertion_clients: (typeof assertionClients)[number];
  /** Whether clients may have people's tokens at the provider, which are then kept. */
  token_storage: boolean;
  /** Whether what the provider says of sessions and accounts there (SSF) ends what began through the connection: sent by it, or fetched. */
  signals: (typeof connectionSignals)[number];
  /** Their `iss` and `aud`; null: the issuer of the connection, and the address that takes them. */
  signals_issuer: string | null;
  signals_audience: string | null;
  /** Where they are fetched, and with which token, sealed for `connections/<id>`. */
  signals_poll_url: string | null;
  signals_token_sealed: Buffer | null;
  /** When an administrator accepted that the metadata of a SAML provider names another one by now. */
  metadata_accepted_at: Date | null;
  /** Increased by a trigger at each change that affects whom the provider's answers identify; identities are valid for the generation they were proven in. */
  generation: number;
};

/**
 * SQL: the domains of a connection; of one that is an organization's, as long as that is enabled, the verified ones there that are led to it, or to none in
 * particular.
 */
const domainsSql = `case when connections.organization_id is null then connections.domains else array(
  select d.domain from organization_domains d
  join organizations o on o.environment_id = d.environment_id and o.id = d.organization_id and o.status = 'enabled'
  where d.environment_id = connections.environment_id and d.organization_id = connections.organization_id and d.status = 'verified'
    and coalesce(d.connection_id, connections.id) = connections.id order by d.domain) end`;

/** SQL: whether addresses of its domains sign in through it alone; `require_sso` of its organization stands for that. */
const requiredSql = `case when connections.organization_id is null then connections.required else exists (
  select from organizations o
  where o.environment_id = connections.environment_id and o.id = connections.organization_id and o.require_sso <> 'nobody') end`;

/** Connections as sign-ins see them: with the domains that count now. */
const connectionsOf = (scope: Scope) =>
  table<ConnectionRow>(scope, 'connections').select(
    'connections.*',
    scope.knex.raw(`${domainsSql} as domains, ${requiredSql} as required`),
  ) as ReturnType<typeof table<ConnectionRow>>;

/** The connections that people may use, by their display names. */
export const listEnabledConnections = async (scope: Scope): Promise<ConnectionRow[]> =>
  connectionsOf(scope)
    .where({ status: 'enabled' } as never)
    .orderBy('display_name');

/** The enabled connections that take assertions of this tenant of whatever issuer; null: of none. */
export async function listTakersOfTenant(
  scope: Scope,
  assertion_tenant: string | null,
): Promise<Pick<ConnectionRow, 'id' | 'strategy' | 'issuer' | 'assertion_issuer'>[]> {
  const rows = table<ConnectionRow>(scope, 'connections').where({ status: 'enabled', assertions: 'on', assertion_tenant } as never);
  return (await rows.select('id', 'strategy', 'issuer', 'assertion_issuer')) as never;
}

/** The domains that connections list, disabled ones too. */
export async function listConnectionDomains(scope: Scope): Promise<Pick<ConnectionRow, 'id' | 'domains'>[]> {
  const rows = table<ConnectionRow>(scope, 'connections').whereRaw(`(domains <> '{}' or organization_id is not null)`);
  return (await rows.select('id', scope.knex.raw(`${domainsSql} as domains`))) as unknown as Pick<ConnectionRow, 'id' | 'domains'>[];
}

/** The domains that count now of the connections that are an organization's. */
export async function listDomainsOfConnections(scope: Scope, ids: readonly string[]): Promise<Pick<ConnectionRow, 'id' | 'domains'>[]> {
  const rows = table<ConnectionRow>(scope, 'connections')
    .whereIn('id', [...ids])
    .whereNotNull('organization_id');
  return (await rows.select('id', scope.knex.raw(`${domainsSql} as domains`))) as unknown as Pick<ConnectionRow, 'id' | 'domains'>[];
}

/** The connections of the names that belong to no organization. */
export const findConnectionsByNames = (scope: Scope, names: readonly string[]): Promise<ConnectionRow[]> =>
  table<ConnectionRow>(scope, 'connections')
    .whereIn('name', [...names])
    .where({ organization_id: null }) as unknown as Promise<ConnectionRow[]>;

export const findConnection = async (scope: Scope, id: string): Promise<ConnectionRow | null> =>
  (await connectionsOf(scope)
    .where({ id } as never)
    .first()) ?? null;

/** The connection of the id with the domains that count now, as it stays until the transaction ends, or null. */
export async function holdConnection(scope: Scope, id: string): Promise<ConnectionRow | null> {
  const row = await connectionsOf(scope)
    .where({ id } as never)
    .forShare()
    .first();
  return (row as ConnectionRow | undefined) ?? null;
}

/** The links of accounts to a connection are deleted with it. */
export const { insert: insertConnection, update: updateConnection, remove: deleteConnection } = rowFunctions<ConnectionRow>('connections');

/** SQL: how many sign-ins failed and succeeded at the provider of a connection yesterday and today (UTC), and the first day of those that failed. */
export const signInsSql = (c: string): string => `(
  select min(s.day) filter (where s.name = 'sso_failed') as since,
    coalesce(sum(s.count) filter (where s.name = 'sso_failed'), 0)::integer as failed,
    coalesce(sum(s.count) filter (where s.name = 'sso_succeeded'), 0)::integer as succeeded
  from daily_stats s where s.environment_id = ${c}.environment_id and s.day >= (now() at time zone 'utc')::date - 1
    and s.name in ('sso_failed', 'sso_succeeded') and s.label = ${c}.id::text)`;

/** Where the provider of a connection is, with the slug of its environment. */
export type WatchedConnection = Pick<
  ConnectionRow,
  'id' | 'name' | 'strategy' | 'issuer' | 'token_endpoint' | 'userinfo_endpoint' | 'signals_poll_url'
> & {
  readonly environment: string;
  /** Sign-ins that failed at its provider yesterday and today (UTC), where none succeeded; else 0. */
  readonly failing: number;
};

/** The enabled connections of all environments, the oldest first. */
export async function listWatchedConnections(knex: Knex, limit: number): Promise<WatchedConnection[]> {
  const text = `select c.id, c.name, c.strategy, c.issuer, c.token_endpoint, c.userinfo_endpoint,
      case when c.signals = 'poll' then c.signals_poll_url end as signals_poll_url, e.slug as environment,
      case when d.succeeded = 0 then d.failed else 0 end as failing
    from connections c join environments e on e.id = c.environment_id cross join lateral ${signInsSql('c')} d
    where c.status = 'enabled' order by c.created_at, c.id limit $1`;
  return runSystem<WatchedConnection>(knex, { name: 'connections.watched', text }, [limit]);
}

/** A connection that takes identity assertions, with the slug of its environment. */
export type TakingConnection = Pick<ConnectionRow, 'id' | 'name' | 'strategy' | 'issuer' | 'assertion_issuer' | 'assertion_tenant'> & {
  readonly environment: string;
};

/** The enabled ones of all environments, the oldest first. */
export async function listTakingConnections(knex: Knex): Promise<TakingConnection[]> {
  const text = `select c.id, c.name, c.strategy, c.issuer, c.assertion_issuer, c.assertion_tenant, e.slug as environment
    from connections c join environments e on e.id = c.environment_id
    where c.status = 'enabled' and c.assertions = 'on' order by c.created_at, c.id`;
  return runSystem<TakingConnection>(knex, { name: 'connections.taking', text }, []);
}

/** The enabled connections of all environments whose signals are fetched, up to `limit` in the order of their ids, which come after `after`. */
export async function listPolledConnections(
  knex: Knex,
  after: string,
  limit: number,
): Promise<Pick<ConnectionRow, 'environment_id' | 'id'>[]> {
  const text = `select environment_id, id from connections where status = 'enabled' and signals = 'poll' and id > $1
    and ${servedSql('environment_id')} order by id limit $2`;
  return runSystem<Pick<ConnectionRow, 'environment_id' | 'id'>>(knex, { name: 'connections.polled', text }, [after, limit]);
}

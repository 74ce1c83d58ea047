import type { Knex } from 'knex';
import { run, table, type Scope } from '../scope.js';
import { servedSql } from '../served.js';
import { runSystem } from '../system.js';

/** What metadata says of a provider. */
type Described = { readonly entity_id: string; readonly sso_url: string; readonly certificates: string[] };

/** A row of `saml_metadata`: what the metadata of a connection's provider said when `url` was last asked. */
export type SamlMetadataRow = Described & {
  environment_id: string;
  connection_id: string;
  url: string;
  /** What it says by now, where that waits for an administrator. */
  pending: Described | null;
  /** Why it could not be had, or read, the last time; null when it could. */
  last_error: string | null;
  checked_at: Date;
};

export const findSamlMetadata = async (scope: Scope, connection_id: string): Promise<SamlMetadataRow | null> =>
  (await table<SamlMetadataRow>(scope, 'saml_metadata').where({ connection_id }).first()) ?? null;

export async function saveSamlMetadata(scope: Scope, row: Omit<SamlMetadataRow, 'environment_id'>): Promise<void> {
  const text = `insert into saml_metadata (environment_id, connection_id, url, entity_id, sso_url, certificates, pending, last_error, checked_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    on conflict (environment_id, connection_id) do update set url = excluded.url, entity_id = excluded.entity_id, sso_url = excluded.sso_url,
      certificates = excluded.certificates, pending = excluded.pending, last_error = excluded.last_error, checked_at = excluded.checked_at`;
  const { connection_id, url, entity_id, sso_url, certificates, pending, last_error, checked_at } = row;
  const values = [connection_id, url, entity_id, sso_url, certificates, pending && JSON.stringify(pending), last_error, checked_at];
  await run(scope, { name: 'saml_metadata.save', text }, values);
}

/** Takes the next reading of the metadata, once for everybody who asks at a time. False: it was read since `before`, or isn't known. */
export async function takeSamlMetadataReading(
  scope: Scope,
  { connection_id, url }: Pick<SamlMetadataRow, 'connection_id' | 'url'>,
  { now, before }: { readonly now: Date; readonly before: Date },
): Promise<boolean> {
  const text = `update saml_metadata set checked_at = $4
    where environment_id = $1 and connection_id = $2 and url = $3 and checked_at < $5 returning connection_id`;
  const rows = await run(scope, { name: 'saml_metadata.take', text }, [connection_id, url, now, before]);
  return rows.length > 0;
}

/** Enabled connections of all environments whose metadata was last asked for before the time, the longest ago first. */
export async function listSamlMetadataDue(
  knex: Knex,
  before: Date,
  limit: number,
): Promise<Pick<SamlMetadataRow, 'environment_id' | 'connection_id'>[]> {
  const text = `select m.environment_id, m.connection_id from saml_metadata m
    join connections c on c.environment_id = m.environment_id and c.id = m.connection_id and c.status = 'enabled' and c.strategy = 'saml'
    where m.checked_at < $1 and ${servedSql('m.environment_id')} order by m.checked_at limit $2`;
  return runSystem(knex, { name: 'saml_metadata.due', text }, [before, limit]);
}

/** An enabled SAML connection with what is known of its provider by metadata, and the slug of its environment. */
export type WatchedSamlConnection = {
  readonly id: string;
  readonly name: string;
  readonly environment: string;
  readonly options: Record<string, unknown>;
  /** Where its metadata was asked for. */
  readonly url: string | null;
  /** Null: they are in `options`, or not known yet. */
  readonly certificates: string[] | null;
  readonly pending: Described | null;
  readonly last_error: string | null;
};

/** The enabled SAML connections of all environments, the oldest first. */
export async function listWatchedSamlConnections(knex: Knex, limit: number): Promise<WatchedSamlConnection[]> {
  const text = `select c.id, c.name, e.slug as environment, c.options, m.url, m.certificates, m.pending, m.last_error
    from connections c join environments e on e.id = c.environment_id
    left join saml_metadata m on m.environment_id = c.environment_id and m.connection_id = c.id and m.url = c.options->>'idp_metadata_url'
    where c.status = 'enabled' and c.strategy = 'saml' order by c.created_at, c.id limit $1`;
  return runSystem<WatchedSamlConnection>(knex, { name: 'saml_metadata.watched', text }, [limit]);
}

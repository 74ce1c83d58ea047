import type { Knex } from 'knex';
import { runSystem } from '../system.js';

/** A domain of an enabled organization that was verified, and whose record isn't there. */
export type WatchedDomain = {
  readonly id: string;
  readonly domain: string;
  readonly organization: string;
  readonly environment: string;
  readonly status: 'verified' | 'failed';
  /** Null where it has failed. */
  readonly missing_since: Date | null;
};

/** Verified domains of all environments whose record is missing, and those that have failed, the oldest first. */
export async function listWatchedDomains(knex: Knex, limit: number): Promise<WatchedDomain[]> {
  const text = `select d.id, d.domain, o.name as organization, e.slug as environment, d.status, d.missing_since from organization_domains d
    join organizations o on o.environment_id = d.environment_id and o.id = d.organization_id and o.status = 'enabled'
    join environments e on e.id = d.environment_id
    where d.status = 'failed' or d.missing_since is not null order by d.created_at, d.id limit $1`;
  return runSystem<WatchedDomain>(knex, { name: 'organization_domains.watched', text }, [limit]);
}

/** An enabled directory of an enabled organization. */
export type WatchedDirectory = {
  readonly id: string;
  readonly organization: string;
  readonly environment: string;
  /** When it was last heard of, else when it was made. */
  readonly heard_at: Date;
  /** What the last of its requests were answered with, the newest first. */
  readonly statuses: number[];
};

/** The enabled directories of all environments, the oldest first, each with its last `requests`. */
export async function listWatchedDirectories(knex: Knex, limit: number, requests: number): Promise<WatchedDirectory[]> {
  const text = `select d.id, o.name as organization, e.slug as environment, coalesce(d.last_used_at, d.created_at) as heard_at,
      array(select r.response_status from directory_requests r
        where r.environment_id = d.environment_id and r.directory_id = d.id order by r.id desc limit $2) as statuses
    from directories d
    join organizations o on o.environment_id = d.environment_id and o.id = d.organization_id and o.status = 'enabled'
    join environments e on e.id = d.environment_id
    where d.status = 'enabled' order by d.created_at, d.id limit $1`;
  return runSystem<WatchedDirectory>(knex, { name: 'directories.watched', text }, [limit, requests]);
}

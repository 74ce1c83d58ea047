import type { Knex } from 'knex';
import { run, type Scope } from '../scope.js';
import { servedSql } from '../served.js';
import { noteDeletedName } from './deleted_names.js';

/** A client of strangers that nobody uses. */
export type UnusedClient = { readonly environment_id: string; readonly id: string; readonly name: string };

/** It is unverified, and nobody has decided about it. */
const isUnverified = `c.origin <> 'administrator' and not c.verified and c.status = 'enabled'`;

/** `$now`, and the moment before which one that signed nobody in must have come. */
const unused = (now: string, unproven: string) => `
  not exists (select 1 from consents o where o.environment_id = c.environment_id and o.client_id = c.id)
  and not exists (select 1 from refresh_tokens r where r.environment_id = c.environment_id and r.client_id = c.id and r.expires_at > ${now})
  and ((c.last_used_at is null and c.created_at < ${unproven}) or exists (
    select 1 from environments e where e.id = c.environment_id
    and greatest(c.created_at, c.updated_at, c.last_used_at) < ${now} - make_interval(secs => e.unused_client_lifetime)))`;

/**
 * Unverified clients that came by themselves and never got a token since `unproven`, or hold neither consent nor refresh token for as long as their
 * environment says; the oldest first.
 */
export async function listUnusedClients(knex: Knex, at: { now: Date; unproven: Date }, limit: number): Promise<UnusedClient[]> {
  const found = await knex.raw<{ rows: UnusedClient[] }>(
    `select c.environment_id, c.id, c.name from clients c where ${isUnverified} and ${servedSql('c.environment_id')} and ${unused('?::timestamptz', '?::timestamptz')}
     order by c.created_at limit ?`,
    [at.now, at.unproven, at.now, limit],
  );
  return found.rows;
}

/**
 * Deletes the client if it is still so; false when it isn't. It is held first, by a statement of its own: a consent that is being stored holds it too, and
 * a statement that began before that was committed would not see it. Call it in a transaction.
 */
export async function deleteUnusedClient(scope: Scope, id: string, at: { now: Date; unproven: Date }): Promise<boolean> {
  scope.touched.add('clients');
  await run(scope, { name: 'clients.hold_unused', text: 'select 1 from clients where environment_id = $1 and id = $2 for update' }, [id]);
  const text = `delete from clients c
    where c.environment_id = $1 and c.id = $2 and ${isUnverified} and ${unused('$3', '$4')} returning c.id, c.origin`;
  const rows = await run<{ id: string; origin: string }>(scope, { name: 'clients.delete_unused', text }, [id, at.now, at.unproven]);
  // Nobody has decided about it: what comes by its metadata document may come again.
  for (const { origin } of rows) if (origin !== 'metadata_document') await noteDeletedName(scope, 'client', id, at.now);
  return rows.length === 1;
}

/** How many clients of the environment came by themselves, counted up to `most`. */
export async function countSelfRegisteredClients(scope: Scope, most: number): Promise<number> {
  const text = `select count(*)::int as count from (select 1 from clients where environment_id = $1 and origin = 'registration' limit $2) as found`;
  const rows = await run<{ count: number }>(scope, { name: 'clients.count_arrived', text }, [most]);
  return rows[0]?.count ?? 0;
}

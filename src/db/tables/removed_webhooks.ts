import type { Knex } from 'knex';
import { servedSql } from '../served.js';
import { runSystem } from '../system.js';

/** Notes that a webhook whose delivery was claimed doesn't exist (any more), so that its deliveries are deleted. */
export async function noteRemovedWebhook(knex: Knex, environment_id: string, webhook_id: string): Promise<void> {
  const text = `insert into removed_webhooks (environment_id, webhook_id) values ($1, $2)
      on conflict (environment_id, webhook_id) do update set removed_at = now()`;
  await runSystem(knex, { name: 'removed_webhooks.note', text }, [environment_id, webhook_id]);
}

/**
 * Deletes up to `limit` deliveries of one removed webhook. The note itself goes a minute later: a transaction that was under way may still
 * have added some.
 * @returns how many deliveries went
 */
export async function deleteRemovedDeliveries(knex: Knex, limit: number): Promise<number> {
  const text = `with removed as materialized (
        select r.environment_id, r.webhook_id from removed_webhooks r
        where ${servedSql('r.environment_id')} and (r.removed_at < now() - interval '1 minute'
           or exists (select from webhook_deliveries d where d.environment_id = r.environment_id and d.webhook_id = r.webhook_id))
        limit 1 for update skip locked),
      -- First what waits, by its row in the queue, which whoever records an attempt locks first too.
      deleted as (
        delete from webhook_deliveries d using removed r
        where d.environment_id = r.environment_id and d.id = any (coalesce(
          nullif(array(
            select q.delivery_id from webhook_queue q where q.environment_id = r.environment_id and q.webhook_id = r.webhook_id
            limit $1 for update skip locked), '{}'),
          array(
            select p.id from webhook_deliveries p where p.environment_id = r.environment_id and p.webhook_id = r.webhook_id
            limit $1 for update skip locked)))
        returning d.id),
      done as (
        delete from removed_webhooks n using removed r
        where n.environment_id = r.environment_id and n.webhook_id = r.webhook_id and n.removed_at < now() - interval '1 minute'
          and not exists (select from webhook_deliveries d where d.environment_id = r.environment_id and d.webhook_id = r.webhook_id))
      select (select count(*) from deleted)::integer as deleted`;
  const [row] = await runSystem<{ deleted: number }>(knex, { name: 'removed_webhooks.sweep', text }, [limit]);
  return row?.deleted ?? 0;
}

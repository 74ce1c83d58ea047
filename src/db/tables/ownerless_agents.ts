import type { Knex } from 'knex';
import { runSystem } from '../system.js';

/** Enabled agents that no active user answers for, by environment: how many, and the first of them. */
export async function listOwnerlessAgents(
  knex: Knex,
  limit: number,
): Promise<{ environment: string; id: string; name: string; count: number }[]> {
  const text = `select e.slug as environment, (array_agg(c.id order by c.created_at, c.id))[1] as id,
      (array_agg(c.name order by c.created_at, c.id))[1] as name, count(*)::integer as count
    from clients c join environments e on e.id = c.environment_id
    left join users u on u.environment_id = c.environment_id and u.id = c.owner_id and u.status = 'active'
    where c.is_agent and c.status = 'enabled' and u.id is null
    group by e.slug order by e.slug limit $1`;
  return runSystem(knex, { name: 'clients.ownerless_agents', text }, [limit]);
}

import type { Knex } from 'knex';
import { runSystem } from '../system.js';

/** Environments that are held, but haven't moved, and for how many seconds. */
export async function listHeldEnvironments(knex: Knex): Promise<{ slug: string; seconds: number }[]> {
  const text = `select slug, extract(epoch from now() - held_at)::float8 as seconds from environments
    where held_at is not null and moved_at is null order by held_at`;
  return runSystem(knex, { name: 'environments.held', text }, []);
}

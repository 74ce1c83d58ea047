import type { Knex } from 'knex';
import { runSystem } from '../system.js';

/** Enabled clients of production environments that a code may be sent to over plain http, to another machine than the person's. */
export async function listPlainHttpClients(
  knex: Knex,
  limit: number,
): Promise<{ id: string; name: string; redirect_uri: string; redirect_uris: string[]; environment: string }[]> {
  const text = `select c.id, c.name, u.redirect_uri, c.redirect_uris, e.slug as environment
    from clients c join environments e on e.id = c.environment_id
    cross join lateral (select min(uri) as redirect_uri from unnest(c.redirect_uris) as uri
      where uri ~* '^http://' and uri !~* '^http://(localhost|[^/:]*\\.localhost|127\\.[0-9.]+|\\[::1\\])([:/?#]|$)') u
    where e.kind = 'production' and c.status = 'enabled' and u.redirect_uri is not null
    order by e.slug, c.id limit $1`;
  return runSystem(knex, { name: 'clients.plain_http', text }, [limit]);
}

import type { Client } from 'pg';

/** What only grows, is nobody's to write through the API, or follows from other tables by their triggers: it is left as it is. */
const leftAlone = [
  'cache_changes', 'audit_logs', 'events', 'mails', 'daily_stats', 'idempotency_keys', 'removed_webhooks', 'webhook_queue', 'troubled_deliveries',
  'user_search_texts', 'event_retention', 'revocation_feed', 'signals', 'provider_token_revocations',
]; // prettier-ignore

/** Tables into which the triggers of others write too: they come after those. */
const alsoFilledBy: Readonly<Record<string, readonly string[]>> = { authorizations: ['consents'] };

type Table = { readonly name: string; readonly parents: readonly string[] };

/** Tables, with those that they refer to, each of which comes before. */
async function tablesInOrder(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(`
    select c.relname as name, coalesce(array_agg(distinct p.relname::text) filter (where p.relname is not null and p.oid <> c.oid), '{}') as parents
    from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
    left join pg_constraint k on k.conrelid = c.oid and k.contype = 'f' left join pg_class p on p.oid = k.confrelid
    where c.relkind in ('r', 'p') and not c.relispartition and exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'environment_id' or c.relname = 'environments')
    group by c.oid, c.relname`);
  const kept = rows
    .filter(({ name }) => !leftAlone.includes(name))
    .map(({ name, parents }) => ({ name, parents: [...parents, ...(alsoFilledBy[name] ?? [])] }));
  const left = new Map(kept.map((table) => [table.name, table]));
  const ordered: Table[] = [];
  while (left.size > 0) {
    const ready = [...left.values()].filter(({ parents }) => parents.every((parent) => !left.has(parent)));
    if (ready.length === 0) throw new Error(`tables refer to each other: ${[...left.keys()].join(', ')}`);
    for (const { name } of ready) left.delete(name);
    ordered.push(...ready);
  }
  return ordered;
}

/** The columns of each table but for generated ones, as a list. */
async function writtenColumns(client: Client): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; columns: string }>(`
    select table_name as name, string_agg(quote_ident(column_name), ', ' order by ordinal_position) as columns
    from information_schema.columns where table_schema = 'public' and is_generated = 'NEVER' group by table_name`);
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}

/** A number that follows from all rows of a table, in whatever order they lie there. */
const sumOf = (table: string) => `(select coalesce(sum(hashtextextended(one::text, 0)), 0) from ${table} one)`;

/**
 * Keeps the rows of now; the answer puts them back, after a step of a walk that changed something. A function, whose plans the connection remembers. It
 * writes the tables that have other rows by now, and those that refer to them: most steps change one or two, and what is written is told to the service.
 */
export async function saveState(client: Client): Promise<() => Promise<void>> {
  const tables = await tablesInOrder(client);
  const columns = await writtenColumns(client);
  const isChanged = (name: string) => `'${name}' = any (changed)`;
  const restore = [
    ...tables.map(({ name, parents }) => {
      const taken = ['false', ...parents.map(isChanged)].join(' or ');
      return `if ${taken} or ${sumOf(`public.${name}`)} <> ${sumOf(`saved.${name}`)} then changed := changed || '${name}'::text; end if;`;
    }),
    ...tables.toReversed().map(({ name }) => `if ${isChanged(name)} then delete from public.${name}; end if;`),
    'delete from public.removed_webhooks;',
    ...tables.map(
      ({ name }) =>
        `if ${isChanged(name)} then ${alsoFilledBy[name] ? `delete from public.${name};` : ''} insert into public.${name} (${columns.get(name)}) select ${columns.get(name)} from saved.${name}; end if;`,
    ),
  ];
  await client.query(
    [
      'create schema saved;',
      ...tables.map(({ name }) => `create table saved.${name} as table public.${name};`),
      `create function saved.restore() returns void language plpgsql as $$ declare changed text[] := '{}'; begin ${restore.join('\n')} end $$;`,
    ].join('\n'),
  );
  // What the service does in the background may hold the same rows in another order.
  const restored = async (): Promise<void> =>
    client.query('select saved.restore()').then(
      () => undefined,
      (error: { code?: string }) => (error.code === '40P01' ? restored() : Promise.reject(error)),
    );
  return restored;
}

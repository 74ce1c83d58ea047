import type { Client } from 'pg';

/** What only grows, is nobody's to write through the API, or follows from other tables by their triggers: it is left as it is. */
const leftAlone = [
  'cache_changes', 'audit_logs', 'events', 'mails', 'daily_stats', 'idempotency_keys', 'removed_webhooks', 'webhook_queue', 'troubled_deliveries',
]; // prettier-ignore

/** Tables in an order in which each comes after those that it refers to. */
async function tablesInOrder(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; parents: string[] }>(`
    select c.relname as name, coalesce(array_agg(distinct p.relname::text) filter (where p.relname is not null and p.oid <> c.oid), '{}') as parents
    from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
    left join pg_constraint k on k.conrelid = c.oid and k.contype = 'f' left join pg_class p on p.oid = k.confrelid
    where c.relkind = 'r' and exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'environment_id' or c.relname = 'environments')
    group by c.oid, c.relname`);
  const left = new Map(rows.filter(({ name }) => !leftAlone.includes(name)).map(({ name, parents }) => [name, parents]));
  const ordered: string[] = [];
  while (left.size > 0) {
    const ready = [...left].filter(([, parents]) => parents.every((parent) => !left.has(parent))).map(([name]) => name);
    if (ready.length === 0) throw new Error(`tables refer to each other: ${[...left.keys()].join(', ')}`);
    for (const name of ready) left.delete(name);
    ordered.push(...ready.sort());
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

/** Keeps the rows of now; the answer puts them back, after a step of a walk that changed something. A function, whose plans the connection remembers. */
export async function saveState(client: Client): Promise<() => Promise<void>> {
  const names = await tablesInOrder(client);
  const columns = await writtenColumns(client);
  const restore = [
    ...names.toReversed().map((name) => `delete from public.${name};`),
    'delete from public.removed_webhooks;',
    ...names.map((name) => `insert into public.${name} (${columns.get(name)}) select ${columns.get(name)} from saved.${name};`),
  ];
  await client.query(
    [
      'create schema saved;',
      ...names.map((name) => `create table saved.${name} as table public.${name};`),
      `create function saved.restore() returns void language plpgsql as $$ begin ${restore.join('\n')} end $$;`,
    ].join('\n'),
  );
  return async () => void (await client.query('select saved.restore()'));
}

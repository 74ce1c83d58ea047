import { run, type Scope } from '../scope.js';

/** Records that have a name which people know them by. */
export type NamedType = 'user' | 'client' | 'connection' | 'webhook';

export type NameRow = { readonly type: NamedType; readonly id: string; readonly name: string };

/** What people call the records of the ids, in one statement; nobody asks for more than a page names. */
export async function listNames(
  scope: Scope,
  { user, client, connection, webhook }: Readonly<Record<NamedType, readonly string[]>>,
): Promise<NameRow[]> {
  const text = `
    select 'user' as type, id::text, coalesce(nullif(concat_ws(' ', first_name, last_name), ''), email) as name
    from users where environment_id = $1 and id = any($2::uuid[])
    union all select 'client', id, name from clients where environment_id = $1 and id = any($3::text[])
    union all select 'connection', id::text, display_name from connections where environment_id = $1 and id = any($4::uuid[])
    union all select 'webhook', id::text, name from webhooks where environment_id = $1 and id = any($5::uuid[])`;
  return run<NameRow>(scope, { name: 'names.list', text }, [[...user], [...client], [...connection], [...webhook]]);
}

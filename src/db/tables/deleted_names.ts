import { run, type Scope } from '../scope.js';

export type NamedKind = 'client' | 'api_resource' | 'permission';

/** The name of a permission: of one API resource, whatever that is called. */
export const permissionName = ({ api_resource_id, name }: { readonly api_resource_id: string; readonly name: string }): string =>
  `${api_resource_id} ${name}`;

export async function noteDeletedName(scope: Scope, kind: NamedKind, name: string, at: Date): Promise<void> {
  const text = `insert into deleted_names (environment_id, kind, name, deleted_at) values ($1, $2, $3, $4)
    on conflict (environment_id, kind, name) do update set deleted_at = excluded.deleted_at`;
  await run(scope, { name: 'deleted_names.note', text }, [kind, name, at]);
}

export async function isDeletedName(scope: Scope, kind: NamedKind, name: string): Promise<boolean> {
  const text = 'select 1 as one from deleted_names where environment_id = $1 and kind = $2 and name = $3';
  return (await run(scope, { name: 'deleted_names.find', text }, [kind, name])).length > 0;
}

/** Lets the name be used again; false when it was free. */
export async function forgetDeletedName(scope: Scope, kind: NamedKind, name: string): Promise<boolean> {
  const text = 'delete from deleted_names where environment_id = $1 and kind = $2 and name = $3 returning 1 as one';
  return (await run(scope, { name: 'deleted_names.forget', text }, [kind, name])).length > 0;
}

/** What speaks against a `client_id`: a client of it was deleted, or an API resource bears it, in whatever spelling. */
export type ClientIdUse = { readonly deleted: boolean; readonly identifier: boolean };

/**
 * What the id of a client is used for beside clients that there are.
 * @param canonical the id as `canonicalResource` has it
 */
export async function findClientIdUse(scope: Scope, client_id: string, canonical: string): Promise<ClientIdUse> {
  const text = `select
    exists (select 1 from deleted_names where environment_id = $1 and kind = 'client' and name = $2) as deleted,
    exists (select 1 from api_resources where environment_id = $1 and canonical_identifier = $3) as identifier`;
  const [row] = await run<ClientIdUse>(scope, { name: 'deleted_names.find_client_id_use', text }, [client_id, canonical]);
  return row as ClientIdUse;
}

import { rowFunctions, type RecordRow } from '../records.js';
import { run, table, type Scope } from '../scope.js';
import type { requiredAcrs } from './environments.js';

/** A row of `outbound_grants`: what a client may have for people at a server outside, and for whom. */
export type OutboundGrantRow = RecordRow & {
  client_id: string;
  external_server_id: string;
  /** Identifiers of the server's resources; null: all. */
  resources: string[] | null;
  /** Null: all of the resource's. */
  scopes: string[] | null;
  /** Of authorization details, as the server names them (RFC 9396 2). */
  authorization_details_types: string[];
  /** What the server calls the client; null: its address, as of clients known by their document. */
  external_client_id: string | null;
  required_acr: (typeof requiredAcrs)[number] | null;
  max_authentication_age: number | null;
  /** For whom: members of the organization, of the group, holders of the role; all that are named have to fit. */
  organization_id: string | null;
  organization_group_id: string | null;
  role_id: string | null;
  status: 'enabled' | 'disabled';
};

export const listEnabledOutboundGrants = async (scope: Scope, client_id: string, external_server_id: string): Promise<OutboundGrantRow[]> =>
  (await table<OutboundGrantRow>(scope, 'outbound_grants')
    .where({ client_id, external_server_id, status: 'enabled' })
    .orderBy('id')) as OutboundGrantRow[];

/** Those of the grants that are for the person, by what they are a member of and hold now: in the organization of the sign-in, if it was for one. */
export async function listFittingOutboundGrants(
  scope: Scope,
  ids: readonly string[],
  { user_id, organization_id }: { readonly user_id: string; readonly organization_id: string | null },
): Promise<string[]> {
  const text = `select g.id from outbound_grants g
    where g.environment_id = $1 and g.id = any ($2::uuid[])
      and (g.organization_id is null
        or g.organization_id = coalesce($4::uuid, g.organization_id) and is_member($1::uuid, g.organization_id, $3::uuid))
      and (g.organization_group_id is null or exists (
        select from organization_group_members m
        join directory_users d on d.environment_id = m.environment_id and d.id = m.directory_user_id and d.active
        join organization_groups o on o.environment_id = m.environment_id and o.id = m.group_id
        where m.environment_id = $1 and m.group_id = g.organization_group_id and d.user_id = $3::uuid
          and o.organization_id = coalesce($4::uuid, o.organization_id) and is_member($1::uuid, o.organization_id, $3::uuid)))
      and (g.role_id is null
        or exists (select from user_roles r where r.environment_id = $1 and r.user_id = $3::uuid and r.role_id = g.role_id)
        or exists (
          select from organization_memberships m cross join lateral member_roles($1::uuid, m.organization_id, $3::uuid) r
          where m.environment_id = $1 and m.user_id = $3::uuid and r.role_id = g.role_id
            and m.organization_id = coalesce(g.organization_id, $4::uuid, m.organization_id) and is_member($1::uuid, m.organization_id, $3::uuid)))`;
  const rows = await run<{ id: string }>(scope, { name: 'outbound_grants.fitting', text }, [[...ids], user_id, organization_id]);
  return rows.map(({ id }) => id);
}

export const {
  insert: insertOutboundGrant,
  update: updateOutboundGrant,
  remove: deleteOutboundGrant,
} = rowFunctions<OutboundGrantRow>('outbound_grants');

import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import type { ClientGrantRow } from '../../db/tables/client_grants.js';
import type { OutboundGrantRow } from '../../db/tables/outbound_grants.js';
import type { PermissionRow } from '../../db/tables/permissions.js';
import type { ProviderGrantRow } from '../../db/tables/provider_grants.js';
import { groupedBy } from '../../lib/grouped.js';
import type { ResourceRow } from '../resource.js';
import { sortedCredentials, type LiveCredential } from './described-credentials.js';
import type { RolePermissions } from './document.js';
import type { KindName } from './kinds.js';
import { detailTypeKey, domainKey, grantKey, outboundKey, permissionKey, providerGrantKey, wordsKey } from './keys.js';
import { compare, type Links, type RowsByKind } from './state.js';

/** By what names a document knows records that it would name by id. */
export type KnownNames = {
  /** The name in a document, by the id of an API resource. */
  readonly identifiers: Map<string, string>;
  readonly credentials: ReadonlyMap<string, readonly LiveCredential[]>;
  readonly organizations: Map<string, string>;
  /** The issuer of an external server, by its id. */
  readonly servers: Map<string, string>;
  readonly connections: Map<string, string>;
  readonly has_organizations: boolean;
};

export const sortedNames = (names: readonly string[]): string[] => [...new Set(names)].sort(compare);

/** The permissions of a role in the order in which documents are compared: by API resource, then by name. */
export function sortedPermissions(some: readonly RolePermissions[]): RolePermissions[] {
  const byResource = new Map<string, Set<string>>();
  for (const { api_resource, names } of some) {
    const known = byResource.get(api_resource) ?? new Set();
    for (const name of names) known.add(name);
    byResource.set(api_resource, known);
  }
  return [...byResource]
    .filter(([, names]) => names.size > 0)
    .sort(([one], [other]) => compare(one, other))
    .map(([api_resource, names]) => ({ api_resource, names: [...names].sort(compare) }));
}

function grouped(links: Links): Map<string, string[]> {
  const byNear = groupedBy(links, ({ near }) => near);
  return new Map([...byNear].map(([near, all]) => [near, all.map(({ far }) => far)]));
}

/** What a record is called, and what else a document says of it than its attributes, or does not. */
type Naming = (row: ResourceRow) => { key: string; more?: ResourceRow; without?: readonly string[]; foreign?: boolean };

function heldPermissions(rows: RowsByKind, links: Links, nameOfApi: (id: string) => string) {
  const [byId, permissionsOf] = [new Map(rows.permission.map((row) => [String(row['id']), row as PermissionRow])), grouped(links)];
  return (role_id: string): RolePermissions[] =>
    (permissionsOf.get(role_id) ?? []).flatMap((id) => {
      const found = byId.get(id);
      return found ? [{ api_resource: nameOfApi(found.api_resource_id), names: [found.name] }] : [];
    });
}

function outboundNaming(
  { client_id, external_server_id, role_id }: OutboundGrantRow,
  servers: KnownNames['servers'],
  roles: KnownNames['servers'],
): ReturnType<Naming> {
  const role = role_id === null ? null : (roles.get(role_id) ?? role_id);
  return { key: outboundKey(client_id, servers.get(external_server_id) ?? external_server_id, role), more: { role } };
}

export function namings(
  rows: RowsByKind,
  links: { readonly roles: Links; readonly clients: Links; readonly organizations: Links },
  { identifiers, organizations, servers, connections, credentials, has_organizations }: KnownNames,
): Readonly<Record<KindName, Naming>> {
  const nameOfApi = (id: string) => identifiers.get(id) ?? id;
  const foreignClients = new Set(rows.client.filter((row) => row['is_system'] === true).map((row) => row['id']));
  const roleNames = new Map(rows.role.map((row) => [String(row['id']), String(row['name'])]));
  const [connectionsOf, defaultRolesOf] = [grouped(links.clients), grouped(links.organizations)];
  const nameOfOrganization = (row: ResourceRow) => organizations.get(String(row['organization_id'])) ?? null;
  const held = heldPermissions(rows, links.roles, nameOfApi);
  const named = (row: ResourceRow) => ({ key: String(row['name']) });
  return {
    environment: (row) => ({ key: String(row['slug']) }),
    api_resource: (row) => ({ key: nameOfApi(String(row['id'])), foreign: (row as ApiResourceRow).is_system }),
    permission: (row) => {
      const { api_resource_id, name, is_system } = row as PermissionRow;
      return { key: permissionKey(nameOfApi(api_resource_id), name), foreign: is_system };
    },
    authorization_detail_type: (row) => ({ key: detailTypeKey(nameOfApi(String(row['api_resource_id'])), String(row['name'])) }),
    role: (row) => ({
      ...named(row),
      more: { permissions: sortedPermissions(held(String(row['id']))) },
      foreign: row['is_system'] === true,
    }),
    organization: (row) => {
      const roles = (defaultRolesOf.get(String(row['id'])) ?? []).flatMap((id) => roleNames.get(id) ?? []);
      return { ...named(row), more: { default_roles: sortedNames(roles) } };
    },
    organization_domain: (row) => ({ key: domainKey(nameOfOrganization(row) ?? '', String(row['domain'])) }),
    connection: (row) => ({
      ...named(row),
      more: has_organizations ? { organization: nameOfOrganization(row) } : {},
      // What its organization says for it.
      without: row['organization_id'] ? ['domains', 'required'] : [],
    }),
    trusted_issuer: (row) => ({ key: String(row['issuer']) }),
    client: (row) => {
      const offered = (connectionsOf.get(String(row['id'])) ?? []).flatMap((id) => connections.get(id) ?? []).sort(compare);
      const federated = sortedCredentials((credentials.get(String(row['id'])) ?? []).map(({ described }) => described));
      const more = { connections: offered, federated_credentials: federated };
      return { key: String(row['id']), more, foreign: row['is_system'] === true };
    },
    client_grant: (row) => {
      const { client_id, api_resource_id, subject_type } = row as ClientGrantRow;
      return { key: grantKey(client_id, nameOfApi(api_resource_id), subject_type), foreign: foreignClients.has(client_id) };
    },
    provider_grant: (row) => {
      const { client_id, connection_id } = row as ProviderGrantRow;
      return { key: providerGrantKey(client_id, connections.get(connection_id) ?? connection_id) };
    },
    external_server: (row) => ({ key: String(row['issuer']), more: { sign_in_client: row['sign_in_client_id'] ?? null } }),
    outbound_grant: (row) => outboundNaming(row as OutboundGrantRow, servers, roleNames),
    webhook: named,
    log_stream: named,
    mail_template: (row) => ({ key: wordsKey(String(row['name']), row['locale']) }),
    page_text: (row) => ({ key: wordsKey(String(row['key']), row['locale']) }),
  };
}

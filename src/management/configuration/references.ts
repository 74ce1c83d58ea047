import type { ResourceRow } from '../resource.js';
import { recordsNamed } from './live.js';
import { recordName, permissionKey } from './keys.js';
import type { Item } from './items.js';
import { note, type Run } from './run.js';
import type { KindName } from './kinds.js';

const words: Partial<Readonly<Record<KindName, string>>> = {
  api_resource: 'API resource',
  client: 'client',
  organization: 'organization',
  role: 'role',
  connection: 'connection',
  permission: 'permission',
  authorization_detail_type: 'type of authorization details',
  external_server: 'external server',
};

/** The id of a record that an item names, or null, which is noted unless the document has the record and that was refused. */
function idOf(run: Run, type: KindName, key: string, path: Item['path'], shown = key): string | null {
  const [found] = recordsNamed(run.live, type, key);
  if (found) return found.id;
  if (!run.declared.has(recordName(type, key)))
    note(run, path, 'related_not_found', `There is no ${words[type]} "${shown.slice(0, 200)}".`);
  return null;
}

const linkage = (type: string, ids: readonly string[]) => ({ data: ids.map((id) => ({ type, id })) });

/**
 * What an item names, as the relationships of a request; null when something of it isn't there.
 * @param creating relationships of a new record are given once and for all
 */
export function relationshipsOf(run: Run, item: Item, creating: boolean): ResourceRow | null {
  const found: ResourceRow = {};
  let missing = false;
  const require = (id: string | null): id is string => id !== null || !(missing = true);
  if (item.permissions) {
    const ids = item.permissions.flatMap(({ api_resource, names }, index) => {
      const path = [...item.path, 'permissions', index];
      if (!require(idOf(run, 'api_resource', api_resource, [...path, 'api_resource']))) return [];
      return names
        .map((name, at) => idOf(run, 'permission', permissionKey(api_resource, name), [...path, 'names', at], name))
        .filter(require);
    });
    found['permissions'] = linkage('permission', [...new Set(ids)]);
  }
  if (item.connections) {
    const ids = item.connections.map((name, index) => idOf(run, 'connection', name, [...item.path, 'connections', index])).filter(require);
    found['connections'] = linkage('connection', [...new Set(ids)]);
  }
  if (item.default_roles) {
    const ids = item.default_roles.map((name, index) => idOf(run, 'role', name, [...item.path, 'default_roles', index])).filter(require);
    found['default_roles'] = linkage('role', [...new Set(ids)]);
  }
  if (creating && item.organization) {
    const id = idOf(run, 'organization', item.organization, item.kind.type === 'connection' ? [...item.path, 'organization'] : item.path);
    if (require(id)) found['organization'] = { data: { type: 'organization', id } };
  }
  if (creating && item.api_resource !== undefined) {
    const id = idOf(run, 'api_resource', item.api_resource, item.kind.type === 'client_grant' ? [...item.path, 'api_resource'] : item.path);
    if (require(id)) found['api_resource'] = { data: { type: 'api_resource', id } };
  }
  if (creating && item.client_id !== undefined) {
    const id = idOf(run, 'client', item.client_id, item.kind.type === 'client_grant' ? item.path : [...item.path, 'client']);
    if (require(id)) found['client'] = { data: { type: 'client', id } };
  }
  if (creating && item.connection !== undefined) {
    const id = idOf(run, 'connection', item.connection, item.path);
    if (require(id)) found['connection'] = { data: { type: 'connection', id } };
  }
  if (creating && item.external_server !== undefined) {
    const id = idOf(run, 'external_server', item.external_server, item.path);
    if (require(id)) found['external_server'] = { data: { type: 'external_server', id } };
  }
  if (creating && item.role) {
    const id = idOf(run, 'role', item.role, [...item.path, 'role']);
    if (require(id)) found['role'] = { data: { type: 'role', id } };
  }
  if (item.sign_in_client !== undefined) {
    const id = item.sign_in_client === null ? null : idOf(run, 'client', item.sign_in_client, [...item.path, 'sign_in_client']);
    if (item.sign_in_client === null || require(id)) found['sign_in_client'] = { data: id === null ? null : { type: 'client', id } };
  }
  return missing ? null : found;
}

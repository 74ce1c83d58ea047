import { z } from 'zod';
import { changePermission, createPermission, removePermission } from '../../domain/api-resources/permissions.js';
import { reachOfPermission, removedWithPermission } from '../../domain/reach/reach-of.js';
import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import type { PermissionRow } from '../../db/tables/permissions.js';
import { equalTo, flagFilter, searchFilter, stamps, stampSorts, boundedText, textSort, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

/** A scope token (RFC 6749 3.3). */
export const scopeToken = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be visible ASCII without spaces, quotes and backslashes (RFC 6749 3.3)');

export const permissions = resource<PermissionRow, { name: string; description?: string | null }, { description?: string | null }>({
  type: 'permission',
  path: 'permissions',
  description: 'What an API resource lets its callers do. The name is the OAuth scope.',
  attributes: z.object({ is_system: z.boolean(), ...stamps }),
  // A new one is nobody's yet. Those of the Management API come with the service and can not be changed.
  reach: { of: reachOfPermission, removed: removedWithPermission, create: 'plain' },
  settable: { name: ['plain', scopeToken, 'needed and fixed'], description: ['plain', boundedText(500, 0).nullable()] },
  relationships: {
    api_resource: toOne('api_resource', 'The API that it belongs to.', { create: 'required' }),
    roles: {
      kind: 'many',
      to: 'role',
      by: { table: 'role_permissions', near: 'permission_id', far: 'role_id' },
      description: 'Roles that hold it.',
      include: true,
    },
  },
  filters: {
    name: equalTo('name', scopeToken, 'The exact name.'),
    api_resource: equalTo('api_resource_id', uuid, 'Belongs to one of these API resources (ids).'),
    is_system: flagFilter('is_system', 'Whether it belongs to the Management API.'),
    search: searchFilter(['permissions.name'], 'The name'),
  },
  sorts: { ...stampSorts('permissions'), name: textSort('permissions.name') },
  create: {
    run: async (tx, _actor, input, related) => ({
      row: await createPermission(tx, input, related['api_resource'] as unknown as ApiResourceRow),
    }),
  },
  update: { run: async (tx, _actor, row, input) => ({ row: await changePermission(tx, row, input) }) },
  remove: { run: (tx, _actor, row) => removePermission(tx, row) },
  display: (permission) => permission.name,
});

import { z } from 'zod';
import type { Context } from '../../domain/context.js';
import { changeRole, createRole, removeRole, type RoleInput } from '../../domain/roles/roles.js';
import { reachOfRoles } from '../../domain/reach/reach-of.js';
import { changeUserRoles } from '../../domain/users/users.js';
import { findRows } from '../../db/lists/list.js';
import type { PermissionRow } from '../../db/tables/permissions.js';
import { listPermissionIdsOfRole, type RoleRow } from '../../db/tables/roles.js';
import type { UserRow } from '../../db/tables/users.js';
import { equalTo, flag, searchFilter, stamps, stampSorts, boundedText, shownName, textSort } from '../fields.js';
import { resource, type RelatedRows } from '../resource.js';
import { environmentLink } from './environment-link.js';

const name = shownName(100).refine((text) => text.trim() === text, 'must not begin or end with spaces');
const settable = { description: boundedText(500, 0).nullable().optional(), is_default: z.boolean().optional() };

/** What must be added and removed so that the role has exactly the permissions that the document names. */
async function replacement(tx: Context, role: RoleRow, related: RelatedRows) {
  const wanted = related['permissions'] as unknown as readonly PermissionRow[] | undefined;
  if (!wanted) return { add: [], remove: [] };
  const keep = new Set(wanted.map((permission) => permission.id));
  const surplus = (await listPermissionIdsOfRole(tx.scope, role.id)).filter((id) => !keep.has(id));
  const remove = (await findRows(
    tx.scope,
    { table: 'permissions', key: 'id', keyType: 'uuid' },
    'id',
    surplus,
  )) as unknown as PermissionRow[];
  return { add: wanted, remove };
}

/** Named sets of permissions that users hold. */
export const roles = resource<RoleRow, RoleInput, RoleInput>({
  type: 'role',
  path: 'roles',
  title: 'Roles',
  description: 'Named sets of permissions that users hold. Default roles are given to every new user; system roles can not be changed.',
  source: { table: 'roles', key: 'id', keyType: 'uuid' },
  attributes: z.object({
    name: z.string(),
    description: z.string().nullable(),
    is_default: z.boolean(),
    is_system: z.boolean(),
    ...stamps,
  }),
  reach: {
    of: (tx, role) => reachOfRoles(tx, [role]),
    // Applications that are told `roles` go by the name: whoever moves it takes it from the role's holders, and frees it for a role of their own.
    attributes: { name: 'control', description: 'plain', is_default: 'control' },
  },
  relationships: {
    permissions: {
      kind: 'many',
      to: 'permission',
      by: { table: 'role_permissions', near: 'role_id', far: 'permission_id' },
      description: 'What the role allows.',
      include: true,
      write: true,
      change: {
        touch: 'reach',
        add: async (tx, _actor, row, found) =>
          void (await changeRole(tx, row as RoleRow, {}, { add: found as PermissionRow[], remove: [] })),
        remove: async (tx, _actor, row, found) =>
          void (await changeRole(tx, row as RoleRow, {}, { add: [], remove: found as PermissionRow[] })),
        replace: async (tx, _actor, row, found) =>
          void (await changeRole(tx, row as RoleRow, {}, await replacement(tx, row as RoleRow, { permissions: found }))),
      },
    },
    users: {
      kind: 'many',
      to: 'user',
      by: { table: 'user_roles', near: 'role_id', far: 'user_id' },
      description: 'Who holds the role.',
      change: {
        needs: ['users:write'],
        touch: 'plain',
        targets: 'reach',
        async add(tx, actor, row, users) {
          for (const user of users) await changeUserRoles(tx, actor, user as UserRow, { add: [row as RoleRow], remove: [] });
        },
        async remove(tx, actor, row, users) {
          for (const user of users) await changeUserRoles(tx, actor, user as UserRow, { add: [], remove: [row as RoleRow] });
        },
      },
    },
    environment: environmentLink,
  },
  filters: {
    name: equalTo('name', boundedText(100), 'The exact name.'),
    is_default: flag('is_default', 'Whether new users get it.'),
    search: searchFilter(['lower(roles.name)'], 'The name begins with this.'),
  },
  sorts: { ...stampSorts('roles'), name: textSort('roles.name') },
  create: {
    schema: z.strictObject({ name, ...settable }),
    run: async (tx, _actor, input, related) => ({
      row: await createRole(tx, input, (related['permissions'] ?? []) as unknown as readonly PermissionRow[]),
    }),
  },
  update: {
    schema: z.strictObject({ name: name.optional(), ...settable }),
    run: async (tx, _actor, row, input, related) => ({ row: await changeRole(tx, row, input, await replacement(tx, row, related)) }),
  },
  remove: { run: (tx, _actor, row) => removeRole(tx, row) },
  display: (role) => role.name,
});

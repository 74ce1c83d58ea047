import { z } from 'zod';
import { changeRole, createRole, removeRole, type RoleInput } from '../../domain/roles/roles.js';
import { reachOfMemberRoles } from '../../domain/reach/reach-of-organizations.js';
import { reachOfRoles } from '../../domain/reach/reach-of.js';
import { changeUserRoles } from '../../domain/users/users.js';
import type { PermissionRow } from '../../db/tables/permissions.js';
import type { RoleRow } from '../../db/tables/roles.js';
import type { UserRow } from '../../db/tables/users.js';
import { equalTo, flagFilter, searchFilter, stamps, stampSorts, boundedText, shownName, textSort } from '../fields.js';
import { resource } from '../declaration.js';
import { toLinked } from '../links.js';
import type { RelatedRows } from '../resource.js';

const name = shownName(100).refine((text) => text.trim() === text, 'must not begin or end with spaces');

const kind =
  'Whom it is given to: users, or members of organizations (`organization`), in whose tokens of the organization alone it counts. `environment` unless said.';

const namedIn = (related: RelatedRows) => related['permissions'] as unknown as readonly PermissionRow[] | undefined;

export const roles = resource<RoleRow, RoleInput, RoleInput>({
  type: 'role',
  path: 'roles',
  description: 'Named sets of permissions that users hold. Default roles are given to every new user; system roles can not be changed.',
  // Those that its members can have; what these hold is the environment's to say.
  organization: { owned: `roles.kind = 'organization'` },
  attributes: z.object({ is_system: z.boolean(), ...stamps }),
  reach: { of: (tx, role) => (role.kind === 'organization' ? reachOfMemberRoles : reachOfRoles)(tx, [role]) },
  settable: {
    // Applications that are told `roles` go by the name: whoever moves it takes it from the role's holders, and frees it for a role of their own.
    name: ['control', name, 'needed'],
    description: ['plain', boundedText(500, 0).nullable()],
    is_default: ['control', z.boolean()],
    kind: ['plain', z.enum(['environment', 'organization']).meta({ description: kind }), 'fixed'],
  },
  relationships: {
    permissions: toLinked<RoleRow, PermissionRow>(
      'permission',
      { table: 'role_permissions', near: 'role_id' },
      'What the role allows.',
      (tx, _actor, row, change) => changeRole(tx, row, {}, change),
    ),
    users: {
      kind: 'many',
      to: 'user',
      by: { table: 'user_roles', near: 'role_id', far: 'user_id' },
      description: 'Who holds the role.',
      change: {
        needs: ['users:write'],
        touch: 'plain',
        targets: 'reach',
        replaces: false,
        async run(tx, actor, row, { add = [], remove = [] }) {
          const role = [row as RoleRow];
          for (const user of add) await changeUserRoles(tx, actor, user as UserRow, { add: role, remove: [] });
          for (const user of remove) await changeUserRoles(tx, actor, user as UserRow, { add: [], remove: role });
        },
      },
    },
  },
  filters: {
    name: equalTo('name', boundedText(100), 'The exact name.'),
    kind: equalTo('kind', z.enum(['environment', 'organization']), 'Given to users, or to members of organizations.'),
    is_default: flagFilter('is_default', 'Whether new users get it.'),
    search: searchFilter(['roles.name'], 'The name'),
  },
  sorts: { ...stampSorts('roles'), name: textSort('roles.name') },
  create: { run: async (tx, _actor, input, related) => ({ row: await createRole(tx, input, namedIn(related) ?? []) }) },
  update: { run: async (tx, _actor, row, input, related) => ({ row: await changeRole(tx, row, input, { replace: namedIn(related) }) }) },
  remove: { run: (tx, _actor, row) => removeRole(tx, row) },
  display: (role) => role.name,
});

import { z } from 'zod';
import { changeGroupRoles } from '../../domain/directories/groups.js';
import { reachOfMemberRoles } from '../../domain/reach/reach-of-organizations.js';
import { listRoleIdsOfGroup, type OrganizationGroupRow } from '../../db/tables/organization_groups.js';
import type { RoleRow } from '../../db/tables/roles.js';
import { equalTo, searchFilter, stamps, stampSorts, textSort, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toLinked, toOne } from '../links.js';

export const organization_groups = resource<OrganizationGroupRow>({
  type: 'organization_group',
  path: 'organization_groups',
  description:
    'Groups that organizations’ directories tell of (SCIM). Their names mean nothing by themselves: their members have the roles that the group is given here.',
  attributes: z.object({ display_name: z.string(), external_id: z.string().nullable(), ...stamps }),
  organization: { column: 'organization_id' },
  reach: {
    of: async (tx, { id }) => reachOfMemberRoles(tx, (await listRoleIdsOfGroup(tx.scope, id)).map((role) => ({ id: role }))), // prettier-ignore
  },
  relationships: {
    organization: toOne('organization', 'Whose group.'),
    directory: { kind: 'one', to: 'directory', column: 'directory_id', description: 'The directory that tells of it.' },
    roles: toLinked<OrganizationGroupRow, RoleRow>(
      'role',
      { table: 'organization_group_roles', near: 'group_id' },
      'What its members have; roles of the kind `organization`.',
      (tx, _actor, row, change) => changeGroupRoles(tx, row, change),
    ),
  },
  filters: {
    organization: equalTo('organization_id', uuid, 'Of one of these organizations (ids).'),
    search: searchFilter(['organization_groups.display_name', "coalesce(organization_groups.external_id, '')"], 'Name or external id'),
  },
  sorts: { ...stampSorts('organization_groups'), display_name: textSort('organization_groups.display_name') },
  update: {
    async run(tx, _actor, row, _input, related) {
      const replace = related['roles'] as unknown as readonly RoleRow[] | undefined;
      return { row: replace === undefined ? row : await changeGroupRoles(tx, row, { replace }) };
    },
  },
  display: (row) => row.display_name,
});

import { z } from 'zod';
import { addMember, changeMemberRoles, removeMember, resumeMember, suspendMember } from '../../domain/organizations/memberships.js';
import { reachOfMembership } from '../../domain/reach/reach-of-organizations.js';
import { membershipSources, membershipStatuses, type MembershipRow } from '../../db/tables/organization_memberships.js';
import type { OrganizationRow } from '../../db/tables/organizations.js';
import type { RoleRow } from '../../db/tables/roles.js';
import type { UserRow } from '../../db/tables/users.js';
import { equalTo, linked, stamps, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toLinked, toOne } from '../links.js';
import type { RelatedRows } from '../resource.js';

const named = (related: RelatedRows) => related['roles'] as unknown as readonly RoleRow[] | undefined;

export const organization_memberships = resource<MembershipRow>({
  type: 'organization_membership',
  path: 'organization_memberships',
  description: 'Who is a member of an organization, with the roles that count there; those of groups come beside.',
  attributes: z.object({ status: z.enum(membershipStatuses), source: z.enum(membershipSources), ...stamps }),
  organization: { column: 'organization_id' },
  reach: { of: reachOfMembership },
  relationships: {
    organization: toOne('organization', 'Of which.', { create: 'required' }),
    user: toOne('user', 'Who.', { openWithin: true, create: 'required' }),
    roles: toLinked<MembershipRow, RoleRow>(
      'role',
      { table: 'organization_membership_roles', near: 'membership_id' },
      'The roles that the member has, without those of groups; without any named a new member gets `default_roles`.',
      changeMemberRoles,
    ),
  },
  filters: {
    organization: equalTo('organization_id', uuid, 'Of one of these organizations (ids).'),
    user: equalTo('user_id', uuid, 'Of one of these users (ids).'),
    role: linked(
      { table: 'organization_membership_roles', near: 'membership_id', far: 'role_id' },
      'Has one of these roles (ids), not by a group. Takes `roles:read` too.',
      'roles:read',
    ),
    status: equalTo('status', z.enum(membershipStatuses), 'Active or suspended.'),
    source: equalTo('source', z.enum(membershipSources), 'What made the user a member.'),
  },
  create: {
    async run(tx, actor, _input, related) {
      const [organization, user] = [related['organization'] as unknown as OrganizationRow, related['user'] as unknown as UserRow];
      return { row: await addMember(tx, actor, { organization, user, roles: named(related), source: 'manual' }) };
    },
  },
  update: {
    async run(tx, actor, row, _input, related) {
      return { row: await changeMemberRoles(tx, actor, row, { replace: named(related) }) };
    },
  },
  remove: { run: removeMember },
  actions: {
    suspend: {
      method: 'PATCH',
      description: 'Keeps the member out of the organization; tokens of it are worth nothing from then on.',
      audit: 'suspended',
      touch: 'control',
      run: async (tx, actor, row) => ({ row: await suspendMember(tx, actor, row) }),
    },
    resume: {
      method: 'PATCH',
      description: 'Lets a suspended member in again; tokens of before stay worth nothing.',
      audit: 'resumed',
      touch: 'control',
      run: async (tx, actor, row) => ({ row: await resumeMember(tx, actor, row) }),
    },
  },
  display: () => null,
});

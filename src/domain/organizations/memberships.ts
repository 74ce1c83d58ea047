import { newStamps } from '../../db/records.js';
import { forgetDirectorySuspension } from '../../db/tables/directory_users.js';
import { listDefaultRolesOfOrganization } from '../../db/tables/organization_default_roles.js';
import { addMembershipRoles, listRolesOfMembership, removeMembershipRoles } from '../../db/tables/organization_membership_roles.js';
import {
  countActiveHolders, deleteMembership, findMembershipOf, insertMembership, listMemberAddressesByRole, listMemberRoleIds, lockMembership, updateMembership,
  type MembershipRow,
} from '../../db/tables/organization_memberships.js'; // prettier-ignore
import type { OrganizationRow } from '../../db/tables/organizations.js';
import { forgetRemovedMember, noteRemovedMember, wasRemovedMember } from '../../db/tables/removed_members.js';
import { findRoleByName, type RoleRow } from '../../db/tables/roles.js';
import type { UserRow } from '../../db/tables/users.js';
import type { Actor } from '../actor.js';
import { recordSecurityEvent } from '../audit/security-trail.js';
import { linkDifferences, previousAttributes, type LinkChange } from '../changes.js';
import type { Context } from '../context.js';
import { actorData } from '../events/data.js';
import { emit } from '../events/emit.js';
import { organizationAdminRole } from '../reach/management-permissions.js';
import { reachOfMemberRoles } from '../reach/reach-of-organizations.js';
import { holdsEverything, noReach, requireReach } from '../reach/reach.js';
import { invalidTransition, Refusal, refuseDuplicates } from '../refusal.js';
import { requireOrganizationRoles } from '../roles/role-kinds.js';
import { aboutMember, roleNames } from './member-trail.js';

export type Membership = MembershipRow;

const duplicates = {
  organization_memberships_environment_id_organization_id_use_key: {
    relationship: 'user',
    detail: 'The user is a member of the organization already.',
  },
};

const system = { actor_kind: 'system', actor_id: null } as const;

function membershipData(row: MembershipRow, roles: readonly RoleRow[]) {
  const { id, organization_id, user_id, status, source } = row;
  const times = { created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
  return { id, organization_id, user_id, status, source, roles: roleNames(roles), ...times };
}

/** Nobody gives, or takes, roles that hold more than the giver. Null: the service itself, by what an administrator set up. @throws {Refusal} 403 */
export async function requireRoles(tx: Context, actor: Actor | null, roles: readonly RoleRow[]): Promise<void> {
  if (actor === null || roles.length === 0 || holdsEverything(actor)) return;
  const at = { relationship: 'roles' };
  requireReach(actor, { before: noReach, after: await reachOfMemberRoles(tx, roles), touched: [{ touch: 'reach', at }] });
}

/** The person's membership, suspended ones too; null: none. */
export const findMembership = ({ scope }: Pick<Context, 'scope'>, organization_id: string, user_id: string): Promise<Membership | null> =>
  findMembershipOf(scope, organization_id, user_id);

/** Whether the person was removed from the organization, and nobody has let them in since. */
export const isRemovedMember = ({ scope }: Pick<Context, 'scope'>, organization_id: string, user_id: string): Promise<boolean> =>
  wasRemovedMember(scope, organization_id, user_id);

/**
 * Makes somebody a member; emits `organization_membership.created`. Without `roles` the member gets the organization's default roles, which no reach is asked for.
 * @param actor null: the service, by what an administrator set up
 * @throws {Refusal} 403 `scope_escalation`, 409 `already_exists`, 422 `wrong_role_kind`
 */
export async function addMember(
  tx: Context,
  actor: Actor | null,
  {
    organization,
    user,
    roles,
    source,
  }: {
    readonly organization: Pick<OrganizationRow, 'id'>;
    readonly user: Pick<UserRow, 'id'>;
    readonly roles?: readonly RoleRow[] | undefined;
    readonly source: MembershipRow['source'];
  },
): Promise<Membership> {
  requireOrganizationRoles(roles ?? []);
  await requireRoles(tx, actor, roles ?? []);
  const given = roles ?? (await listDefaultRolesOfOrganization(tx.scope, organization.id));
  const now = tx.clock.now();
  const columns = {
    organization_id: organization.id,
    user_id: user.id,
    source,
    readmitted_at: (await forgetRemovedMember(tx.scope, organization.id, user.id)) ? now : null,
    ...newStamps(now),
  };
  const row = await refuseDuplicates(duplicates, () => insertMembership(tx.scope, columns));
  await addMembershipRoles(tx.scope, row.id, given.map(({ id }) => id)); // prettier-ignore
  await emit(tx, 'organization_membership.created', { ...membershipData(row, given), created_by: actorData(actor ?? system) });
  await recordSecurityEvent(tx, 'organization_member.added', aboutMember(actor, row, { source, roles: roleNames(given) }));
  return row;
}

async function emitUpdated(
  tx: Context,
  before: { readonly row: MembershipRow; readonly roles: readonly RoleRow[] },
  row: MembershipRow,
): Promise<void> {
  const after = membershipData(row, await listRolesOfMembership(tx.scope, row.id));
  const previous_attributes = previousAttributes(membershipData(before.row, before.roles), after);
  if (Object.keys(previous_attributes).length > 0) await emit(tx, 'organization_membership.updated', { ...after, previous_attributes });
}

/**
 * Refuses an actor of the organization to take away its last administrator: the environment's administrators may.
 * @throws {Refusal} 409 `last_administrator`
 */
async function refuseLastAdministrator(tx: Context, actor: Actor | null, membership: MembershipRow): Promise<void> {
  if (!actor?.organization_id) return;
  const role = await findRoleByName(tx.scope, organizationAdminRole, { lock: true });
  if (!role) return;
  const held = await listMemberRoleIds(tx.scope, membership.organization_id, membership.user_id);
  if (!held.includes(role.id)) return;
  if ((await countActiveHolders(tx.scope, membership.organization_id, role.id, membership.id)) > 0) return;
  const detail = 'This is the last active administrator of the organization.';
  throw new Refusal({ status: 409, code: 'last_administrator', detail });
}

async function held(tx: Context, { id }: MembershipRow) {
  const row = await lockMembership(tx.scope, id);
  if (!row) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such membership.' });
  return { row, roles: await listRolesOfMembership(tx.scope, id) };
}

async function setStatus(
  tx: Context,
  actor: Actor | null,
  before: Awaited<ReturnType<typeof held>>,
  status: MembershipRow['status'],
): Promise<Membership> {
  const now = tx.clock.now();
  const changes = { status, updated_at: now, ...(status === 'active' && { readmitted_at: now }) };
  const changed = (await updateMembership(tx.scope, before.row.id, changes)) ?? before.row;
  // A directory notes its own suspension after that.
  await forgetDirectorySuspension(tx.scope, changed.organization_id, changed.user_id);
  await emitUpdated(tx, before, changed);
  await recordSecurityEvent(tx, 'organization_member.changed', aboutMember(actor, changed, { status }));
  return changed;
}

/** Suspends a member, whose tokens of the organization are worth nothing from the commit on. @throws {Refusal} 409 */
export async function suspendMember(tx: Context, actor: Actor | null, membership: MembershipRow): Promise<Membership> {
  const before = await held(tx, membership);
  if (before.row.status === 'suspended') throw invalidTransition('The member is suspended already.');
  await refuseLastAdministrator(tx, actor, before.row);
  return setStatus(tx, actor, before, 'suspended');
}

/** Lets a suspended member in again, without the tokens of before. @throws {Refusal} 409 */
export async function resumeMember(tx: Context, actor: Actor | null, membership: MembershipRow): Promise<Membership> {
  const before = await held(tx, membership);
  if (before.row.status === 'active') throw invalidTransition('The member is not suspended.');
  return setStatus(tx, actor, before, 'active');
}

/** Ends a membership; whoever was a member does not come back by signing in. Emits `organization_membership.deleted`. @throws {Refusal} 409 */
export async function removeMember(tx: Context, actor: Actor | null, membership: MembershipRow): Promise<void> {
  const { row, roles } = await held(tx, membership);
  await refuseLastAdministrator(tx, actor, row);
  await deleteMembership(tx.scope, row.id);
  const now = tx.clock.now();
  await noteRemovedMember(tx.scope, row.organization_id, row.user_id, now);
  const data = { deleted_by: actorData(actor ?? system), deleted_at: now.toISOString() };
  await emit(tx, 'organization_membership.deleted', { ...membershipData(row, roles), ...data });
  await recordSecurityEvent(tx, 'organization_member.removed', aboutMember(actor, row));
}

/**
 * Gives and takes roles of a member. @throws {Refusal} 403 `scope_escalation`, 409 `last_administrator`, 422 `wrong_role_kind`
 */
export async function changeMemberRoles(
  tx: Context,
  actor: Actor | null,
  membership: MembershipRow,
  change: LinkChange<RoleRow>,
): Promise<Membership> {
  requireOrganizationRoles([...(change.add ?? []), ...(change.replace ?? [])]);
  const before = await held(tx, membership);
  const { added, removed } = linkDifferences(before.roles.map(({ id }) => id), change); // prettier-ignore
  if (added.length + removed.length === 0) return before.row;
  const moved = [...before.roles, ...(change.add ?? []), ...(change.replace ?? [])].filter(
    ({ id }) => added.includes(id) || removed.includes(id),
  );
  await requireRoles(tx, actor, moved);
  if (before.roles.some(({ id, name }) => removed.includes(id) && name === organizationAdminRole))
    await refuseLastAdministrator(tx, actor, before.row);
  await addMembershipRoles(tx.scope, membership.id, added);
  if (removed.length > 0) await removeMembershipRoles(tx.scope, membership.id, removed);
  const changed = (await updateMembership(tx.scope, membership.id, { updated_at: tx.clock.now() })) ?? before.row;
  await emitUpdated(tx, before, changed);
  const named = (ids: readonly string[]) => roleNames(moved.filter(({ id }) => ids.includes(id)));
  const detail = { roles_added: named(added), roles_removed: named(removed) };
  await recordSecurityEvent(tx, 'organization_member.changed', aboutMember(actor, changed, detail));
  return changed;
}

/** Where the active administrators of an organization get mail, and the language of each: proven addresses alone, at most fifty. */
export const organizationAdministrators = ({ scope }: Pick<Context, 'scope'>, organization_id: string) =>
  listMemberAddressesByRole(scope, organization_id, organizationAdminRole, 50);

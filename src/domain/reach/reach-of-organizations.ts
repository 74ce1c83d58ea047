import { listDefaultRolesOfOrganization } from '../../db/tables/organization_default_roles.js';
import { listRolesOfInvitation } from '../../db/tables/organization_invitation_roles.js';
import type { InvitationRow } from '../../db/tables/organization_invitations.js';
import type { MembershipRow } from '../../db/tables/organization_memberships.js';
import {
  listReachOfLinkedUsers, listReachOfMember, listReachOfOrganization, listReachOfRoles, listSpeakersOfOrganization,
} from '../../db/tables/reach.js'; // prettier-ignore
import type { RoleRow } from '../../db/tables/roles.js';
import type { Context } from '../context.js';
import { organizationPermissions } from './management-permissions.js';
import { noReach, union, type Reach } from './reach.js';

type Tx = Pick<Context, 'scope'>;

const speaking = ['connections:write', 'directories:write', 'setup_links:write'];

/** What roles give members of an organization: what speaks for its people too, for who makes it acts for the organization then, see {@link reachOfSpeaker}. */
const ofMembers = (tx: Tx, held: readonly string[]): Reach =>
  union(tx.scope.organization_id === undefined && held.some((name) => speaking.includes(name)) ? ['users:write'] : [], held);

/** Roles of organizations, for whoever is given them as a member. */
export const reachOfMemberRoles = async (tx: Tx, roles: readonly Pick<RoleRow, 'id'>[]): Promise<Reach> =>
  ofMembers(tx, await listReachOfRoles(tx.scope, roles.map(({ id }) => id))); // prettier-ignore

/** An organization, or its domain: the roles that count in it, for it decides who its members are. */
export const reachOfOrganization = async (tx: Tx, organization_id: string): Promise<Reach> =>
  ofMembers(tx, await listReachOfOrganization(tx.scope, organization_id));

/**
 * What speaks for the people of an organization's verified domains (connection, directory): the roles that count there, and, for who doesn't act for the
 * organization itself, what setting their passwords takes.
 */
export const reachOfSpeaker = async (tx: Tx, { organization_id }: { readonly organization_id: string }): Promise<Reach> =>
  union(tx.scope.organization_id === undefined ? ['users:write'] : [], await reachOfOrganization(tx, organization_id));

export const connectionsIn = (speakers: Awaited<ReturnType<typeof listSpeakersOfOrganization>>): string[] =>
  speakers.filter(({ kind }) => kind === 'connection').map(({ id }) => id);

/**
 * What enabling or disabling an organization takes besides, its `require_sso` and a verified domain: the way in of who is linked to its connections, and who speaks
 * for its people. In the place of a disabled one a connection of the environment speaks for them, and passwords that `require_sso` shut out count again. Who acts for
 * the organization itself decides that by its domain.
 */
export async function switchedWithOrganization(tx: Tx, { id }: { readonly id: string }): Promise<Reach> {
  if (tx.scope.organization_id !== undefined) return noReach;
  const speakers = await listSpeakersOfOrganization(tx.scope, id);
  if (speakers.length === 0) return noReach;
  return union(['users:write'], await listReachOfLinkedUsers(tx.scope, connectionsIn(speakers)));
}

/** A set-up link: all that its organization's administrators hold, which whoever has the link acts with. */
export const reachOfSetupLink = async (tx: Tx, link: { readonly organization_id: string }): Promise<Reach> =>
  union(organizationPermissions, await reachOfSpeaker(tx, link));

/** A membership: the roles that the member has there. */
export const reachOfMembership = async (tx: Tx, row: Pick<MembershipRow, 'organization_id' | 'user_id'>): Promise<Reach> =>
  ofMembers(tx, await listReachOfMember(tx.scope, row.organization_id, row.user_id));

/** An invitation: the roles that whoever accepts gets; the organization's default roles where it names none. */
export async function reachOfInvitation(tx: Tx, { id, organization_id }: Pick<InvitationRow, 'id' | 'organization_id'>): Promise<Reach> {
  const roles = await listRolesOfInvitation(tx.scope, id);
  return reachOfMemberRoles(tx, roles.length > 0 ? roles : await listDefaultRolesOfOrganization(tx.scope, organization_id));
}

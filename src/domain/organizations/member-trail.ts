import type { InvitationRow } from '../../db/tables/organization_invitations.js';
import type { MembershipRow } from '../../db/tables/organization_memberships.js';
import type { RoleRow } from '../../db/tables/roles.js';
import type { Actor } from '../actor.js';
import { serviceActor, type SecurityEventDetails } from '../audit/security-trail.js';
import { noOrigin } from '../origin.js';

type Detail = Readonly<Record<string, unknown>>;
type Acting = Pick<Actor, 'actor_kind' | 'actor_id' | 'display' | 'origin'> | null;

export const roleNames = (roles: readonly Pick<RoleRow, 'name'>[]): string[] => roles.map(({ name }) => name).sort();

/** What a security event says of a member. @param actor null: the service, by what an administrator set up */
export const aboutMember = (
  actor: Acting,
  { organization_id, user_id }: Pick<MembershipRow, 'organization_id' | 'user_id'>,
  detail: Detail = {},
): SecurityEventDetails => ({
  actor: actor ?? serviceActor,
  target: { target_type: 'user', target_id: user_id },
  origin: actor?.origin ?? noOrigin,
  detail: { organization_id, ...detail },
});

/** What a security event says of an invitation: never its address, which may be nobody's. */
export const aboutInvitation = (actor: Acting, { id, organization_id }: InvitationRow, detail: Detail = {}): SecurityEventDetails => ({
  actor: actor ?? serviceActor,
  target: { target_type: 'organization_invitation', target_id: id },
  origin: actor?.origin ?? noOrigin,
  detail: { organization_id, ...detail },
});

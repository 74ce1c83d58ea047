import { newStamps } from '../../db/records.js';
import { addInvitationRoles, listRolesOfInvitation } from '../../db/tables/organization_invitation_roles.js';
import {
  closeExpiredInvitation, findInvitationByDigest, insertInvitation, lockInvitation, spendInvitation, updateInvitation, type InvitationRow,
} from '../../db/tables/organization_invitations.js'; // prettier-ignore
import type { ClientRow } from '../../db/tables/clients.js';
import type { RoleRow } from '../../db/tables/roles.js';
import { findUser, findUserByEmailKey, type UserRow } from '../../db/tables/users.js';
import { digest } from '../../lib/digest.js';
import { normalizeEmail } from '../../lib/email-address.js';
import { fullName } from '../../lib/languages/languages.js';
import { randomToken } from '../../lib/random.js';
import type { Actor } from '../actor.js';
import { recordSecurityEvent } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import { actorData, userActor } from '../events/data.js';
import { emit } from '../events/emit.js';
import { queueMail } from '../mail/mail.js';
import { organizationLooks } from '../environments/branding.js';
import { noOrigin } from '../origin.js';
import { mayStillMake } from '../reach/maker.js';
import { reachOfInvitation } from '../reach/reach-of-organizations.js';
import { noReach, requireReach } from '../reach/reach.js';
import { invalidTransition, type Problem, Refusal, refuseDuplicates, unfit } from '../refusal.js';
import { requireOrganizationRoles } from '../roles/role-kinds.js';
import { aboutInvitation, roleNames } from './member-trail.js';
import { addMember, changeMemberRoles, findMembership, requireRoles } from './memberships.js';
import { findOrganization, type Organization } from './organizations.js';

export type Invitation = InvitationRow;
export type InvitationInput = { readonly email: string; readonly expires_in?: number };

export const invitationStatuses = ['pending', 'accepted', 'expired', 'revoked'] as const;
export type InvitationStatus = (typeof invitationStatuses)[number];

/** How long the link of an invitation is good, in seconds. */
export const invitationLifetime = { usual: 604_800, least: 3_600, most: 2_592_000 } as const;

type Times = Pick<InvitationRow, 'accepted_at' | 'revoked_at' | 'expires_at'>;

export function invitationStatus({ accepted_at, revoked_at, expires_at }: Times, now: Date): InvitationStatus {
  if (accepted_at !== null) return 'accepted';
  if (revoked_at !== null && revoked_at < expires_at) return 'revoked';
  return revoked_at !== null || expires_at <= now ? 'expired' : 'pending';
}

const alreadyInvited = {
  code: 'already_invited',
  detail: 'The address has an invitation that waits. Send it again, or revoke it.',
  attribute: 'email',
} as const;

export const invitationProblems = ({ email }: Partial<InvitationInput>): Problem[] =>
  email === undefined || normalizeEmail(email)
    ? []
    : [unfit('email', 'invalid_email', 'This is not an email address that mail can be sent to.')];

function invitationData(row: InvitationRow, roles: readonly RoleRow[]) {
  const { id, organization_id, email, client_id } = row;
  const times = { expires_at: row.expires_at.toISOString(), created_at: row.created_at.toISOString() };
  return { id, organization_id, email, client_id, roles: roleNames(roles), ...times };
}

/** The mail is in the person's language where that is known, and says nothing of where an administrator works from. */
async function mailInvitation(tx: Context, row: InvitationRow, organization: Organization, token: string): Promise<void> {
  const known = await findUserByEmailKey(tx.scope, row.email_key);
  await queueMail(tx, {
    template: 'organization_invitation',
    to: row.email,
    locale: known?.locale ?? null,
    model: {
      organization: organization.display_name,
      inviter: row.inviter_name,
      expires_in: (row.expires_at.getTime() - row.sent_at.getTime()) / 1000,
      invitation_url: `${tx.environment.issuer}/invitations/${token}`,
    },
    origin: noOrigin,
    looks: organizationLooks(organization),
    send_before: row.expires_at,
  });
}

/** Who invites, as the mail says it: a person by name, or by address without one; what a client does is done for the organization alone. */
async function inviterOf(tx: Context, { actor_kind, actor_id }: Actor): Promise<Pick<InvitationRow, 'inviter_id' | 'inviter_name'>> {
  const user = actor_kind === 'user' && actor_id !== null ? await findUser(tx.scope, actor_id) : null;
  return { inviter_id: user?.id ?? null, inviter_name: user ? fullName('en', user) || user.email : null };
}

async function refuseMember(tx: Context, organization: Organization, email_key: string): Promise<void> {
  const user = await findUserByEmailKey(tx.scope, email_key);
  if (!user || !(await findMembership(tx, organization.id, user.id))) return;
  const detail = 'The user with this address is a member of the organization already.';
  throw new Refusal({ status: 409, code: 'already_member', detail, attribute: 'email' });
}

async function requireEnabled(tx: Context, organization_id: string): Promise<Organization> {
  const organization = await findOrganization(tx, organization_id);
  if (organization?.status !== 'enabled') throw invalidTransition('The organization is disabled.');
  return organization;
}

/**
 * Asks an address into an organization, by a mail with a link that is good once. Without `roles` whoever accepts gets the organization's default roles as they are
 * then. Emits `organization_invitation.created`.
 * @throws {Refusal} 403 `scope_escalation`, 409 `already_invited`, `already_member`, `invalid_transition`, 422 `wrong_role_kind`
 */
export async function createInvitation(
  tx: Context,
  actor: Actor,
  { email: typed, expires_in = invitationLifetime.usual }: InvitationInput,
  links: {
    readonly organization: Pick<Organization, 'id'>;
    readonly roles: readonly RoleRow[];
    readonly client: Pick<ClientRow, 'id'> | null;
  },
): Promise<Invitation> {
  requireOrganizationRoles(links.roles);
  await requireRoles(tx, actor, links.roles);
  const organization = await requireEnabled(tx, links.organization.id);
  const address = normalizeEmail(typed);
  if (!address) throw new Refusal(invitationProblems({ email: typed }));
  await refuseMember(tx, organization, address.email_key);
  const now = tx.clock.now();
  await closeExpiredInvitation(tx.scope, organization.id, address.email_key, now);
  const token = randomToken('in_');
  const columns = {
    organization_id: organization.id,
    ...address,
    token_digest: digest(token),
    client_id: links.client?.id ?? actor.asking_client_id ?? null,
    ...(await inviterOf(tx, actor)),
    sent_at: now,
    expires_at: new Date(now.getTime() + expires_in * 1000),
    ...newStamps(now),
  };
  const row = await refuseDuplicates({ organization_invitations_open: alreadyInvited }, () => insertInvitation(tx.scope, columns));
  await addInvitationRoles(tx.scope, row.id, links.roles.map(({ id }) => id)); // prettier-ignore
  await emit(tx, 'organization_invitation.created', { ...invitationData(row, links.roles), created_by: actorData(actor) });
  await recordSecurityEvent(tx, 'invitation.sent', aboutInvitation(actor, row, { roles: roleNames(links.roles) }));
  await mailInvitation(tx, row, organization, token);
  return row;
}

/** Whether who invites may give by now what the invitation gives; a client's goes on until it is revoked. Somebody who is gone has left their name alone. */
async function stands(ctx: Context, row: InvitationRow): Promise<boolean> {
  const { inviter_id: maker_id, inviter_name, organization_id } = row;
  if (maker_id === null) return inviter_name === null;
  const reach = await reachOfInvitation(ctx, row);
  return mayStillMake(ctx, { maker_id, organization_id, permission: 'organization_invitations:write', reach });
}

async function held(tx: Context, { id }: InvitationRow, allowed: readonly InvitationStatus[]): Promise<InvitationRow> {
  const row = await lockInvitation(tx.scope, id);
  if (!row) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such invitation.' });
  const status = invitationStatus(row, tx.clock.now());
  // What another took the place of stays closed.
  if (!allowed.includes(status) || row.revoked_at !== null) throw invalidTransition(`The invitation is ${status}.`);
  return row;
}

/**
 * Sends the invitation again, with another token and as much time as at first; the earlier token is worth nothing. One whose inviter may no longer give what it
 * gives becomes that of whoever sends it, who must hold that. @throws {Refusal} 403 `scope_escalation`, 404, 409
 */
export async function resendInvitation(tx: Context, actor: Actor, invitation: Invitation): Promise<Invitation> {
  const before = await held(tx, invitation, ['pending', 'expired']);
  const organization = await requireEnabled(tx, before.organization_id);
  await refuseMember(tx, organization, before.email_key);
  const now = tx.clock.now();
  const expires_at = new Date(now.getTime() + before.expires_at.getTime() - before.sent_at.getTime());
  const token = randomToken('in_');
  const keeps = await stands(tx, before);
  if (!keeps) requireReach(actor, { before: noReach, after: await reachOfInvitation(tx, before), touched: [] });
  const inviter = keeps ? {} : await inviterOf(tx, actor);
  const changes = { token_digest: digest(token), sent_at: now, expires_at, updated_at: now, ...inviter };
  const row = (await updateInvitation(tx.scope, before.id, changes)) ?? before;
  const roles = roleNames(await listRolesOfInvitation(tx.scope, row.id));
  await recordSecurityEvent(tx, 'invitation.sent', aboutInvitation(actor, row, { roles }));
  await mailInvitation(tx, row, organization, token);
  return row;
}

/** Revokes an invitation that waits. @throws {Refusal} 404, 409 */
export async function revokeInvitation(tx: Context, actor: Actor, invitation: Invitation): Promise<Invitation> {
  const before = await held(tx, invitation, ['pending']);
  const now = tx.clock.now();
  await recordSecurityEvent(tx, 'invitation.revoked', aboutInvitation(actor, before));
  return (await updateInvitation(tx.scope, before.id, { revoked_at: now, updated_at: now })) ?? before;
}

const isToken = (text: string) => /^in_[\w-]{43}$/.test(text);

/** An invitation that somebody holds the token of, and whose organization lets people in. */
export type HeldInvitation = { readonly invitation: Invitation; readonly organization: Organization; readonly status: InvitationStatus };

/** The invitation of the token, whatever became of it; null: there is none, or its organization is disabled. */
export async function findInvitation(ctx: Context, token: string): Promise<HeldInvitation | null> {
  const invitation = isToken(token) ? await findInvitationByDigest(ctx.scope, digest(token)) : null;
  const organization = invitation && (await findOrganization(ctx, invitation.organization_id));
  if (!invitation || organization?.status !== 'enabled') return null;
  const status = invitationStatus(invitation, ctx.clock.now());
  return { invitation, organization, status: status === 'pending' && !(await stands(ctx, invitation)) ? 'revoked' : status };
}

/**
 * Accepts an invitation, once: makes the user a member, or gives a member its roles. Emits `organization_invitation.accepted`. Null: the token is no open
 * invitation of this very address, the address isn't proven, the user was removed after it was sent, or whoever invites may no longer give what it gives.
 */
export async function acceptInvitation(tx: Context, token_digest: Buffer, user: UserRow): Promise<Invitation | null> {
  const now = tx.clock.now();
  const found = user.email_verified ? await findInvitationByDigest(tx.scope, token_digest) : null;
  // One that nobody may give any more isn't spent: whoever sends it again gives it.
  if (!found || !(await stands(tx, found))) return null;
  const row = await spendInvitation(tx.scope, token_digest, user, now);
  if (!row) return null;
  const organization = await requireEnabled(tx, row.organization_id);
  const roles = await listRolesOfInvitation(tx.scope, row.id);
  const membership = await findMembership(tx, organization.id, user.id);
  if (membership) await changeMemberRoles(tx, null, membership, { add: roles });
  else await addMember(tx, null, { organization, user, roles: roles.length > 0 ? roles : undefined, source: 'invitation' });
  const data = { user_id: user.id, accepted_at: now.toISOString(), accepted_by: actorData(userActor(user)) };
  await emit(tx, 'organization_invitation.accepted', { ...invitationData(row, roles), ...data });
  const actor = { ...userActor(user), display: user.email };
  await recordSecurityEvent(tx, 'invitation.accepted', aboutInvitation(actor, row));
  return row;
}

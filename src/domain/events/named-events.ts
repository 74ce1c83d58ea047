import { z } from 'zod';
import { authenticatorKinds } from '../../db/tables/authenticators.js';
import { clientOrigins } from '../../db/tables/clients.js';
import { membershipSources, membershipStatuses } from '../../db/tables/organization_memberships.js';
import { autoMemberships, organizationStatuses, ssoRequirements } from '../../db/tables/organizations.js';
import { approvalEvents } from './approvals.js';
import { shapes } from './shapes.js';

const { actor, client, nullable, previous, text, time, uuid } = shapes;
/** By whose doing an authorization ended; `unused`: by the environment’s `unused_authorization_lifetime`. */
export const revocationReasons = ['person', 'administrator', 'unused'] as const;

const person = { id: uuid, first_name: nullable, last_name: nullable, email: text, external_id: nullable };
const session = { id: uuid, user_id: uuid, device_client_id: nullable, created_at: time };
const authenticator = { id: uuid, user_id: uuid, kind: z.enum(authenticatorKinds), name: text };
const connection = {
  id: uuid,
  name: text,
  display_name: text,
  strategy: text,
  status: z.enum(['enabled', 'disabled']),
  provider_client_id: text,
  issuer: nullable,
  scopes: z.array(text),
  domains: z.array(text),
  required: z.boolean(),
  allow_registration: z.boolean(),
  account_linking: text,
  profile_sync: text,
  trusted: z.boolean(),
  second_factor: text,
  created_at: time,
  updated_at: time,
};

const organization = {
  id: uuid,
  name: text,
  display_name: text,
  external_id: nullable,
  status: z.enum(organizationStatuses),
  auto_membership: z.enum(autoMemberships),
  require_sso: z.enum(ssoRequirements),
  metadata: z.record(z.string(), z.unknown()),
  created_at: time,
  updated_at: time,
};
const membership = {
  id: uuid,
  organization_id: uuid,
  user_id: uuid,
  status: z.enum(membershipStatuses),
  source: z.enum(membershipSources),
  roles: z.array(text),
  created_at: time,
  updated_at: time,
};

const directory_user = { id: uuid, directory_id: uuid, organization_id: uuid, user_id: uuid, email: text, external_id: nullable };
const invitation = {
  id: uuid,
  organization_id: uuid,
  email: text,
  client_id: nullable,
  roles: z.array(text),
  expires_at: time,
  created_at: time,
};

/** Why a session was ended, as `revoke_reason` has it. */
export const sessionEndReasons = [
  'logout',
  'revoked',
  'replaced',
  'password_changed',
  'password_reset',
  'user_blocked',
  'authenticators_reset',
  'address_proven',
  'signal',
] as const;

/** The event types that a webhook gets only by name (specification 7.2.5). */
export const namedEvents = {
  'user.deleted': { description: 'A user is deleted.', data: z.object({ ...person, deleted_by: actor, deleted_at: time }) },
  'user.blocked': { description: 'A user is blocked.', data: z.object({ ...person, blocked_by: actor, blocked_at: time }) },
  'user.unblocked': { description: 'A user is unblocked.', data: z.object({ ...person, unblocked_by: actor, unblocked_at: time }) },
  'session.created': {
    description: 'A browser or a device is signed in.',
    data: z.object({
      ...session,
      amr: z.array(text),
      acr: z.enum(['1', '2', 'phr']),
      ip_address: nullable,
      user_agent: nullable,
      expires_at: time,
    }),
  },
  'session.revoked': {
    description: 'A session is ended before it expires.',
    details: 'Sessions of devices that end with their client, and all that a restored backup ends, have no event.',
    data: z.object({ ...session, reason: z.enum(sessionEndReasons), revoked_at: time }),
  },
  'login.succeeded': {
    description: 'A user signs in.',
    details: 'Whether the session is new or goes on.',
    data: z.object({
      user_id: uuid,
      email: text,
      session_id: uuid,
      amr: z.array(text),
      new_device: z.boolean(),
      ip_address: nullable,
      user_agent: nullable,
      signed_in_at: time,
    }),
  },
  'login.failed': {
    description: 'A sign-in is refused.',
    details:
      'One event for all alike (person, reason, address) within a minute; `count` is how many the first second had. `user_id` is null where there is no such account.',
    data: z.object({
      user_id: uuid.nullable(),
      email: nullable,
      connection_id: uuid.nullable(),
      reason: nullable,
      ip_address: nullable,
      user_agent: nullable,
      count: z.int(),
      failed_at: time,
    }),
  },
  'password.changed': {
    description: 'A user has a new password.',
    details: '`changed` by the person, who knew the old one; `reset` by a mailed code or link; `set` by an administrator.',
    data: z.object({
      ...person,
      how: z.enum(['changed', 'reset', 'set']),
      changed_by: actor,
      sessions_revoked: z.boolean(),
      changed_at: time,
    }),
  },
  'password.breached': {
    description: 'The password that a user signed in with is known from a data breach.',
    details: 'Once a password, a moment after the sign-in. `reset_required`: it signs nobody in any more.',
    data: z.object({ ...person, reset_required: z.boolean(), found_at: time }),
  },
  'authenticator.created': {
    description: 'A user has a new passkey, authenticator app or recovery codes.',
    data: z.object({ ...authenticator, created_by: actor, created_at: time }),
  },
  'authenticator.deleted': {
    description: 'A passkey, authenticator app or recovery codes are removed.',
    details: 'Those that go with a deleted user have no event.',
    data: z.object({ ...authenticator, deleted_by: actor, deleted_at: time }),
  },
  'client.created': {
    description: 'A client is created or registers itself.',
    details: 'As `client.registered`, with where it came from.',
    data: z.object({ ...client, origin: z.enum(clientOrigins) }),
  },
  'client.deleted': {
    description: 'A client is deleted.',
    details: 'By an administrator, by itself, or by the service because nobody used it.',
    data: z.object({ id: text, client_id: text, name: text, deleted_by: actor, deleted_at: time }),
  },
  'authorization.revoked': {
    description: 'A client no longer acts for a person.',
    details: 'With `blocked` it may not ask again.',
    data: z.object({ user_id: uuid, client_id: text, reason: z.enum(revocationReasons), blocked: z.boolean() }),
  },
  'connection.created': { description: 'A connection to a provider is created.', data: z.object({ ...connection, created_by: actor }) },
  'connection.updated': {
    description: 'A connection is changed.',
    details: '`credentials_replaced`: it has another client secret, which no event holds.',
    data: z.object({ ...connection, ...previous, credentials_replaced: z.boolean(), updated_by: actor }),
  },
  'connection.deleted': { description: 'A connection is deleted.', data: z.object({ ...connection, deleted_by: actor, deleted_at: time }) },
  'organization.created': { description: 'An organization is created.', data: z.object({ ...organization, created_by: actor }) },
  'organization.updated': { description: 'An organization is changed.', data: z.object({ ...organization, ...previous }) },
  'organization.deleted': {
    description: 'An organization is deleted.',
    details: 'Its memberships, domains, connections and directory go with it, without events of their own.',
    data: z.object({ id: uuid, name: text, display_name: text, external_id: nullable, deleted_by: actor, deleted_at: time }),
  },
  'organization_membership.created': {
    description: 'A user becomes a member of an organization.',
    details: '`roles` are those of the member, without those of groups.',
    data: z.object({ ...membership, created_by: actor }),
  },
  'organization_membership.updated': {
    description: 'A membership is suspended, resumed, or has other roles.',
    data: z.object({ ...membership, ...previous }),
  },
  'organization_membership.deleted': {
    description: 'A user is no longer a member of an organization.',
    details: 'Those that go with a deleted user or organization have no event.',
    data: z.object({ ...membership, deleted_by: actor, deleted_at: time }),
  },
  'organization_invitation.created': {
    description: 'An address is invited to an organization.',
    details: 'Sending the invitation again is no event. Without `roles` whoever accepts gets the organization’s default roles.',
    data: z.object({ ...invitation, created_by: actor }),
  },
  'organization_invitation.accepted': {
    description: 'An invitation to an organization is accepted.',
    details: 'What became of the membership has an event of its own.',
    data: z.object({ ...invitation, user_id: uuid, accepted_by: actor, accepted_at: time }),
  },
  'organization_domain.verified': {
    description: 'An organization has proven that a domain is its own.',
    data: z.object({ id: uuid, organization_id: uuid, domain: text, verified_at: time }),
  },
  'directory.user_provisioned': {
    description: 'A directory tells of a person for the first time, or lets one in again.',
    details: '`id` is the person’s in the directory (SCIM), `user_id` the account’s.',
    data: z.object({ ...directory_user, provisioned_at: time }),
  },
  'directory.user_deprovisioned': {
    description: 'A directory shuts a person out, or lets them go.',
    data: z.object({ ...directory_user, deprovisioned_at: time }),
  },
  ...approvalEvents,
  'provider_token.lost': {
    description: 'A provider takes the refresh token no more by which a client had access to a user’s account there.',
    details: 'The client gets no token until the person allows it again. One that is ended here has no event.',
    data: z.object({ id: uuid, user_id: uuid, client_id: text, connection_id: uuid, scopes: z.array(text), lost_at: time }),
  },
} as const;

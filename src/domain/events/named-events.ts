import { z } from 'zod';
import { authenticatorKinds } from '../../db/tables/authenticators.js';
import { clientOrigins } from '../../db/tables/clients.js';
import { shapes } from './shapes.js';

const { actor, client, nullable, previous, text, time, uuid } = shapes;
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
] as const;

/** The event types that a webhook gets only by name (specification 7.2.5). While nobody names one it costs nothing. */
export const namedEvents = {
  'user.deleted': {
    description: 'A user is deleted.',
    data: z.object({ ...person, deleted_by: actor, deleted_at: time }),
  },
  'user.blocked': {
    description: 'A user is blocked.',
    data: z.object({ ...person, blocked_by: actor, blocked_at: time }),
  },
  'user.unblocked': {
    description: 'A user is unblocked.',
    data: z.object({ ...person, unblocked_by: actor, unblocked_at: time }),
  },
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
  'connection.created': {
    description: 'A connection to a provider is created.',
    data: z.object({ ...connection, created_by: actor }),
  },
  'connection.updated': {
    description: 'A connection is changed.',
    details: '`credentials_replaced`: it has another client secret, which no event holds.',
    data: z.object({ ...connection, ...previous, credentials_replaced: z.boolean(), updated_by: actor }),
  },
  'connection.deleted': {
    description: 'A connection is deleted.',
    data: z.object({ ...connection, deleted_by: actor, deleted_at: time }),
  },
} as const;

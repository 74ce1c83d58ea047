import { z } from 'zod';
import { namedEvents } from './named-events.js';
import { shapes } from './shapes.js';

const { actor, client, nullable, previous, text, time, uuid } = shapes;
const user = {
  id: uuid,
  first_name: nullable,
  last_name: nullable,
  email: text,
  email_verified: z.boolean(),
  status: z.enum(['active', 'blocked']),
  external_id: nullable,
  locale: nullable,
  picture: nullable,
  roles: z.array(text),
  metadata: z.record(z.string(), z.unknown()),
  created_at: time,
  updated_at: time,
};
const passwordChange = {
  id: uuid,
  first_name: nullable,
  last_name: nullable,
  email: text,
  sessions_revoked: z.boolean(),
  changed_at: time,
};
const role = {
  id: uuid,
  name: text,
  description: nullable,
  is_default: z.boolean(),
  permissions: z.array(text),
  created_at: time,
  updated_at: time,
};
const permission = {
  id: uuid,
  name: text,
  description: nullable,
  api_resource_id: uuid,
  api_resource_identifier: text,
  created_at: time,
  updated_at: time,
};
const environment = {
  id: uuid,
  name: text,
  slug: text,
  kind: text,
  session_lifetime: z.int(),
  session_idle_lifetime: z.int().nullable(),
  default_access_token_lifetime: z.int(),
  id_token_lifetime: z.int(),
  refresh_token_lifetime: z.int(),
  refresh_token_idle_lifetime: z.int(),
  branding: z.record(z.string(), z.unknown()),
  support_email: nullable,
  auth_settings: z.object({
    registration_enabled: z.boolean(),
    password_min_length: z.int(),
    breached_passwords: z.enum(['refuse', 'off']),
    otp_lifetime: z.int(),
    otp_max_attempts: z.int(),
    lockout_threshold: z.int(),
    lockout_lifetime: z.int(),
    allowed_email_domains: z.array(text),
  }),
  created_at: time,
  updated_at: time,
};

/** The event types that `*` stands for, but for `token.issued` (specification 7.2.2). */
const standardEvents = {
  'user.created': { description: 'A user is created via the API.', data: z.object({ ...user, created_by: actor }) },
  'user.registered': {
    description: 'A user registers through the login flow.',
    data: z.object({ ...user, registration_method: z.enum(['email_otp', 'sso']), connection_id: uuid.nullable(), client_id: nullable }),
  },
  'user.updated': { description: "A user's profile is updated.", data: z.object({ ...user, ...previous }) },
  'user.password_reset': {
    description: "A user's password is reset.",
    data: z.object({ ...passwordChange, initiated_by: z.enum(['user', 'admin']) }),
  },
  'user.password_changed': { description: 'A user changes their password.', data: z.object(passwordChange) },
  'role.created': { description: 'A role is created.', data: z.object(role) },
  'role.updated': { description: 'A role is updated.', data: z.object({ ...role, ...previous }) },
  'permission.created': { description: 'A permission is created.', data: z.object(permission) },
  'permission.updated': { description: 'A permission is updated.', data: z.object({ ...permission, ...previous }) },
  'client.registered': { description: 'An OAuth client is registered.', data: z.object(client) },
  'client.updated': { description: 'An OAuth client is updated.', data: z.object({ ...client, ...previous }) },
  'token.issued': {
    description: 'An access token is issued.',
    data: z.object({
      id: uuid,
      token_type: z.literal('Bearer'),
      token_format: z.enum(['jwt', 'opaque']),
      grant_type: text,
      client_id: text,
      user_id: uuid.nullable(),
      session_id: uuid.nullable(),
      scope: text,
      audience: text,
      issued_at: time,
      expires_at: time,
      expires_in: z.int(),
      refresh_token_issued: z.boolean(),
    }),
  },
  'signing_key.generated': {
    description: 'A new signing key is generated.',
    data: z.object({ id: text, kid: text, algorithm: text, status: text, public_jwk: z.record(z.string(), z.unknown()), created_at: time }),
  },
  'signing_key.deactivated': {
    description: 'A signing key is deactivated.',
    data: z.object({
      id: text,
      kid: text,
      algorithm: text,
      status: z.literal('deactivated'),
      deactivated_at: time,
      reason: z.enum(['rotation', 'manual']),
      replaced_by: nullable,
    }),
  },
  'environment.updated': { description: "An environment's settings are updated.", data: z.object({ ...environment, ...previous }) },
  'custom_domain.created': {
    description: 'A custom domain is added.',
    data: z.object({
      id: uuid,
      domain: text,
      status: text,
      is_primary: z.boolean(),
      verification_records: z.array(z.object({ record_kind: text, name: text, value: text })),
      created_at: time,
    }),
  },
  'custom_domain.deleted': {
    description: 'A custom domain is removed.',
    data: z.object({ id: uuid, domain: text, status: text, is_primary: z.boolean(), deleted_at: time }),
  },
  'webhook.test': {
    description: 'A test delivery is sent, with a sample payload.',
    data: z.object({
      id: uuid,
      webhook_name: text,
      url: text,
      message: text,
      triggered_by: actor,
      sample: z.literal(true),
      subscribed_events: z.array(text),
    }),
  },
} as const;

/**
 * All event types with the schema of each payload's `data`. The webhook enum, the typed `emit`, `/api/event_types` and docs/reference/events.md follow from
 * this list.
 */
export const catalogue = { ...standardEvents, ...namedEvents } as const;

export type EventType = keyof typeof catalogue;

export type EventData<Type extends EventType> = z.infer<(typeof catalogue)[Type]['data']>;

export const eventTypes = Object.keys(catalogue) as EventType[];

/** The part of the name before the dot: the kind of record that it is about. */
export const subjectOfEvent = (type: string): string => type.slice(0, type.indexOf('.'));

/** What belongs to organizations, and to agents, is one group, whatever kind of record it is about; else the kind. */
export function groupOfEvent(type: string): string {
  const subject = subjectOfEvent(type);
  if (/^(organization|directory)/.test(subject)) return 'organizations';
  return subject === 'authorization' ? 'agents' : subject;
}

/** All groups, in the order of their first types. */
export const eventGroups: readonly string[] = [...new Set(eventTypes.map(groupOfEvent))];

/** Whether lists have the type only under a filter of its group, and `*` never stands for it (specification 7.2.5). */
export const isNamedEvent = (type: string): boolean => Object.hasOwn(namedEvents, type);

/** Whether a webhook gets the type only where it names it. */
export const isByNameOnly = (type: string): boolean => type === 'token.issued' || isNamedEvent(type);

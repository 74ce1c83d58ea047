import type { EventData, EventType } from './catalogue.js';

const at = '2026-03-14T09:26:53.589Z';
const environment_id = '0195e8a2-6f00-7000-8000-000000000001';
const user_id = '0195e8a2-6f00-7000-8000-0000000000a1';
const key_id = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs';

const user = {
  id: user_id,
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  email_verified: true,
  status: 'active' as const,
  external_id: null,
  locale: 'en-GB',
  picture: null,
  roles: ['editor'],
  metadata: { department: 'Analysis' },
  created_at: '2026-01-02T08:00:00.000Z',
  updated_at: at,
};
const passwordChange = {
  id: user_id,
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  sessions_revoked: true,
  changed_at: at,
};
const role = {
  id: '0195e8a2-6f00-7000-8000-0000000000b1',
  name: 'editor',
  description: 'May change notes',
  is_default: false,
  permissions: ['notes:read', 'notes:write'],
  created_at: at,
  updated_at: at,
};
const permission = {
  id: '0195e8a2-6f00-7000-8000-0000000000c1',
  name: 'notes:write',
  description: 'Change notes',
  api_resource_id: '0195e8a2-6f00-7000-8000-0000000000d1',
  api_resource_identifier: 'https://api.example.com/notes',
  created_at: at,
  updated_at: at,
};
const client = {
  id: 'acme-notes',
  client_id: 'acme-notes',
  name: 'Acme Notes',
  application_type: 'web' as const,
  token_endpoint_auth_method: 'client_secret_basic',
  redirect_uris: ['https://app.example.com/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  scopes: ['openid', 'profile'],
  first_party: true,
  status: 'enabled' as const,
  created_at: at,
  updated_at: at,
};

/** An example of each event type's `data`, for the reference and for people who build a receiver before the first event. */
export const samples: { readonly [Type in EventType]: EventData<Type> } = {
  'user.created': { ...user, created_by: { actor_kind: 'client', actor_id: 'acme-backend' } },
  'user.registered': { ...user, roles: [], metadata: {}, registration_method: 'email_otp', connection_id: null, client_id: 'acme-notes' },
  'user.updated': { ...user, previous_attributes: { last_name: 'Byron', updated_at: '2026-01-02T08:00:00.000Z' } },
  'user.password_reset': { ...passwordChange, initiated_by: 'user' },
  'user.password_changed': passwordChange,
  'role.created': role,
  'role.updated': { ...role, previous_attributes: { permissions: ['notes:read'] } },
  'permission.created': permission,
  'permission.updated': { ...permission, previous_attributes: { description: null } },
  'client.registered': client,
  'client.updated': { ...client, previous_attributes: { name: 'Notes' } },
  'token.issued': {
    id: '0195e8a2-6f00-7000-8000-0000000000e1',
    token_type: 'Bearer',
    token_format: 'jwt',
    grant_type: 'authorization_code',
    client_id: 'acme-notes',
    user_id,
    session_id: '0195e8a2-6f00-7000-8000-0000000000f1',
    scope: 'openid profile',
    audience: 'https://api.example.com/notes',
    issued_at: at,
    expires_at: '2026-03-14T10:26:53.589Z',
    expires_in: 3600,
    refresh_token_issued: true,
  },
  'signing_key.generated': {
    id: key_id,
    kid: key_id,
    algorithm: 'RS256',
    status: 'next',
    public_jwk: {
      kty: 'RSA',
      n: '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86z',
      e: 'AQAB',
      kid: key_id,
      alg: 'RS256',
      use: 'sig',
    },
    created_at: at,
  },
  'signing_key.deactivated': {
    id: key_id,
    kid: key_id,
    algorithm: 'RS256',
    status: 'deactivated',
    deactivated_at: at,
    reason: 'rotation',
    replaced_by: 'jWpFz3QZ3VbWm4sG1n0yq6g0Z8v5xK2Tn7cH9dLrYqE',
  },
  'environment.updated': {
    id: environment_id,
    name: 'Production',
    slug: 'production',
    kind: 'production',
    session_lifetime: 1209600,
    session_idle_lifetime: null,
    default_access_token_lifetime: 3600,
    id_token_lifetime: 3600,
    refresh_token_lifetime: 2592000,
    refresh_token_idle_lifetime: 1209600,
    branding: { name: 'Acme', logo_url: null, primary_color: '#0b5fff' },
    support_email: 'help@example.com',
    auth_settings: {
      registration_enabled: true,
      password_min_length: 8,
      otp_lifetime: 600,
      otp_max_attempts: 5,
      lockout_threshold: 10,
      lockout_lifetime: 900,
      allowed_email_domains: [],
    },
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: at,
    previous_attributes: { session_lifetime: 2592000 },
  },
  'custom_domain.created': {
    id: '0195e8a2-6f00-7000-8000-000000000101',
    domain: 'id.example.com',
    status: 'pending',
    is_primary: false,
    verification_records: [{ record_kind: 'TXT', name: '_verification.id.example.com', value: 'verify=3f1c' }],
    created_at: at,
  },
  'custom_domain.deleted': {
    id: '0195e8a2-6f00-7000-8000-000000000101',
    domain: 'id.example.com',
    status: 'verified',
    is_primary: false,
    deleted_at: at,
  },
  'webhook.test': {
    id: '0195e8a2-6f00-7000-8000-000000000111',
    webhook_name: 'Orders',
    url: 'https://orders.example.com/webhooks',
    message: 'This is a test. It was sent by hand and reports no change.',
    triggered_by: { actor_kind: 'user', actor_id: user_id },
    sample: true,
    subscribed_events: ['user.created'],
  },
};

/** The envelope of the samples, in which `data` stands. */
export const sampleEnvelope = { event_id: '0195e8a2-7115-7000-8000-000000000201', timestamp: at, environment_id };

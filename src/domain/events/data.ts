import type { ClientRow } from '../../db/tables/clients.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import type { SigningKeyRow } from '../../db/tables/signing_keys.js';
import type { UserRow } from '../../db/tables/users.js';
import type { EnvironmentRow } from '../../db/tables/environments.js';
import type { Actor } from '../actor.js';
import type { EventData } from './catalogue.js';

/** Who did it, as events name them: never what they may do. */
export const actorData = ({ actor_kind, actor_id }: Pick<Actor, 'actor_kind' | 'actor_id'>) => ({ actor_kind, actor_id });

/** The person themselves, as the one who did it. */
export const userActor = ({ id }: Pick<UserRow, 'id'>) => ({ actor_kind: 'user' as const, actor_id: id });

/** Whom an event is about, in short. */
export function personData({ id, first_name, last_name, email, external_id }: UserRow) {
  return { id, first_name, last_name, email, external_id };
}

/** A user as events show it: never a secret, never a hash. */
export const userData = (user: UserRow, roles: readonly string[]) => ({
  id: user.id,
  first_name: user.first_name,
  last_name: user.last_name,
  email: user.email,
  email_verified: user.email_verified,
  status: user.status,
  external_id: user.external_id,
  locale: user.locale,
  picture: user.picture,
  roles: [...roles],
  metadata: user.metadata,
  created_at: user.created_at.toISOString(),
  updated_at: user.updated_at.toISOString(),
});

export const clientData = (client: ClientRow): EventData<'client.registered'> => ({
  id: client.id,
  client_id: client.id,
  name: client.name,
  application_type: client.application_type,
  token_endpoint_auth_method: client.token_endpoint_auth_method,
  redirect_uris: client.redirect_uris,
  grant_types: client.grant_types,
  scopes: client.scopes,
  first_party: client.first_party,
  status: client.status,
  created_at: client.created_at.toISOString(),
  updated_at: client.updated_at.toISOString(),
});

/** A connection as events show it: never its secret. */
export function connectionData(row: ConnectionRow) {
  const { id, name, display_name, strategy, status, provider_client_id, issuer, scopes, domains, required } = row;
  const { allow_registration, account_linking, profile_sync, trusted, second_factor, created_at, updated_at } = row;
  return {
    id,
    name,
    display_name,
    strategy,
    status,
    provider_client_id,
    issuer,
    scopes,
    domains,
    required,
    allow_registration,
    account_linking,
    profile_sync,
    trusted,
    second_factor,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}

export const signingKeyData = (key: SigningKeyRow): EventData<'signing_key.generated'> => ({
  id: key.kid,
  kid: key.kid,
  algorithm: key.algorithm,
  status: key.status,
  public_jwk: key.public_jwk as Record<string, unknown>,
  created_at: key.created_at.toISOString(),
});

/** An environment as `environment.updated` shows it, without `previous_attributes`. */
export const environmentData = (row: EnvironmentRow): Omit<EventData<'environment.updated'>, 'previous_attributes'> => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  kind: row.kind,
  session_lifetime: row.session_lifetime,
  session_idle_lifetime: row.session_idle_lifetime,
  default_access_token_lifetime: row.default_access_token_lifetime,
  id_token_lifetime: row.id_token_lifetime,
  refresh_token_lifetime: row.refresh_token_lifetime,
  refresh_token_idle_lifetime: row.refresh_token_idle_lifetime,
  branding: row.branding,
  support_email: row.support_email,
  auth_settings: {
    registration_enabled: row.registration_enabled,
    password_min_length: row.password_min_length,
    breached_passwords: row.breached_passwords,
    otp_lifetime: row.otp_lifetime,
    otp_max_attempts: row.otp_max_attempts,
    lockout_threshold: row.lockout_threshold,
    lockout_lifetime: row.lockout_lifetime,
    allowed_email_domains: row.allowed_email_domains,
  },
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});

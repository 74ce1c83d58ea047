import type { ClientRow } from '../../db/tables/clients.js';
import type { SigningKeyRow } from '../../db/tables/signing_keys.js';
import type { UserRow } from '../../db/tables/users.js';
import type { EnvironmentRow } from '../../db/tables/environments.js';
import type { EventData } from './catalogue.js';

/** A user as events show it: never a secret, never a hash. */
export function userData(user: UserRow, roles: readonly string[]) {
  return {
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
  };
}

/** A client as events show it. */
export function clientData(client: ClientRow): EventData<'client.registered'> {
  return {
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
  };
}

/** A signing key as `signing_key.generated` shows it. */
export function signingKeyData(key: SigningKeyRow): EventData<'signing_key.generated'> {
  return {
    id: key.kid,
    kid: key.kid,
    algorithm: key.algorithm,
    status: key.status,
    public_jwk: key.public_jwk as Record<string, unknown>,
    created_at: key.created_at.toISOString(),
  };
}

/** An environment as `environment.updated` shows it, without `previous_attributes`. */
export function environmentData(row: EnvironmentRow): Omit<EventData<'environment.updated'>, 'previous_attributes'> {
  return {
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
  };
}

/** What a change of each attribute of an environment means for whoever signs in there (`domain/reach/reach.ts`). */
export const environmentTouches = {
  name: 'plain',
  slug: 'everything',
  kind: 'everything',
  session_lifetime: 'everything',
  session_idle_lifetime: 'everything',
  default_access_token_lifetime: 'plain',
  id_token_lifetime: 'plain',
  refresh_token_lifetime: 'everything',
  refresh_token_idle_lifetime: 'everything',
  branding: 'plain',
  support_email: 'plain',
  // Tells an address to clients that were let in to the profile alone, and names that are unique to applications that take them for it.
  preferred_username_from_email: 'everything',
  default_locale: 'plain',
  registration_enabled: 'reach',
  password_min_length: 'everything',
  breached_passwords: 'everything',
  otp_lifetime: 'everything',
  otp_max_attempts: 'everything',
  lockout_threshold: 'everything',
  lockout_lifetime: 'everything',
  allowed_email_domains: 'everything',
  // Clients that register themselves hold nothing and may not ask for the Management API.
  dynamic_registration_enabled: 'plain',
  client_registration_policy: 'plain',
  self_registered_client_limit: 'plain',
  // Shorter, it removes clients, which takes `clients:write` by hand.
  unused_client_lifetime: 'everything',
  // They verify clients, and keep out those that were let in, which takes `clients:write` and what the clients reach by hand.
  client_id_metadata_documents: 'everything',
  client_id_metadata_hosts: 'everything',
  // Refuses requests, and lets none in that was refused.
  require_pushed_authorization_requests: 'everything',
  // Optional, a stolen proof that was not used yet is good for its minute.
  dpop_nonce: 'everything',
  // Adds keys whose private halves the service alone holds; one that is used can't go.
  signing_algorithms: 'plain',
  // What guards everybody’s sign-in, or tells people of one.
  passkeys_enabled: 'everything',
  passkey_rp_id: 'everything',
  base_url_issuer_until: 'everything',
  totp_enabled: 'everything',
  second_factor_policy: 'everything',
  second_factor_grace_lifetime: 'everything',
  confirmation_lifetime: 'everything',
  remember_device_lifetime: 'everything',
  email_code_sign_in_enabled: 'everything',
  email_second_factor_enabled: 'everything',
  new_device_mail: 'everything',
  management_required_acr: 'everything',
} as const;

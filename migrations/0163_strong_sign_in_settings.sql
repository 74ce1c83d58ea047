alter table environments
  add column passkeys_enabled boolean not null default true,
  -- The domain that passkeys belong to (WebAuthn L3 5.1.2): the issuer's host when the first one is made, fixed from then on.
  add column passkey_rp_id text,
  add column totp_enabled boolean not null default true,
  add column second_factor_policy text not null default 'optional'
    check (second_factor_policy in ('off', 'optional', 'required', 'required_for_management')),
  add column second_factor_grace_lifetime integer not null default 0,
  add column confirmation_lifetime integer not null default 600,
  add column remember_device_lifetime integer not null default 2592000,
  add column email_code_sign_in_enabled boolean not null default false,
  add column email_second_factor_enabled boolean not null default false,
  add column new_device_mail boolean not null default true,
  add column management_required_acr text check (management_required_acr in ('2', 'phr'));

alter table clients
  add column required_acr text check (required_acr in ('2', 'phr')),
  add column max_authentication_age integer;
alter table api_resources
  add column required_acr text check (required_acr in ('2', 'phr')),
  add column max_authentication_age integer;

-- Whether a sign-in through the connection needs our second step (`own`), may take the provider's word for it (`asserted`), or never asks.
alter table connections
  add column second_factor text not null default 'own' check (second_factor in ('own', 'asserted', 'provider')),
  add column trusted_acr_values text[] not null default '{}';

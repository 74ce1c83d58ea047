-- Environments, their hosts and the configuration documents that describe them; how processes learn that something they remember has changed.

-- Environments own everything else. The keys of what they own begin with environment_id, so that PostgreSQL refuses a link across environments by itself and the
-- schema can be distributed on that column.
create table environments (
  id uuid primary key,
  name text not null,
  slug text not null unique,
  kind text not null check (kind in ('production', 'staging', 'development')),
  is_default boolean not null default false,
  session_lifetime integer not null default 2592000,
  session_idle_lifetime integer,
  default_access_token_lifetime integer not null default 3600,
  id_token_lifetime integer not null default 3600,
  refresh_token_lifetime integer not null default 2592000,
  refresh_token_idle_lifetime integer not null default 1209600,
  branding jsonb not null default '{}',
  support_email text,
  registration_enabled boolean not null default true,
  password_min_length integer not null default 8,
  otp_lifetime integer not null default 600,
  otp_max_attempts integer not null default 5,
  lockout_threshold integer not null default 10,
  lockout_lifetime integer not null default 900,
  allowed_email_domains text[] not null default '{}',
  passkeys_enabled boolean not null default true,
  -- The domain that passkeys belong to (WebAuthn L3 5.1.2): the issuer's host when the first one is made, fixed from then on.
  passkey_rp_id text,
  totp_enabled boolean not null default true,
  second_factor_policy text not null default 'optional' check (second_factor_policy in ('off', 'optional', 'required', 'required_for_management')),
  second_factor_grace_lifetime integer not null default 0,
  confirmation_lifetime integer not null default 600,
  remember_device_lifetime integer not null default 2592000,
  email_code_sign_in_enabled boolean not null default false,
  email_second_factor_enabled boolean not null default false,
  new_device_mail boolean not null default true,
  management_required_acr text check (management_required_acr in ('2', 'phr')),
  -- Whether a new password that is known from a data breach is refused.
  breached_passwords text not null default 'refuse' check (breached_passwords in ('refuse', 'off')),
  -- What an environment signs with, besides RS256: one primary and one next key of each algorithm.
  signing_algorithms text[] not null default '{RS256}'
    check ('RS256' = any (signing_algorithms) and signing_algorithms <@ '{RS256,ES256,PS256,EdDSA}'::text[]),
  require_pushed_authorization_requests boolean not null default false,
  dpop_nonce text not null default 'optional' check (dpop_nonce in ('optional', 'required')),
  -- Who may register clients: nobody, who brings an initial access token (RFC 7591 1.2), or everybody. `dynamic_registration_enabled` is a view of it.
  dynamic_registration_enabled boolean not null default false,
  client_registration_policy text not null default 'off' check (client_registration_policy in ('off', 'initial_access_token', 'open')),
  self_registered_client_limit integer not null default 10000 check (self_registered_client_limit >= 0),
  unused_client_lifetime integer default 2592000 check (unused_client_lifetime > 0),
  -- Clients whose id is the address of a document that describes them (OAuth Client ID Metadata Document).
  client_id_metadata_documents text not null default 'off' check (client_id_metadata_documents in ('off', 'allow_list', 'open')),
  client_id_metadata_hosts text[] not null default '{}',
  -- The language of pages for people of whom nothing says which one they speak: a BCP 47 tag.
  default_locale text not null default 'en',
  -- Until when tokens are taken whose `iss` is the base URL, once a domain is the issuer.
  base_url_issuer_until timestamptz,
  -- Applications that can't do without `preferred_username` get the address of whoever has none.
  preferred_username_from_email boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Hosts of an environment beside the base URL: a record in the DNS proves them (`verification_token`), the primary one is the issuer.
create table custom_domains (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  domain text not null,
  status text not null default 'pending' check (status in ('pending', 'verified', 'failed')),
  verification_token text not null,
  is_primary boolean not null default false,
  verified_at timestamptz,
  last_checked_at timestamptz,
  failure_reason text,
  -- Since when the record of a verified domain has been missing; null while it is there. A look-up that fails says nothing.
  missing_since timestamptz,
  -- Answering is all that a verified domain does by itself: tokens whose `iss` it was are taken until a date, and passkeys are used there by choice.
  issuer_until timestamptz,
  accepts_passkeys boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);

-- The configuration document that was last applied to an environment: secrets are references in it. `records` says what it made of which record.
create table configurations (
  environment_id uuid not null references environments (id) on delete cascade,
  document jsonb not null,
  -- Whether what the document didn't have was deleted.
  pruned boolean not null,
  -- [{type, id, key, attributes}]: the attributes that the document manages, as they were afterwards.
  records jsonb not null,
  applied_at timestamptz not null,
  actor_kind text not null check (actor_kind in ('user', 'client', 'system')),
  actor_id text,
  actor_display text not null,
  request_id text not null,
  primary key (environment_id)
);

-- What processes remember is dropped by name: NOTIFY at commit tells at once, and the row tells those that missed it (each process looks at the recent rows
-- twice a second). Logged, although it is short-lived: processes outlive a crash of the database and still remember what was committed just before it, and so
-- they do when a standby takes over.
create table cache_changes (
  id uuid not null default gen_random_uuid(),
  changed_at timestamptz not null default clock_timestamp(),
  environment_id uuid not null,
  kind text not null
);

create unique index environments_default on environments (is_default) where is_default;

create unique index custom_domains_primary on custom_domains (environment_id) where is_primary;
-- A domain is its environment's once it is proven; until then anybody may wait for it, and nobody learns who else does.
create unique index custom_domains_environment_domain on custom_domains (environment_id, domain);
create unique index custom_domains_verified_domain on custom_domains (domain) where status = 'verified';
create index custom_domains_due on custom_domains (last_checked_at) where status = 'verified';

create index cache_changes_changed_at on cache_changes (changed_at);

-- Tells every process that what it remembers of a table, in the environment of the row, has changed.
create function note_change() returns trigger language plpgsql as $$
declare
  owner uuid;
begin
  if tg_table_name = 'environments' then
    owner := coalesce(new.id, old.id);
  else
    owner := coalesce(new.environment_id, old.environment_id);
  end if;
  insert into cache_changes (environment_id, kind) values (owner, tg_table_name);
  perform pg_notify('cache', owner::text || ' ' || tg_table_name);
  return null;
end
$$;

-- The boolean is a view of the policy: what is written to either shows in the other.
create function sync_client_registration() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.dynamic_registration_enabled and new.client_registration_policy = 'off' then new.client_registration_policy := 'open'; end if;
  elsif new.client_registration_policy = old.client_registration_policy
    and new.dynamic_registration_enabled <> old.dynamic_registration_enabled then
    new.client_registration_policy := case when new.dynamic_registration_enabled then 'open' else 'off' end;
  end if;
  new.dynamic_registration_enabled := new.client_registration_policy <> 'off';
  return new;
end $$;

create trigger environments_changed after insert or update or delete on environments for each row execute function note_change();
create trigger environments_client_registration before insert or update on environments
  for each row execute function sync_client_registration();

create trigger custom_domains_changed after insert or update or delete on custom_domains for each row execute function note_change();

create table connections (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  name text not null,
  display_name text not null,
  strategy text not null,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  provider_client_id text not null,
  provider_client_secret_sealed bytea,
  issuer text,
  authorization_endpoint text,
  token_endpoint text,
  userinfo_endpoint text,
  jwks_uri text,
  scopes text[] not null default '{}',
  claim_mapping jsonb not null default '{}',
  options jsonb not null default '{}',
  allow_registration boolean not null default true,
  account_linking text not null default 'verified_email' check (account_linking in ('verified_email', 'ask', 'never')),
  profile_sync text not null default 'on_create' check (profile_sync in ('never', 'on_create', 'on_login')),
  domains text[] not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, name)
);

-- An external account is known by (connection, subject), never by its email.
create table identities (
  environment_id uuid not null,
  id uuid not null,
  connection_id uuid not null,
  subject text not null,
  user_id uuid not null,
  email text,
  claims jsonb not null default '{}',
  last_login_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, connection_id, subject),
  foreign key (environment_id, connection_id) references connections (environment_id, id) on delete cascade,
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);
create index identities_user on identities (environment_id, user_id);
create trigger connections_changed after insert or update or delete on connections for each row execute function note_change();

create table clients (
  environment_id uuid not null references environments (id) on delete cascade,
  id text not null,
  name text not null,
  description text,
  application_type text not null check (application_type in ('web', 'spa', 'native', 'machine')),
  redirect_uris text[] not null default '{}',
  post_logout_redirect_uris text[] not null default '{}',
  allowed_origins text[] not null default '{}',
  grant_types text[] not null default '{}',
  token_endpoint_auth_method text not null,
  scopes text[],
  access_token_format text not null default 'opaque' check (access_token_format in ('jwt', 'opaque')),
  first_party boolean not null default true,
  require_pkce boolean not null default false,
  id_token_lifetime integer,
  refresh_token_lifetime integer,
  token_rate_limit integer,
  backchannel_logout_uri text,
  backchannel_logout_session_required boolean not null default false,
  client_uri text,
  logo_uri text,
  policy_uri text,
  tos_uri text,
  contacts text[] not null default '{}',
  jwks jsonb,
  jwks_uri text,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  is_system boolean not null default false,
  secret_digest bytea,
  secret_hint text,
  secret_rotated_at timestamptz,
  previous_secret_digest bytea,
  previous_secret_expires_at timestamptz,
  registration_token_digest bytea,
  last_used_at timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);
create index clients_created_at on clients (environment_id, created_at, id);

create table client_grants (
  environment_id uuid not null,
  id uuid not null,
  client_id text not null,
  api_resource_id uuid not null,
  scopes text[] not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, client_id, api_resource_id),
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade,
  foreign key (environment_id, api_resource_id) references api_resources (environment_id, id) on delete cascade
);
create index client_grants_api_resource on client_grants (environment_id, api_resource_id);

-- What a person allowed an application that isn't first-party.
create table consents (
  environment_id uuid not null,
  user_id uuid not null,
  client_id text not null,
  scopes text[] not null default '{}',
  resources text[] not null default '{}',
  granted_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, user_id, client_id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade,
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade
);
create index consents_client on consents (environment_id, client_id);

-- Which clients a session signed in to: the addressees of back-channel logout.
create table session_clients (
  environment_id uuid not null,
  session_id uuid not null,
  client_id text not null,
  created_at timestamptz not null,
  primary key (environment_id, session_id, client_id),
  foreign key (environment_id, session_id) references sessions (environment_id, id) on delete cascade,
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade
);
create index session_clients_client on session_clients (environment_id, client_id);

create trigger clients_changed after insert or update or delete on clients for each row execute function note_change();
create trigger client_grants_changed after insert or update or delete on client_grants for each row execute function note_change();

-- Clients, their grants, what people consented to, and the names of deleted records.

-- Applications that ask for tokens. Secrets are kept as digests; the previous one is good until it expires.
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
  -- True only when somebody says so who may: people are not asked before such a client sees what is theirs.
  first_party boolean not null default false,
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
  -- Which clients may ask about tokens that aren't theirs: resource servers that an administrator made, never what registered itself.
  introspection_allowed boolean not null default false,
  -- What a client's ID tokens and userinfo say beyond the protocol: the claims of the scopes in the ID token too, claims under names of the
  -- client's own, userinfo as a signed JWT; and where a sign-in that starts elsewhere begins (OIDC Core 4).
  id_token_claims text not null default 'protocol' check (id_token_claims in ('protocol', 'profile')),
  claim_mappings jsonb not null default '[]',
  userinfo_signed_response_alg text check (userinfo_signed_response_alg in ('RS256', 'ES256', 'PS256', 'EdDSA')),
  initiate_login_uri text,
  required_acr text check (required_acr in ('2', 'phr')),
  max_authentication_age integer,
  id_token_signed_response_alg text not null default 'RS256' check (id_token_signed_response_alg in ('RS256', 'ES256', 'PS256', 'EdDSA')),
  require_pushed_authorization_requests boolean not null default false,
  dpop_bound_access_tokens boolean not null default false,
  -- Answers that clients want signed: of the authorization endpoint (JARM), and of introspection (RFC 9701). Null: as they are by default.
  authorization_signed_response_alg text check (authorization_signed_response_alg in ('RS256', 'ES256', 'PS256', 'EdDSA')),
  introspection_signed_response_alg text check (introspection_signed_response_alg in ('RS256', 'ES256', 'PS256', 'EdDSA')),
  -- Where a client comes from, and whether somebody vouches for it. `registration_ceiling`: what the token that it registered with lets it have.
  origin text not null default 'administrator' check (origin in ('administrator', 'registration', 'metadata_document')),
  verified boolean not null default true,
  registration_ceiling jsonb,
  -- What the row was last read from, and until when it may be taken as it is. `verified_by_host`: verified because its host is listed, and only as long as it is.
  verified_by_host boolean not null default false,
  document_digest bytea,
  document_read_at timestamptz,
  document_fresh_until timestamptz,
  document_ended_at timestamptz,
  -- A client's security profile: one choice that settles a dozen others. The database holds it to those of them that are columns, whoever writes.
  profile text check (profile in ('fapi2')),
  -- Whether its authorization requests have to be signed (RFC 9101 10.5): such a client pushes them.
  require_signed_request_object boolean not null default false,
  -- How the sign-in pages and mails look while people are on their way to the client, where that isn't as the environment's: name, logo_url,
  -- dark_logo_url, primary_color, support_email.
  branding jsonb not null default '{}',
  -- What was issued belongs to the record that it was issued to, or for, and not to its name. Tokens that were issued before are not this record's: it was made
  -- after another one of its name, or they were ended. Null: all of its name are.
  tokens_not_before timestamptz,
  -- The API resource that a client's own token requests are for when they leave out `resource`; a resource that is deleted takes it along.
  default_resource text,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  constraint clients_introspection check (not introspection_allowed or registration_token_digest is null),
  constraint clients_document check (
    (origin = 'metadata_document') = (document_digest is not null and document_read_at is not null and document_fresh_until is not null)),
  constraint clients_fapi2 check (
    profile is distinct from 'fapi2'
    or (token_endpoint_auth_method = 'private_key_jwt' and require_pkce and require_pushed_authorization_requests and dpop_bound_access_tokens
      and id_token_signed_response_alg <> 'RS256' and userinfo_signed_response_alg is distinct from 'RS256'
      and authorization_signed_response_alg is distinct from 'RS256' and introspection_signed_response_alg is distinct from 'RS256')),
  constraint clients_default_resource_fkey
    foreign key (environment_id, default_resource) references api_resources (environment_id, identifier)
    on update cascade on delete set null (default_resource)
);

create table client_grants (
  environment_id uuid not null,
  id uuid not null,
  client_id text not null,
  api_resource_id uuid not null,
  scopes text[] not null default '{}',
  -- A client may have two grants of one API resource: what it may do for itself (`client`), and what it may ask people for (`user`).
  subject_type text not null default 'client' check (subject_type in ('client', 'user')),
  -- Token exchange (RFC 8693): whether a client may bring people's tokens and have others for them, and of which API resources' tokens.
  token_exchange text not null default 'none' check (token_exchange in ('none', 'delegation', 'impersonation')),
  subject_audiences text[] not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade,
  foreign key (environment_id, api_resource_id) references api_resources (environment_id, id) on delete cascade,
  constraint client_grants_one_of_each_subject_type unique (environment_id, client_id, api_resource_id, subject_type),
  constraint client_grants_exchange_for_people check (subject_type = 'user' or (token_exchange = 'none' and subject_audiences = '{}'))
);

-- What a person allowed an application that isn't first-party.
create table consents (
  environment_id uuid not null,
  user_id uuid not null,
  client_id text not null,
  scopes text[] not null default '{}',
  resources text[] not null default '{}',
  granted_at timestamptz not null,
  updated_at timestamptz not null,
  -- So that the Management API can name it.
  id uuid not null,
  -- Which scopes a person allowed for which API resource: the same scope name may mean different things at two of them.
  -- `scopes` stays the union, for showing.
  resource_scopes jsonb not null default '{}',
  -- What the client was when the person allowed it: one that is something else by now asks anew. Null: it is what its administrator or registration says.
  client_digest bytea,
  primary key (environment_id, user_id, client_id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade,
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade
);

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

-- Names of records that were deleted. A client_id is never used again; what else comes under such a name begins with `tokens_not_before`.
create table deleted_names (
  environment_id uuid not null references environments (id) on delete cascade,
  kind text not null check (kind in ('client', 'api_resource', 'permission')),
  -- A client_id, an identifier, or the id of an API resource and the name of its permission.
  name text not null,
  deleted_at timestamptz not null,
  primary key (environment_id, kind, name)
);

create index clients_created_at on clients (environment_id, created_at, id);
-- Few clients came by themselves: counted against `self_registered_client_limit`, and removed when nobody uses them.
create index clients_arrived on clients (environment_id, created_at) where origin <> 'administrator';

create index client_grants_api_resource on client_grants (environment_id, api_resource_id);

-- Both lists of consents answer from an index in each order.
create unique index consents_id on consents (environment_id, id);
create index consents_granted_at on consents (environment_id, granted_at, id);
create index consents_updated_at on consents (environment_id, updated_at, id);
create index consents_client_granted_at on consents (environment_id, client_id, granted_at, id);
-- What people allowed a client at APIs is what it reaches without asking them again (specification 13.2.25). Few consents are of more than signing in.
create index consents_elsewhere on consents (environment_id, client_id) where resources <> '{}';

create index session_clients_client on session_clients (environment_id, client_id);

create trigger clients_changed after insert or delete on clients for each row execute function note_change();
-- That it was used, or that its document was read again and is the same, must not make every process forget its clients.
create trigger clients_updated after update on clients
  for each row when (
    old.last_used_at is not distinct from new.last_used_at
    and (old.document_read_at is not distinct from new.document_read_at or old.version <> new.version)
  ) execute function note_change();

create trigger client_grants_changed after insert or update or delete on client_grants for each row execute function note_change();

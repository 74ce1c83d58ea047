-- API resources, their permissions, and the roles that give permissions to users.

-- What tokens are for: the audience (RFC 8707) with its token format, lifetime and permissions. The Management API is one (`is_system`).
create table api_resources (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  identifier text not null,
  name text not null,
  token_format text not null default 'jwt' check (token_format in ('jwt', 'opaque')),
  access_token_lifetime integer not null default 3600,
  is_system boolean not null default false,
  -- Which clients may ask people for tokens of an API resource: every one, or those with a grant of type `user`. The Management API is never open.
  user_access text not null default 'open' check (user_access in ('open', 'granted')),
  -- The header of an API resource's JWTs, whether a person's token holds what was asked for or what the person holds, and claims of its own.
  token_typ text not null default 'at+jwt' check (token_typ in ('at+jwt', 'JWT')),
  user_scopes text not null default 'requested' check (user_scopes in ('requested', 'held')),
  claim_mappings jsonb not null default '[]',
  required_acr text check (required_acr in ('2', 'phr')),
  max_authentication_age integer,
  signing_alg text not null default 'RS256' check (signing_alg in ('RS256', 'ES256', 'PS256', 'EdDSA')),
  dpop_bound_access_tokens boolean not null default false,
  -- What an API resource tells clients of itself (RFC 9728), and which scopes are granted where none of it was asked for.
  default_scopes text[] not null default '{}',
  documentation_url text,
  -- The identifier as others write it: scheme and host in small letters, without the port that goes without saying and one slash at the end.
  canonical_identifier text generated always as (
    regexp_replace(lower(coalesce(substring(identifier from '^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*'), '')), '^(https://.*):443$|^(http://.*):80$', '\1\2')
    || regexp_replace(regexp_replace(identifier, '^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*', ''), '^([^?]*)/$', '\1')
  ) stored,
  -- Whether people's tokens for the API reach clients that nobody vouches for.
  allow_unverified_clients boolean not null default false,
  -- As of a client (07_clients.sql).
  tokens_not_before timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, identifier)
);

-- A permission of an API resource is its OAuth scope: one source of truth.
create table permissions (
  environment_id uuid not null,
  id uuid not null,
  api_resource_id uuid not null,
  name text not null,
  description text,
  is_system boolean not null default false,
  -- As of a client (07_clients.sql).
  tokens_not_before timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, api_resource_id, name),
  foreign key (environment_id, api_resource_id) references api_resources (environment_id, id) on delete cascade
);

create table roles (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  name text not null,
  description text,
  is_default boolean not null default false,
  is_system boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, name)
);

create table role_permissions (
  environment_id uuid not null,
  role_id uuid not null,
  permission_id uuid not null,
  primary key (environment_id, role_id, permission_id),
  foreign key (environment_id, role_id) references roles (environment_id, id) on delete cascade,
  foreign key (environment_id, permission_id) references permissions (environment_id, id) on delete cascade
);

create table user_roles (
  environment_id uuid not null,
  user_id uuid not null,
  role_id uuid not null,
  primary key (environment_id, user_id, role_id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade,
  foreign key (environment_id, role_id) references roles (environment_id, id) on delete cascade
);

create index api_resources_canonical on api_resources (environment_id, canonical_identifier);

create index role_permissions_permission on role_permissions (environment_id, permission_id);

create index user_roles_role on user_roles (environment_id, role_id);

-- What a person holds, as names. Functions, because most statements of the hot path need none of it for most tokens: what a function reads is neither
-- planned nor locked until it is called.
-- Names of the permissions that a user holds at the API resource of an identifier.
create function permissions_held(in_environment uuid, holder uuid, of_resource text) returns text[]
language plpgsql stable as $$
begin
  return array(
    select distinct p.name from user_roles ur
    join role_permissions rp on rp.environment_id = ur.environment_id and rp.role_id = ur.role_id
    join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id
    join api_resources a on a.environment_id = p.environment_id and a.id = p.api_resource_id
    where ur.environment_id = in_environment and ur.user_id = holder and a.identifier = of_resource
    order by p.name);
end $$;

-- Names of a user's roles.
create function role_names(in_environment uuid, holder uuid) returns text[]
language plpgsql stable as $$
begin
  return array(
    select ro.name from user_roles ur join roles ro on ro.environment_id = ur.environment_id and ro.id = ur.role_id
    where ur.environment_id = in_environment and ur.user_id = holder order by ro.name);
end $$;

create trigger api_resources_changed after insert or update or delete on api_resources for each row execute function note_change();

create trigger permissions_changed after insert or update or delete on permissions for each row execute function note_change();

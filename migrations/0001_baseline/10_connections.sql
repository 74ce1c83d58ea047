-- Connections to providers, the accounts there that are linked to users, and logins under way.

-- External providers that people sign in with.
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
  account_linking text not null default 'ask' check (account_linking in ('verified_email', 'ask', 'never')),
  profile_sync text not null default 'on_create' check (profile_sync in ('never', 'on_create', 'on_login')),
  domains text[] not null default '{}',
  -- What a provider's word is worth. `generation` counts the changes of whatever decides who somebody is who comes through the connection;
  -- a linked account counts for the generation in which its person proved the local account. The count only rises, whoever writes the row:
  -- moving a connection there and back leaves its links void.
  generation integer not null default 1,
  required boolean not null default false,
  -- Whether `verified_email` may link: what the provider says of an address is believed.
  trusted boolean not null default false,
  -- Whether a sign-in through the connection needs our second step (`own`), may take the provider's word for it (`asserted`), or never asks.
  second_factor text not null default 'own' check (second_factor in ('own', 'asserted', 'provider')),
  trusted_acr_values text[] not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, name),
  constraint connections_required_domains check (not required or cardinality(domains) > 0)
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
  -- The generation of the connection in which the link was proven.
  generation integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, connection_id, subject),
  foreign key (environment_id, connection_id) references connections (environment_id, id) on delete cascade,
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);

-- A login through a provider that is under way: found by the digest of its state, and only together with that of the browser's
-- secret. It is deleted when the answer comes, so that a state is good for one answer. No key to connections: when one is
-- deleted meanwhile, the answer is told so.
create table sso_flows (
  environment_id uuid not null references environments (id) on delete cascade,
  state_digest bytea not null,
  browser_digest bytea not null,
  connection_id uuid not null,
  content_sealed bytea not null,
  expires_at timestamptz not null,
  primary key (environment_id, state_digest)
);

-- The connections that a client offers at sign-in; a client without any offers all that are enabled.
create table client_connections (
  environment_id uuid not null,
  client_id text not null,
  connection_id uuid not null,
  primary key (environment_id, client_id, connection_id),
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade,
  foreign key (environment_id, connection_id) references connections (environment_id, id) on delete cascade
);

create index identities_user on identities (environment_id, user_id);
create index identities_created_at on identities (environment_id, created_at, id);
create index identities_updated_at on identities (environment_id, updated_at, id);
-- All identities of one connection, page by page without sorting them all.
create index identities_connection on identities (environment_id, connection_id, created_at, id);

create index sso_flows_expires_at on sso_flows (expires_at);

create index client_connections_connection on client_connections (environment_id, connection_id);

create function raise_connection_generation() returns trigger language plpgsql as $$
begin
  if (old.strategy, old.issuer, old.authorization_endpoint, old.token_endpoint, old.userinfo_endpoint, old.jwks_uri,
      old.provider_client_id, old.claim_mapping)
     is distinct from
     (new.strategy, new.issuer, new.authorization_endpoint, new.token_endpoint, new.userinfo_endpoint, new.jwks_uri,
      new.provider_client_id, new.claim_mapping) then
    new.generation := old.generation + 1;
  else
    new.generation := old.generation;
  end if;
  return new;
end $$;

-- The one definition of a link that signs somebody in: proven in the connection's present generation.
create function is_proven(identity identities) returns boolean language sql stable as $$
  select exists (
    select from connections c
    where c.environment_id = identity.environment_id and c.id = identity.connection_id and c.generation = identity.generation
  )
$$;

create trigger connections_changed after insert or update or delete on connections for each row execute function note_change();
create trigger connections_generation before update on connections for each row execute function raise_connection_generation();

create trigger client_connections_changed after insert or update or delete on client_connections for each row execute function note_change();

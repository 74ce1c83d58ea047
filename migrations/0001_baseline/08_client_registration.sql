-- How clients come (RFC 7591) and how workloads prove which client they are (RFC 7523).

-- Initial access tokens (RFC 7591 1.2): who may register clients, how many, and what these may have.
create table registration_tokens (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  name text not null,
  digest bytea not null,
  expires_at timestamptz not null,
  max_uses integer check (max_uses > 0),
  use_count integer not null default 0,
  grant_types text[] not null,
  scopes text[],
  verified boolean not null,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, digest)
);

-- Client assertions that were used (RFC 7523 3, jti): each is good for one request, and forgotten once it has expired.
-- No key to clients: one that is known by its document alone may authenticate before it has a row.
create table client_assertions (
  environment_id uuid not null references environments (id) on delete cascade,
  client_id text not null,
  jti_digest bytea not null,
  expires_at timestamptz not null,
  primary key (environment_id, client_id, jti_digest)
);

-- Issuers outside whose tokens prove workloads.
create table trusted_issuers (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  name text not null,
  issuer text not null,
  jwks_uri text,
  jwks jsonb,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  last_error text,
  last_error_at timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  constraint trusted_issuers_issuer unique (environment_id, issuer)
);

-- Which tokens of a trusted issuer prove which client.
create table federated_credentials (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  client_id text not null,
  trusted_issuer_id uuid not null,
  audience text not null,
  claims jsonb not null,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade,
  foreign key (environment_id, trusted_issuer_id) references trusted_issuers (environment_id, id) on delete cascade
);

-- The last refusals of workloads that named a client: what whoever sets one up needs to read. Reasons hold names of claims, never their values.
create table workload_refusals (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  client_id text not null,
  reason text not null,
  refused_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade
);

create index registration_tokens_expires_at on registration_tokens (expires_at);

create index client_assertions_expires_at on client_assertions (expires_at);

create index trusted_issuers_created_at on trusted_issuers (environment_id, created_at, id);

create index federated_credentials_issuer on federated_credentials (environment_id, trusted_issuer_id);
create index federated_credentials_client on federated_credentials (environment_id, client_id);
create index federated_credentials_created_at on federated_credentials (environment_id, created_at, id);

create index workload_refusals_client on workload_refusals (environment_id, client_id, refused_at);
create index workload_refusals_expires_at on workload_refusals (expires_at);

create trigger trusted_issuers_changed after insert or update or delete on trusted_issuers for each row execute function note_change();

create trigger federated_credentials_changed after insert or update or delete on federated_credentials for each row execute function note_change();

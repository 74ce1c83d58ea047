-- Issuers outside whose tokens prove workloads (RFC 7523), and which of their tokens prove which client.
-- phase: expand
-- locks: clients share row exclusive; environments share row exclusive
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
create index trusted_issuers_created_at on trusted_issuers (environment_id, created_at, id);

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
create index federated_credentials_issuer on federated_credentials (environment_id, trusted_issuer_id);
create index federated_credentials_client on federated_credentials (environment_id, client_id);
create index federated_credentials_created_at on federated_credentials (environment_id, created_at, id);

create trigger trusted_issuers_changed after insert or update or delete on trusted_issuers for each row execute function note_change();
create trigger federated_credentials_changed after insert or update or delete on federated_credentials for each row execute function note_change();

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
create index workload_refusals_client on workload_refusals (environment_id, client_id, refused_at);
create index workload_refusals_expires_at on workload_refusals (expires_at);

-- A link by which a customer's administrator sets up domain, connection and directory without an account here: opened once, it is the browser's that opened it.
-- phase: expand
-- locks: connections share row exclusive; organizations share row exclusive
create table setup_links (
  environment_id uuid not null,
  id uuid not null,
  organization_id uuid not null,
  sections text[] not null check (cardinality(sections) > 0 and sections <@ '{connection,domains,directory}'::text[]),
  token_digest bytea not null,
  -- Of the secret in the cookie of the browser that opened it.
  browser_digest bytea,
  -- What it has made or is working on.
  connection_id uuid,
  expires_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  revoked_at timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, organization_id) references organizations (environment_id, id) on delete cascade,
  foreign key (environment_id, connection_id) references connections (environment_id, id) on delete set null (connection_id)
);

create unique index setup_links_token on setup_links (environment_id, token_digest);
create index setup_links_created_at on setup_links (environment_id, created_at, id);
create index setup_links_updated_at on setup_links (environment_id, updated_at, id);
create index setup_links_organization on setup_links (environment_id, organization_id);
create index setup_links_connection on setup_links (environment_id, connection_id) where connection_id is not null;

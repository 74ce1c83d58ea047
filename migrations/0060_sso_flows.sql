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
create index sso_flows_expires_at on sso_flows (expires_at);

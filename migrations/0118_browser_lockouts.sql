-- Wrong passwords from browsers that have signed in to the account before. These alone lock such a browser, until `locked_until`: those of
-- strangers, who lock the account, don't concern it.
create table browser_lockouts (
  environment_id uuid not null references environments (id) on delete cascade,
  -- Of the random id in the browser's cookie and the account.
  browser_digest bytea not null,
  failed_login_count integer not null,
  locked_until timestamptz,
  expires_at timestamptz not null,
  primary key (environment_id, browser_digest)
);
create index browser_lockouts_expires_at on browser_lockouts (expires_at);

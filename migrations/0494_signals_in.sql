-- Signals of providers: which connections take them, what a session keeps of the sign-in at the provider, and which signals have come.
-- phase: expand
-- locks: connections access exclusive, reads its rows; environments share row exclusive; sessions access exclusive, reads its rows; users share row exclusive
alter table connections
  add column signals text not null default 'off' check (signals in ('off', 'push', 'poll')),
  add column signals_issuer text,
  add column signals_audience text,
  add column signals_poll_url text,
  add column signals_token_sealed bytea;

-- Set while every sign-in of the session came through this account at this connection.
alter table sessions
  add column provider_connection_id uuid,
  add column provider_subject text,
  add column provider_sid text;
create index sessions_provider on sessions (environment_id, provider_connection_id, provider_subject) where provider_connection_id is not null;
create index sessions_provider_sid on sessions (environment_id, provider_connection_id, provider_sid) where provider_sid is not null;

-- The same of sessions that have gone, for as long as something that was granted in them for longer lives.
create table provider_sessions (
  environment_id uuid not null,
  session_id uuid not null,
  user_id uuid not null,
  connection_id uuid not null,
  subject text not null,
  sid text,
  signed_in_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (environment_id, session_id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index provider_sessions_subject on provider_sessions (environment_id, connection_id, subject);
create index provider_sessions_sid on provider_sessions (environment_id, connection_id, sid) where sid is not null;
create index provider_sessions_user on provider_sessions (environment_id, user_id);
create index provider_sessions_expires_at on provider_sessions (expires_at);

create function keep_provider_session() returns trigger language plpgsql as $$
begin
  insert into provider_sessions (environment_id, session_id, user_id, connection_id, subject, sid, signed_in_at, expires_at)
  select old.environment_id, old.id, old.user_id, old.provider_connection_id, old.provider_subject, old.provider_sid, old.signed_in_at, t.expires_at
  from (select max(r.grant_expires_at) as expires_at from refresh_tokens r
    where r.environment_id = old.environment_id and r.user_id = old.user_id and r.session_id = old.id) t
  where t.expires_at is not null and exists (select from users u where u.environment_id = old.environment_id and u.id = old.user_id)
  on conflict do nothing;
  return null;
end
$$;
create trigger sessions_kept after delete on sessions
  for each row when (old.provider_connection_id is not null) execute function keep_provider_session();

-- A signal acts once, at whichever process it arrives.
create table received_signals (
  environment_id uuid not null references environments (id) on delete cascade,
  connection_id uuid not null,
  -- Of its `jti`.
  digest bytea not null,
  expires_at timestamptz not null,
  primary key (environment_id, connection_id, digest)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index received_signals_expires_at on received_signals (expires_at);

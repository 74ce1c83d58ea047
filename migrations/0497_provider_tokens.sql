-- Tokens of people at providers, which clients get by token exchange: who may have them, the tokens themselves, and those that are to be revoked there.
-- phase: expand
-- locks: authorizations share row exclusive; clients share row exclusive; connections access exclusive; consents share row exclusive; environments share row exclusive; identities share row exclusive; users share row exclusive
alter table connections add column token_storage boolean not null default false;

create table provider_grants (
  environment_id uuid not null,
  id uuid not null,
  client_id text not null,
  connection_id uuid not null,
  scopes text[] not null,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  constraint provider_grants_one_of_each unique (environment_id, client_id, connection_id),
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade,
  foreign key (environment_id, connection_id) references connections (environment_id, id) on delete cascade
);

create table provider_tokens (
  environment_id uuid not null,
  id uuid not null,
  identity_id uuid not null,
  user_id uuid not null,
  client_id text not null,
  connection_id uuid not null,
  -- What the provider granted.
  scopes text[] not null,
  status text not null default 'live' check (status in ('live', 'lost')),
  -- JSON of `access_token` and `refresh_token`; null once they are lost.
  tokens_sealed bytea,
  -- Of the access token; null: it doesn't expire.
  expires_at timestamptz,
  -- Where they came from, and so go back to: nowhere else.
  token_endpoint text not null,
  revocation_endpoint text,
  auth_method text not null check (auth_method in ('client_secret_basic', 'client_secret_post', 'none')),
  -- Who refreshes it, and until when nobody else does.
  lease_id uuid,
  leased_until timestamptz,
  granted_at timestamptz not null,
  last_used_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, identity_id, client_id),
  foreign key (environment_id, identity_id) references identities (environment_id, id) on delete cascade,
  foreign key (environment_id, client_id, connection_id) references provider_grants (environment_id, client_id, connection_id) on delete cascade,
  constraint provider_tokens_live check ((status = 'live') = (tokens_sealed is not null))
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Tokens that were deleted here, and are to be revoked at their provider (RFC 7009), with what its endpoint asks for as it was then: the connection may be gone.
create table provider_token_revocations (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  connection_id uuid not null,
  token_id uuid not null,
  revocation_endpoint text not null,
  auth_method text not null,
  provider_client_id text not null,
  provider_client_secret_sealed bytea,
  tokens_sealed bytea,
  attempt_count integer not null default 0,
  next_attempt_at timestamptz,
  lease_id uuid,
  leased_until timestamptz,
  last_response_status integer,
  last_error text,
  completed_at timestamptz,
  created_at timestamptz not null,
  primary key (environment_id, id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

create index provider_grants_created_at on provider_grants (environment_id, created_at, id);
create index provider_grants_updated_at on provider_grants (environment_id, updated_at, id);
create index provider_grants_connection on provider_grants (environment_id, connection_id);
create index provider_tokens_created_at on provider_tokens (environment_id, created_at, id);
create index provider_tokens_updated_at on provider_tokens (environment_id, updated_at, id);
create index provider_tokens_user on provider_tokens (environment_id, user_id, client_id, connection_id);
create index provider_tokens_grant on provider_tokens (environment_id, client_id, connection_id);
create index provider_tokens_connection on provider_tokens (environment_id, connection_id);
create index provider_token_revocations_due on provider_token_revocations (next_attempt_at, id) where next_attempt_at is not null;
create index provider_token_revocations_by_destination on provider_token_revocations (environment_id, revocation_endpoint, next_attempt_at, id)
  where next_attempt_at is not null;
create index provider_token_revocations_completed_at on provider_token_revocations (completed_at) where completed_at is not null;

create trigger provider_grants_changed after insert or update or delete on provider_grants for each row execute function note_change();

-- What goes here is revoked there, whatever deleted the row; with the environment nothing is left to do it.
create function queue_provider_revocation() returns trigger language plpgsql as $$
begin
  insert into provider_token_revocations (environment_id, id, connection_id, token_id, revocation_endpoint, auth_method, provider_client_id,
      provider_client_secret_sealed, tokens_sealed, next_attempt_at, created_at)
    select c.environment_id, uuid_v7(now()), c.id, old.id, old.revocation_endpoint, old.auth_method, c.provider_client_id,
      c.provider_client_secret_sealed, old.tokens_sealed, now(), now()
    from connections c join environments e on e.id = c.environment_id
    where c.environment_id = old.environment_id and c.id = old.connection_id;
  if found then
    perform notify_after_commit('outbox', 'provider_revocation');
  end if;
  return null;
end
$$;
create trigger provider_tokens_revoked_there after delete on provider_tokens
  for each row when (old.revocation_endpoint is not null and old.tokens_sealed is not null) execute function queue_provider_revocation();

-- Before the connection changes or goes: its row still says who we are at the provider that the tokens are of.
create function end_provider_tokens_of_connection() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    delete from provider_tokens where environment_id = old.environment_id and connection_id = old.id;
    return old;
  end if;
  if new.generation <> old.generation or (old.token_storage and not new.token_storage) then
    delete from provider_tokens where environment_id = old.environment_id and connection_id = old.id;
  end if;
  return new;
end
$$;
-- Later in the alphabet, and so after `connections_generation`.
create trigger connections_provider_tokens before update or delete on connections
  for each row execute function end_provider_tokens_of_connection();

-- A grant that allows less than before has none of the tokens of before.
create function end_provider_tokens_of_grant() returns trigger language plpgsql as $$
begin
  delete from provider_tokens where environment_id = old.environment_id and client_id = old.client_id and connection_id = old.connection_id;
  return null;
end
$$;
create trigger provider_grants_narrowed after update of scopes on provider_grants
  for each row when (not old.scopes <@ new.scopes) execute function end_provider_tokens_of_grant();

create function end_provider_tokens_of_user() returns trigger language plpgsql as $$
begin
  delete from provider_tokens where environment_id = old.environment_id and user_id = old.id;
  return null;
end
$$;
create trigger users_blocked_end_provider_tokens after update of status on users
  for each row when (new.status <> 'active' and old.status = 'active') execute function end_provider_tokens_of_user();

create function end_provider_tokens_of_client_of_user() returns trigger language plpgsql as $$
begin
  delete from provider_tokens where environment_id = old.environment_id and user_id = old.user_id and client_id = old.client_id;
  return null;
end
$$;
create trigger consents_withdrawn_end_provider_tokens after delete on consents
  for each row execute function end_provider_tokens_of_client_of_user();
create trigger authorizations_revoked_end_provider_tokens after delete on authorizations
  for each row execute function end_provider_tokens_of_client_of_user();
create trigger authorizations_blocked_end_provider_tokens after update of blocked_at on authorizations
  for each row when (new.blocked_at is not null and old.blocked_at is null) execute function end_provider_tokens_of_client_of_user();

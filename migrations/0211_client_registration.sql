-- Who may register clients: nobody, who brings an initial access token (RFC 7591 1.2), or everybody. What was open stays open.
-- phase: expand
-- locks: clients access exclusive, reads its rows; environments access exclusive, reads its rows
alter table environments
  add column client_registration_policy text not null default 'off' check (client_registration_policy in ('off', 'initial_access_token', 'open')),
  add column self_registered_client_limit integer not null default 10000 check (self_registered_client_limit >= 0),
  add column unused_client_lifetime integer default 2592000 check (unused_client_lifetime > 0);
update environments set client_registration_policy = 'open' where dynamic_registration_enabled;

-- The boolean is a view of the policy: what is written to either shows in the other, also from a replica of the release before.
create function sync_client_registration() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.dynamic_registration_enabled and new.client_registration_policy = 'off' then new.client_registration_policy := 'open'; end if;
  elsif new.client_registration_policy = old.client_registration_policy
    and new.dynamic_registration_enabled <> old.dynamic_registration_enabled then
    new.client_registration_policy := case when new.dynamic_registration_enabled then 'open' else 'off' end;
  end if;
  new.dynamic_registration_enabled := new.client_registration_policy <> 'off';
  return new;
end $$;
create trigger environments_client_registration before insert or update on environments
  for each row execute function sync_client_registration();

-- Where a client comes from, and whether somebody vouches for it. `registration_ceiling`: what the token that it registered with lets it have.
alter table clients
  add column origin text not null default 'administrator' check (origin in ('administrator', 'registration', 'metadata_document')),
  add column verified boolean not null default true,
  add column registration_ceiling jsonb;
update clients set origin = 'registration', verified = first_party where registration_token_digest is not null;
create index clients_arrived on clients (environment_id, created_at) where origin <> 'administrator';

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
create index registration_tokens_expires_at on registration_tokens (expires_at);

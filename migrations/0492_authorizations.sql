-- What acts for a person: a row for each client that was allowed to, kept by what issues and withdraws, blocked or not; and grants' ends that go by time.
-- phase: expand
-- locks: authorization_codes share row exclusive; clients share row exclusive; consents share row exclusive, reads its rows; device_codes share row exclusive; environments access exclusive, reads its rows; revocations access exclusive; users share row exclusive
create table authorizations (
  environment_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  client_id text not null,
  origin text not null check (origin in ('person', 'administrator', 'employer')),
  -- Scopes by the identifier of their API resource; under the empty name those without one.
  resource_scopes jsonb not null default '{}',
  blocked_at timestamptz,
  blocked_by text check (blocked_by in ('person', 'administrator')),
  version integer not null default 1,
  granted_at timestamptz not null,
  last_used_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  constraint authorizations_of_user unique (environment_id, user_id, client_id),
  check ((blocked_at is null) = (blocked_by is null)),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade,
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

insert into authorizations (environment_id, id, user_id, client_id, origin, resource_scopes, granted_at, last_used_at, updated_at)
  select environment_id, id, user_id, client_id, 'person', resource_scopes, granted_at, now(), updated_at from consents;
insert into authorizations (environment_id, id, user_id, client_id, origin, resource_scopes, granted_at, last_used_at, updated_at)
  select distinct on (environment_id, user_id, client_id) environment_id, uuid_v7(issued_at), user_id, client_id, 'administrator',
    jsonb_build_object(coalesce(resource, ''), to_jsonb(string_to_array(scope, ' '))), issued_at, now(), issued_at
  from refresh_tokens where expires_at > now()
  order by environment_id, user_id, client_id, issued_at
  on conflict do nothing;

create index authorizations_granted_at on authorizations (environment_id, granted_at, id);
create index authorizations_updated_at on authorizations (environment_id, updated_at, id);
create index authorizations_last_used_at on authorizations (environment_id, last_used_at, id);
create index authorizations_client on authorizations (environment_id, client_id);
create index authorizations_blocked on authorizations (environment_id, user_id, client_id) where blocked_at is not null;
create index authorizations_without_consent on authorizations (last_used_at) where origin <> 'person' and blocked_at is null;

-- Notes that a client was let act for a person, or did: what it may where it is new, and at most hourly when. Who is at the row already does it for all.
create function note_authorization(in_environment uuid, of_user uuid, at_client text, by_origin text, given text[], at_resource text, at timestamptz)
returns void language plpgsql as $$
declare
  known authorizations;
  place text := coalesce(at_resource, '');
begin
  select * into known from authorizations a where a.environment_id = in_environment and a.user_id = of_user and a.client_id = at_client;
  if known.id is null then
    insert into authorizations (environment_id, id, user_id, client_id, origin, resource_scopes, granted_at, last_used_at, updated_at)
      values (in_environment, uuid_v7(at), of_user, at_client, by_origin, jsonb_build_object(place, to_jsonb(given)), at, at, at)
      on conflict do nothing;
  elsif known.blocked_at is null and (known.last_used_at < at - interval '1 hour'
    or known.origin <> 'person' and not coalesce(known.resource_scopes -> place ?& given, false)) then
    update authorizations a set last_used_at = greatest(a.last_used_at, at), updated_at = at, version = a.version + 1,
      resource_scopes = case when a.origin = 'person' then a.resource_scopes else a.resource_scopes || jsonb_build_object(place, (
        select coalesce(jsonb_agg(word), '[]') from (
          select jsonb_array_elements_text(coalesce(a.resource_scopes -> place, '[]')) as word union select unnest(given)) words)) end
    where a.environment_id = in_environment and a.id in (
      select f.id from authorizations f where f.environment_id = in_environment and f.id = known.id for update skip locked);
  end if;
end $$;

create function note_authorization_of_code() returns trigger language plpgsql as $$
begin
  perform note_authorization(new.environment_id, new.user_id, new.client_id, 'administrator', string_to_array(new.scope, ' '), new.resource,
    coalesce((to_jsonb(new) ->> 'answered_at')::timestamptz, new.expires_at - interval '60 seconds'));
  return null;
end $$;
create trigger authorization_codes_noted after insert on authorization_codes for each row execute function note_authorization_of_code();
create trigger device_codes_noted after update of approved on device_codes
  for each row when (new.approved is true and old.approved is not true and new.user_id is not null) execute function note_authorization_of_code();

-- What a person allowed is what the consent says, as long as there is one.
create function note_authorization_of_consent() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    delete from authorizations a where a.environment_id = old.environment_id and a.user_id = old.user_id and a.client_id = old.client_id
      and a.origin = 'person' and a.blocked_at is null;
  else
    insert into authorizations as a (environment_id, id, user_id, client_id, origin, resource_scopes, granted_at, last_used_at, updated_at)
      values (new.environment_id, new.id, new.user_id, new.client_id, 'person', new.resource_scopes, new.granted_at, new.updated_at, new.updated_at)
      on conflict (environment_id, user_id, client_id) do update set origin = 'person', resource_scopes = excluded.resource_scopes,
        last_used_at = greatest(a.last_used_at, excluded.last_used_at), updated_at = excluded.updated_at, version = a.version + 1;
  end if;
  return null;
end $$;
create trigger consents_noted after insert or delete or update of resource_scopes, resources on consents
  for each row execute function note_authorization_of_consent();

-- Of whoever acts for a person by an exchange or an assertion: what was issued until then is worth nothing. `id` is `acting_key` then.
alter table revocations add column issued_until timestamptz;

create function acting_key(of_user uuid, at_client text) returns uuid language sql immutable parallel safe as $$
  select substring(encode(sha256(convert_to(of_user::text || ' ' || at_client, 'UTF8')), 'hex') for 32)::uuid
$$;

-- Whether somebody of those who act by a token for the person no longer may: its client, or one in `act`.
create function acting_ended(in_environment uuid, of_user uuid, at_client text, actors jsonb, issued timestamptz) returns boolean
language plpgsql stable as $$
begin
  return exists (
    select from revocations r where r.environment_id = in_environment and r.issued_until >= date_trunc('second', issued)
      and r.id = any (array[acting_key(of_user, at_client), acting_key(of_user, actors ->> 'client_id'),
        acting_key(of_user, actors #>> '{act,client_id}'), acting_key(of_user, actors #>> '{act,act,client_id}'),
        acting_key(of_user, actors #>> '{act,act,act,client_id}')]));
end $$;

alter table environments add column unused_authorization_lifetime integer check (unused_authorization_lifetime >= 86400);

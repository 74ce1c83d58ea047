-- What clients ask people for who are elsewhere (CIBA Core 1.0): whom, what about, and what came of it; the client waits with a row of `device_codes`.
-- phase: expand
-- locks: authorizations access exclusive, reads its rows; clients access exclusive, reads its rows; device_codes access exclusive, reads its rows; environments access exclusive, reads its rows; users share row exclusive
alter table clients
  add column backchannel_token_delivery_mode text not null default 'poll' check (backchannel_token_delivery_mode in ('poll', 'ping')),
  add column backchannel_client_notification_endpoint text,
  add column backchannel_users text not null default 'known' check (backchannel_users in ('known', 'any'));
alter table environments
  add column approval_lifetime integer not null default 600 check (approval_lifetime between 30 and 86400),
  add column approval_confirmation text not null default 'fresh' check (approval_confirmation in ('fresh', 'session'));

create table approvals (
  environment_id uuid not null,
  id uuid not null,
  client_id text not null,
  -- Whom it is shown to; null: nobody, for the hint is a stranger's, or the client is muted.
  user_id uuid,
  -- Of the person, or of the hint where it is nobody's: what the limits count by. The hint's own beside it.
  subject_digest bytea not null,
  hint_digest bytea not null,
  scope text not null,
  binding_message text,
  acr_values text[] not null,
  -- Where the client asked from.
  ip_address text,
  user_agent text,
  decision text check (decision in ('approved', 'refused')),
  -- With a refusal: the client asks no more for a day.
  muted boolean not null default false,
  decided_at timestamptz,
  -- What the person reached.
  acr text,
  expires_at timestamptz not null,
  -- Of clients that are pinged: where, and JSON of `auth_req_id` and `client_notification_token`; nothing is sealed once that is over.
  notification_endpoint text,
  notification_sealed bytea,
  attempt_count integer not null default 0,
  next_attempt_at timestamptz,
  lease_id uuid,
  leased_until timestamptz,
  last_error text,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade,
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade,
  check ((decision is null) = (decided_at is null))
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index approvals_created_at on approvals (environment_id, created_at, id);
create index approvals_updated_at on approvals (environment_id, updated_at, id);
create index approvals_expires_at on approvals (expires_at);
create index approvals_subject on approvals (environment_id, subject_digest, created_at);
create index approvals_user on approvals (environment_id, user_id, created_at) where user_id is not null;
create index approvals_client on approvals (environment_id, client_id);
create index approvals_due on approvals (next_attempt_at, id) where next_attempt_at is not null;
create index approvals_by_destination on approvals (environment_id, notification_endpoint, next_attempt_at, id) where next_attempt_at is not null;

-- Who waits for an approval holds no code that anybody types.
alter table device_codes alter column user_code_digest drop not null, add column approval_id uuid,
  add constraint device_codes_approval foreign key (environment_id, approval_id) references approvals (environment_id, id) on delete cascade;
create index device_codes_approval on device_codes (environment_id, approval_id) where approval_id is not null;

-- For how many seconds nobody may be asked: five requests wait, one of the client by this hint does, or ten came within the hour; null: not at all. Who asks
-- about the same person at the same time waits until the transaction ends, so that each counts the other.
create function approval_wait(in_environment uuid, of_subject bytea, by_hint bytea, at_client text, at timestamptz) returns integer language plpgsql as $$
declare
  until timestamptz;
begin
  perform pg_advisory_xact_lock(hashtextextended('approval ' || in_environment::text || encode(of_subject, 'hex'), 0));
  with recent as (
    select a.* from approvals a where a.environment_id = in_environment and a.subject_digest = of_subject and a.created_at > at - interval '1 day'
  ), waiting as (
    select * from recent where decision is null and expires_at > at
  )
  select greatest(
    (select min(expires_at) from waiting having count(*) >= 5),
    (select max(expires_at) from waiting where client_id = at_client and hint_digest = by_hint),
    (select min(created_at) + interval '1 hour' from (
       select created_at from recent where created_at > at - interval '1 hour' order by created_at desc limit 10) ten having count(*) >= 10))
  into until;
  return case when until is not null then greatest(1, ceil(extract(epoch from until - at)))::integer end;
end $$;

-- What a person approves makes an authorization of its own kind.
alter table authorizations drop constraint authorizations_origin_check,
  add constraint authorizations_origin_check check (origin in ('person', 'administrator', 'employer', 'approval'));
create or replace function note_authorization_of_code() returns trigger language plpgsql as $$
begin
  perform note_authorization(new.environment_id, new.user_id, new.client_id,
    case when to_jsonb(new) ->> 'approval_id' is null then 'administrator' else 'approval' end, string_to_array(new.scope, ' '), new.resource,
    coalesce((to_jsonb(new) ->> 'answered_at')::timestamptz, new.expires_at - interval '60 seconds'));
  return null;
end $$;

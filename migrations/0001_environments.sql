-- Environments own everything else. Every other table's primary key begins with environment_id, so that Postgres refuses
-- a link across environments by itself and the schema can be distributed on that column.
create table environments (
  id uuid primary key,
  name text not null,
  slug text not null unique,
  kind text not null check (kind in ('production', 'staging', 'development')),
  is_default boolean not null default false,
  session_lifetime integer not null default 2592000,
  session_idle_lifetime integer,
  default_access_token_lifetime integer not null default 3600,
  id_token_lifetime integer not null default 3600,
  refresh_token_lifetime integer not null default 2592000,
  refresh_token_idle_lifetime integer not null default 1209600,
  branding jsonb not null default '{}',
  support_email text,
  registration_enabled boolean not null default true,
  password_min_length integer not null default 8,
  otp_lifetime integer not null default 600,
  otp_max_attempts integer not null default 5,
  lockout_threshold integer not null default 10,
  lockout_lifetime integer not null default 900,
  allowed_email_domains text[] not null default '{}',
  dynamic_registration_enabled boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index environments_default on environments (is_default) where is_default;

create table custom_domains (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  domain text not null unique,
  status text not null default 'pending' check (status in ('pending', 'verified', 'failed')),
  verification_token text not null,
  is_primary boolean not null default false,
  verified_at timestamptz,
  last_checked_at timestamptz,
  failure_reason text,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);
create unique index custom_domains_primary on custom_domains (environment_id) where is_primary;

-- What the processes keep in memory is dropped by name: NOTIFY at commit tells at once, and the row tells those that
-- missed it (each process looks at the recent rows twice a second). Unlogged: after a crash every cache is empty anyway.
create unlogged table cache_changes (
  id uuid not null default gen_random_uuid(),
  changed_at timestamptz not null default clock_timestamp(),
  environment_id uuid not null,
  kind text not null
);
create index cache_changes_changed_at on cache_changes (changed_at);

create function note_change() returns trigger language plpgsql as $$
declare
  owner uuid;
begin
  if tg_table_name = 'environments' then
    owner := coalesce(new.id, old.id);
  else
    owner := coalesce(new.environment_id, old.environment_id);
  end if;
  insert into cache_changes (environment_id, kind) values (owner, tg_table_name);
  perform pg_notify('cache', owner::text || ' ' || tg_table_name);
  return null;
end
$$;
create trigger environments_changed after insert or update or delete on environments for each row execute function note_change();
create trigger custom_domains_changed after insert or update or delete on custom_domains for each row execute function note_change();

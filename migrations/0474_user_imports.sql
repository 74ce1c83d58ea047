-- Imports of users: what was uploaded waits in chunks, is worked off in batches under a lease, and leaves counts and the rows that failed. People whose old
-- system is asked at their first sign-in are `pending_migration`; a password of any origin ends that.
-- phase: expand
-- locks: environments share row exclusive; users access exclusive
alter table users add column pending_migration boolean not null default false;
create function end_pending_migration() returns trigger language plpgsql as $$
begin
  new.pending_migration := false;
  return new;
end
$$;
create trigger users_end_pending_migration before update of password_hash on users
  for each row when (old.pending_migration and new.password_hash is distinct from old.password_hash) execute function end_pending_migration();

create table user_imports (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  mode text not null check (mode in ('create', 'upsert')),
  dry_run boolean not null default false,
  emit_events boolean not null default false,
  addresses_proven boolean not null default false,
  -- What names the key in hashes of Firebase.
  hash_key_id uuid,
  source_url text,
  status text not null check (status in ('awaiting_data', 'queued', 'running', 'succeeded', 'partial', 'failed', 'cancelled')),
  is_compressed boolean not null default false,
  received_bytes integer not null default 0,
  total_bytes integer,
  -- Of what was received, how much has been worked off; lines of the file, blank ones too.
  read_bytes integer not null default 0,
  line_count integer not null default 0,
  row_count integer not null default 0,
  created_count integer not null default 0,
  updated_count integer not null default 0,
  unchanged_count integer not null default 0,
  failed_count integer not null default 0,
  error text,
  actor_kind text not null,
  actor_id text,
  actor_display text not null,
  actor_permissions text[] not null,
  acts_in_full boolean not null,
  lease_id uuid,
  leased_until timestamptz,
  finished_at timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);
create index user_imports_created_at on user_imports (environment_id, created_at, id);
create index user_imports_due on user_imports (created_at) where status in ('queued', 'running');

create table user_import_chunks (
  environment_id uuid not null,
  import_id uuid not null,
  seq integer not null,
  data bytea not null,
  created_at timestamptz not null,
  primary key (environment_id, import_id, seq),
  foreign key (environment_id, import_id) references user_imports (environment_id, id) on delete cascade
);
create index user_import_chunks_created_at on user_import_chunks (created_at);

create table user_import_errors (
  environment_id uuid not null,
  id uuid not null,
  import_id uuid not null,
  line integer not null,
  code text not null,
  pointer text,
  detail text not null,
  created_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, import_id) references user_imports (environment_id, id) on delete cascade
);
create index user_import_errors_line on user_import_errors (environment_id, import_id, line, id);
create index user_import_errors_created_at on user_import_errors (created_at);

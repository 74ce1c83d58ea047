-- What was issued belongs to the record that it was issued to, or for, and not to its name. `tokens_not_before`: tokens that were issued before are not this
-- record's, for it was made after another one of its name, or they were ended; null: all of its name are.
-- phase: expand
-- locks: api_resources access exclusive; clients access exclusive; environments share row exclusive; permissions access exclusive; sessions share, reads its rows
alter table clients add column tokens_not_before timestamptz;
alter table api_resources add column tokens_not_before timestamptz;
alter table permissions add column tokens_not_before timestamptz;

-- Names of records that were deleted. A client_id is never used again; what else comes under such a name begins with `tokens_not_before`.
create table deleted_names (
  environment_id uuid not null references environments (id) on delete cascade,
  kind text not null check (kind in ('client', 'api_resource', 'permission')),
  -- A client_id, an identifier, or the id of an API resource and the name of its permission.
  name text not null,
  deleted_at timestamptz not null,
  primary key (environment_id, kind, name)
);

-- The sessions of a client's devices end with it; those of browsers have no entry.
create index sessions_device_client on sessions (environment_id, device_client_id) where device_client_id is not null;

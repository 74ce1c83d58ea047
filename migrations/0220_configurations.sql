-- phase: expand
-- The configuration document that was last applied to an environment: secrets are references in it. `records` says what it made of which record.
-- locks: environments share row exclusive
create table configurations (
  environment_id uuid not null references environments (id) on delete cascade,
  document jsonb not null,
  -- Whether what the document didn't have was deleted.
  pruned boolean not null,
  -- [{type, id, key, attributes}]: the attributes that the document manages, as they were afterwards.
  records jsonb not null,
  applied_at timestamptz not null,
  actor_kind text not null check (actor_kind in ('user', 'client', 'system')),
  actor_id text,
  actor_display text not null,
  request_id text not null,
  primary key (environment_id)
);

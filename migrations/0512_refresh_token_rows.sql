-- One row a grant for refresh tokens: a token carries the row's id and generation, and a rotation changes the row. Tokens of before keep rows of their own.
-- phase: expand
-- locks: refresh_tokens access exclusive, reads its rows

-- Whoever has many tokens adds this column and builds this index before, with `create unique index concurrently`.
alter table refresh_tokens add column if not exists id uuid;
create unique index if not exists refresh_tokens_id on refresh_tokens (id, environment_id) where id is not null;

alter table refresh_tokens
  add column generation integer not null default 0,
  -- Of the generation before, which is known by it also once the key of its MAC is gone.
  add column previous_digest bytea,
  -- When the generations before this one were rotated, the last one first: as far as retries go back.
  add column rotations timestamptz[] not null default '{}',
  -- The first generation that is bound to `jkt`; null: all are, if any.
  add column bound_from integer;

-- phase: expand
-- locks: none
-- The processes at work, as each tells of itself every half minute: what runs there, how its loops fare, what proxies in front of it say. A row that
-- wasn't renewed for a while belongs to a killed one.
create table processes (
  id uuid primary key,
  host text not null,
  pid integer not null,
  release text not null,
  node text not null,
  base_url text not null,
  pool_max integer not null,
  -- By name: {"pause", "running", "idle"} in seconds, {"failures"} in a row.
  loops jsonb not null,
  -- What sampled requests of the last minutes said of the address that they were sent to: {"sampled", "seen": [...]}.
  forwarded jsonb not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);

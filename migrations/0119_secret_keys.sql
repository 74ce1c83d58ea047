-- Which SECRET_KEY sealed what is stored, by the ids of the keys (never the keys themselves). `unnamed` stands for everything that was
-- sealed before values named their key.
create table secret_keys (
  id text primary key,
  -- Since when, and until when so far, some process has sealed with it; null for a key that has only ever been an earlier one.
  sealing_since timestamptz,
  sealing_seen_at timestamptz,
  -- How many stored values it had sealed when somebody last counted.
  pending_count bigint not null default 0,
  -- Set when nothing was left under it and no process sealed with it any more.
  emptied_at timestamptz,
  created_at timestamptz not null default now()
);
insert into secret_keys (id) values ('unnamed');

-- The processes at work: what each seals with and what it can open. A row that wasn't renewed for a while belongs to a killed one.
create table secret_key_holders (
  id uuid primary key,
  sealing_key text not null,
  opening_keys text[] not null,
  seen_at timestamptz not null
);

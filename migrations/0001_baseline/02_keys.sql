-- Signing keys, and which SECRET_KEY sealed what is stored.

-- The keys that tokens are signed with. The next one is published before it signs, and the previous one as long as its tokens last.
create table signing_keys (
  environment_id uuid not null references environments (id) on delete cascade,
  kid text not null,
  algorithm text not null default 'RS256',
  status text not null check (status in ('next', 'primary', 'previous', 'deactivated')),
  public_jwk jsonb not null,
  private_sealed bytea not null,
  activated_at timestamptz,
  retired_at timestamptz,
  deactivated_at timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, kid)
);

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

-- The processes at work: what each seals with and what it can open. A row that wasn't renewed for a while belongs to a killed one.
create table secret_key_holders (
  id uuid primary key,
  sealing_key text not null,
  opening_keys text[] not null,
  seen_at timestamptz not null
);

insert into secret_keys (id) values ('unnamed');

-- One of each algorithm that the environment signs with.
create unique index signing_keys_primary on signing_keys (environment_id, algorithm) where status = 'primary';
create unique index signing_keys_next on signing_keys (environment_id, algorithm) where status = 'next';

create trigger signing_keys_changed after insert or update or delete on signing_keys for each row execute function note_change();

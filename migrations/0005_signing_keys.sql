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
create unique index signing_keys_primary on signing_keys (environment_id) where status = 'primary';
create unique index signing_keys_next on signing_keys (environment_id) where status = 'next';
create trigger signing_keys_changed after insert or update or delete on signing_keys for each row execute function note_change();

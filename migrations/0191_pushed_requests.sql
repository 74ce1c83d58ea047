-- Authorization requests that clients pushed (RFC 9126). The digest is of the reference that they got. A row outlives its 60 s by the time that a sign-in may take.
create table pushed_requests (
  environment_id uuid not null references environments (id) on delete cascade,
  digest bytea not null,
  client_id text not null,
  parameters jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  primary key (environment_id, digest)
);
create index pushed_requests_expires_at on pushed_requests (expires_at);

alter table environments add column require_pushed_authorization_requests boolean not null default false;
alter table clients add column require_pushed_authorization_requests boolean not null default false;

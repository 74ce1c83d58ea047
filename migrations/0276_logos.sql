-- phase: expand
-- Images for branding: what was uploaded, under the digest of what is shown.
-- locks: environments share row exclusive
create table logos (
  environment_id uuid not null references environments (id) on delete cascade,
  -- SHA-256 of `image`, in hexadecimal.
  id text not null check (id ~ '^[0-9a-f]{64}$'),
  content_type text not null check (content_type in ('image/png', 'image/webp', 'image/svg+xml')),
  size integer not null,
  image bytea not null,
  created_at timestamptz not null,
  -- When it goes; null while a branding names it.
  expires_at timestamptz,
  primary key (environment_id, id)
);
-- Images are compressed already.
alter table logos alter column image set storage external;
create index logos_created_at on logos (environment_id, created_at, id);

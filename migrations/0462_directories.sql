-- Provisioning (SCIM, RFC 7643 and 7644): an organization's directory tells us of its people and groups.
-- phase: expand
-- locks: organizations share row exclusive; roles share row exclusive; users access exclusive
create table directories (
  environment_id uuid not null,
  id uuid not null,
  organization_id uuid not null,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  -- Two tokens are good at once while the directory changes to the new one.
  token_digest bytea not null,
  token_hint text not null,
  previous_token_digest bytea,
  previous_token_expires_at timestamptz,
  last_used_at timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, organization_id),
  foreign key (environment_id, organization_id) references organizations (environment_id, id) on delete cascade
);

-- A person as the directory has them. DELETE ends the row; the account stays, and a later POST finds it by the address.
create table directory_users (
  environment_id uuid not null,
  id uuid not null,
  directory_id uuid not null,
  user_id uuid not null,
  user_name text not null,
  user_name_key text not null,
  external_id text,
  active boolean not null default true,
  -- The other attributes as they were sent: core and enterprise schema (RFC 7643 4.1, 4.3), without password.
  resource jsonb not null default '{}',
  -- The same in small letters: filters compare in any case (RFC 7643 2.2).
  folded jsonb not null default '{}',
  -- Whether it was the directory that suspended the membership: what somebody else suspended it does not resume.
  membership_suspended boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, directory_id, user_name_key),
  unique (environment_id, directory_id, external_id),
  unique (environment_id, directory_id, user_id),
  foreign key (environment_id, directory_id) references directories (environment_id, id) on delete cascade,
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);

create table organization_groups (
  environment_id uuid not null,
  id uuid not null,
  organization_id uuid not null,
  directory_id uuid not null,
  display_name text not null,
  display_name_key text not null,
  external_id text,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, directory_id, external_id),
  foreign key (environment_id, organization_id) references organizations (environment_id, id) on delete cascade,
  foreign key (environment_id, directory_id) references directories (environment_id, id) on delete cascade
);

create table organization_group_members (
  environment_id uuid not null,
  group_id uuid not null,
  directory_user_id uuid not null,
  primary key (environment_id, group_id, directory_user_id),
  foreign key (environment_id, group_id) references organization_groups (environment_id, id) on delete cascade,
  foreign key (environment_id, directory_user_id) references directory_users (environment_id, id) on delete cascade
);

-- What a group's members hold: names of groups mean nothing by themselves.
create table organization_group_roles (
  environment_id uuid not null,
  group_id uuid not null,
  role_id uuid not null,
  primary key (environment_id, group_id, role_id),
  foreign key (environment_id, group_id) references organization_groups (environment_id, id) on delete cascade,
  foreign key (environment_id, role_id) references roles (environment_id, id) on delete cascade
);

-- The last requests of a directory, for its page: what an administrator there sees of their errors is often nothing.
create table directory_requests (
  environment_id uuid not null,
  id uuid not null,
  directory_id uuid not null,
  requested_at timestamptz not null,
  method text not null,
  path text not null,
  response_status integer not null,
  -- `scimType` and `detail` of a refusal.
  error jsonb,
  request_id text not null,
  primary key (environment_id, directory_id, id),
  foreign key (environment_id, directory_id) references directories (environment_id, id) on delete cascade
);

-- Why somebody is blocked, where it wasn't an administrator: `directory` is taken back by the directory alone.
alter table users add column blocked_reason text, add check (blocked_reason in ('directory')) not valid;

create unique index directories_token on directories (environment_id, token_digest);
create unique index directories_previous_token on directories (environment_id, previous_token_digest) where previous_token_digest is not null;
create index directories_created_at on directories (environment_id, created_at, id);
create index directories_updated_at on directories (environment_id, updated_at, id);
create index directory_users_directory on directory_users (environment_id, directory_id, created_at, id);
create index directory_users_folded on directory_users using gin (folded jsonb_path_ops);
create index directory_users_user on directory_users (environment_id, user_id);
create index organization_groups_directory on organization_groups (environment_id, directory_id, created_at, id);
create index organization_groups_display_name on organization_groups (environment_id, directory_id, display_name_key);
create index organization_groups_created_at on organization_groups (environment_id, created_at, id);
create index organization_groups_updated_at on organization_groups (environment_id, updated_at, id);
create index organization_groups_organization on organization_groups (environment_id, organization_id, created_at, id);
create index organization_group_members_user on organization_group_members (environment_id, directory_user_id);
create index organization_group_roles_role on organization_group_roles (environment_id, role_id);

create table api_resources (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  identifier text not null,
  name text not null,
  token_format text not null default 'jwt' check (token_format in ('jwt', 'opaque')),
  access_token_lifetime integer not null default 3600,
  is_system boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, identifier)
);

-- A permission of an API resource is its OAuth scope: one source of truth.
create table permissions (
  environment_id uuid not null,
  id uuid not null,
  api_resource_id uuid not null,
  name text not null,
  description text,
  is_system boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, api_resource_id, name),
  foreign key (environment_id, api_resource_id) references api_resources (environment_id, id) on delete cascade
);

create table roles (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  name text not null,
  description text,
  is_default boolean not null default false,
  is_system boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, name)
);

create table role_permissions (
  environment_id uuid not null,
  role_id uuid not null,
  permission_id uuid not null,
  primary key (environment_id, role_id, permission_id),
  foreign key (environment_id, role_id) references roles (environment_id, id) on delete cascade,
  foreign key (environment_id, permission_id) references permissions (environment_id, id) on delete cascade
);
create index role_permissions_permission on role_permissions (environment_id, permission_id);

create table user_roles (
  environment_id uuid not null,
  user_id uuid not null,
  role_id uuid not null,
  primary key (environment_id, user_id, role_id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade,
  foreign key (environment_id, role_id) references roles (environment_id, id) on delete cascade
);
create index user_roles_role on user_roles (environment_id, role_id);

create trigger api_resources_changed after insert or update or delete on api_resources for each row execute function note_change();
create trigger permissions_changed after insert or update or delete on permissions for each row execute function note_change();

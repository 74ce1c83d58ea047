-- Types of authorization details (RFC 9396) of API resources, and which of them clients may ask for.
-- phase: expand
-- locks: api_resources share row exclusive; clients access exclusive
create table authorization_detail_types (
  environment_id uuid not null,
  id uuid not null,
  api_resource_id uuid not null,
  name text not null,
  fields jsonb not null,
  -- ICU MessageFormat by language.
  sentence jsonb not null,
  remember boolean not null default false,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  constraint authorization_detail_types_name unique (environment_id, name),
  foreign key (environment_id, api_resource_id) references api_resources (environment_id, id) on delete cascade
);

create index authorization_detail_types_created_at on authorization_detail_types (environment_id, created_at, id);
create index authorization_detail_types_updated_at on authorization_detail_types (environment_id, updated_at, id);
create index authorization_detail_types_resource on authorization_detail_types (environment_id, api_resource_id);

create trigger authorization_detail_types_changed after insert or update or delete on authorization_detail_types
  for each row execute function note_change();

alter table clients add column authorization_details_types text[] not null default '{}';

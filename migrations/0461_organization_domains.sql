-- The domains of an organization: whoever has an address there is managed by it, and its connections and directory speak for these addresses alone.
-- phase: expand
-- locks: connections access exclusive, reads its rows; organizations share row exclusive
create table organization_domains (
  environment_id uuid not null,
  id uuid not null,
  organization_id uuid not null,
  domain text not null,
  status text not null default 'pending' check (status in ('pending', 'verified', 'failed')),
  -- What the TXT record says.
  verification_token text not null,
  verified_at timestamptz,
  last_checked_at timestamptz,
  failure_reason text,
  -- Since when the record of a verified domain has been missing; null while it is there.
  missing_since timestamptz,
  -- The connection of the organization that people with an address there are led to.
  connection_id uuid,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, organization_id, domain),
  foreign key (environment_id, organization_id) references organizations (environment_id, id) on delete cascade,
  foreign key (environment_id, connection_id) references connections (environment_id, id) on delete set null (connection_id)
);

-- Null: the environment's own.
alter table connections add column organization_id uuid;
alter table connections add foreign key (environment_id, organization_id) references organizations (environment_id, id) on delete cascade not valid;

-- Claims that wait for their proof block nobody.
create unique index organization_domains_verified on organization_domains (environment_id, domain) where status = 'verified';
create index organization_domains_created_at on organization_domains (environment_id, created_at, id);
create index organization_domains_updated_at on organization_domains (environment_id, updated_at, id);
create index organization_domains_due on organization_domains (last_checked_at) where status = 'verified';
create index organization_domains_connection on organization_domains (environment_id, connection_id) where connection_id is not null;
create index connections_organization on connections (environment_id, organization_id) where organization_id is not null;

create trigger organization_domains_changed after insert or update or delete on organization_domains for each row execute function note_change();

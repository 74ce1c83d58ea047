-- SAML 2.0, both ways: assertions of providers are good once, at whichever process they arrive, and applications get ours, signed with certificates of the environment.
-- phase: expand
-- locks: clients access exclusive, reads its rows; connections access exclusive; environments share row exclusive; sso_flows access exclusive
create table saml_assertions (
  environment_id uuid not null,
  connection_id uuid not null,
  -- Of the assertion's ID, with its issuer.
  digest bytea not null,
  expires_at timestamptz not null,
  primary key (environment_id, connection_id, digest),
  foreign key (environment_id, connection_id) references connections (environment_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- What the metadata of a provider said when its address was last asked. `pending`: what waits for an administrator.
create table saml_metadata (
  environment_id uuid not null,
  connection_id uuid not null,
  url text not null,
  entity_id text not null,
  sso_url text not null,
  certificates text[] not null,
  pending jsonb,
  last_error text,
  checked_at timestamptz not null,
  primary key (environment_id, connection_id),
  foreign key (environment_id, connection_id) references connections (environment_id, id) on delete cascade
);

create table saml_certificates (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  status text not null check (status in ('next', 'primary', 'previous')),
  pem text not null,
  private_key_sealed bytea not null,
  expires_at timestamptz not null,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);

-- What the provider posted, sealed: the browser comes in again with its cookie, and only then is it read.
alter table sso_flows add column answer_sealed bytea;

alter table clients drop constraint clients_application_type_check;
alter table clients
  add constraint clients_application_type_check check (application_type in ('web', 'spa', 'native', 'machine', 'saml')),
  add column saml_entity_id text,
  add column saml_acs_urls text[] not null default '{}',
  add column saml_name_id text not null default 'persistent' check (saml_name_id in ('persistent', 'email')),
  add column saml_attributes jsonb not null default '{}',
  add column saml_request_certificates text[] not null default '{}',
  add column saml_idp_initiated boolean not null default false;

-- When an administrator last accepted that the provider of a SAML connection is another one by now: links from before are void.
alter table connections add column metadata_accepted_at timestamptz;

-- What of a SAML connection's options decides who somebody is. Within an organization, whose administrators answer for its provider anyway, certificates and
-- metadata as XML may change without parting its people from their accounts.
create function saml_deciding(connection connections) returns jsonb language sql immutable as $$
  select case
    when connection.strategy <> 'saml' then null
    when connection.organization_id is null then connection.options - '{signed_part,name_id_format,sign_requests,force_authn,idp_initiated,trust_email}'::text[]
    else connection.options - '{idp_certificates,idp_metadata_xml,signed_part,name_id_format,sign_requests,force_authn,idp_initiated,trust_email}'::text[]
  end
$$;

-- As in 0001_baseline/10_connections.sql, with the options of SAML.
create or replace function raise_connection_generation() returns trigger language plpgsql as $$
begin
  if (old.strategy, old.issuer, old.authorization_endpoint, old.token_endpoint, old.userinfo_endpoint, old.jwks_uri,
      old.provider_client_id, old.claim_mapping, old.metadata_accepted_at, saml_deciding(old))
     is distinct from
     (new.strategy, new.issuer, new.authorization_endpoint, new.token_endpoint, new.userinfo_endpoint, new.jwks_uri,
      new.provider_client_id, new.claim_mapping, new.metadata_accepted_at, saml_deciding(new)) then
    new.generation := old.generation + 1;
  else
    new.generation := old.generation;
  end if;
  return new;
end $$;

create unique index clients_saml_entity_id on clients (environment_id, saml_entity_id) where saml_entity_id is not null;
create index saml_metadata_checked_at on saml_metadata (checked_at);
create index saml_assertions_expires_at on saml_assertions (expires_at);
create unique index saml_certificates_primary on saml_certificates (environment_id) where status = 'primary';
create unique index saml_certificates_next on saml_certificates (environment_id) where status = 'next';
create index saml_certificates_created_at on saml_certificates (environment_id, created_at, id);
create index saml_certificates_updated_at on saml_certificates (environment_id, updated_at, id);

create trigger saml_certificates_changed after insert or update or delete on saml_certificates for each row execute function note_change();
create trigger saml_metadata_changed after insert or update or delete on saml_metadata for each row execute function note_change();

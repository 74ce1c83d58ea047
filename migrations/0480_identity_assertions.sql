-- Identity assertion authorization grants (ID-JAG): which servers outside get them, for which clients and whom, and which of others' were redeemed here.
-- phase: expand
-- locks: api_resources access exclusive, reads its rows; client_grants access exclusive, reads its rows; clients share row exclusive; connections access exclusive, reads its rows; environments share row exclusive; identities share row exclusive; organization_groups share row exclusive; organizations share row exclusive; roles share row exclusive
create table external_servers (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  name text not null,
  issuer text not null,
  -- Other names by which clients ask for it; what it is sent bears the one that was asked for.
  audiences text[] not null default '{}',
  -- [{"identifier", "scopes"}]
  resources jsonb not null,
  include_email boolean not null default false,
  tenant text not null default 'none' check (tenant in ('none', 'environment', 'organization')),
  aud_tenant text,
  lifetime integer not null default 300 check (lifetime between 60 and 600),
  signing_alg text not null default 'RS256' check (signing_alg in ('RS256', 'ES256', 'PS256', 'EdDSA')),
  require_proof boolean not null default false,
  sign_in_client_id text,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  constraint external_servers_issuer unique (environment_id, issuer),
  foreign key (environment_id, sign_in_client_id) references clients (environment_id, id) on delete set null (sign_in_client_id)
);

create table outbound_grants (
  environment_id uuid not null,
  id uuid not null,
  client_id text not null,
  external_server_id uuid not null,
  -- Null: all of the server's.
  resources text[],
  scopes text[],
  external_client_id text,
  required_acr text check (required_acr in ('2', 'phr')),
  max_authentication_age integer,
  -- For whom; none: everybody.
  organization_id uuid,
  organization_group_id uuid,
  role_id uuid,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade,
  foreign key (environment_id, external_server_id) references external_servers (environment_id, id) on delete cascade,
  -- With whom it was for the grant goes: without them it would be for everybody.
  foreign key (environment_id, organization_id) references organizations (environment_id, id) on delete cascade,
  foreign key (environment_id, organization_group_id) references organization_groups (environment_id, id) on delete cascade,
  foreign key (environment_id, role_id) references roles (environment_id, id) on delete cascade
);

-- A row for each assertion that was redeemed: it is good once, at whichever process it arrives, and what it gave (`grant_id`) ends with what it rested on.
create table redeemed_assertions (
  environment_id uuid not null,
  connection_id uuid not null,
  -- Of its `jti`.
  digest bytea not null,
  grant_id uuid not null,
  identity_id uuid not null,
  client_id text not null,
  audience text not null,
  jkt text,
  expires_at timestamptz not null,
  primary key (environment_id, connection_id, digest)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

alter table connections
  add column assertions text not null default 'off' check (assertions in ('off', 'on')),
  add column assertion_issuer text,
  add column assertion_jwks_uri text,
  add column assertion_tenant text,
  add column assertion_reuse text not null default 'once' check (assertion_reuse in ('once', 'until_expiry')),
  add column assertion_clients text not null default 'authenticated' check (assertion_clients in ('authenticated', 'any'));
alter table api_resources add column assertion_access text not null default 'off' check (assertion_access in ('off', 'granted', 'verified'));
alter table client_grants
  add column assertions boolean not null default false,
  add constraint client_grants_assertions_for_people check (subject_type = 'user' or not assertions);

create index external_servers_created_at on external_servers (environment_id, created_at, id);
create index external_servers_updated_at on external_servers (environment_id, updated_at, id);
create index external_servers_sign_in_client on external_servers (environment_id, sign_in_client_id) where sign_in_client_id is not null;
create index outbound_grants_created_at on outbound_grants (environment_id, created_at, id);
create index outbound_grants_updated_at on outbound_grants (environment_id, updated_at, id);
create index outbound_grants_client on outbound_grants (environment_id, client_id, external_server_id);
create index outbound_grants_server on outbound_grants (environment_id, external_server_id);
create index outbound_grants_organization on outbound_grants (environment_id, organization_id) where organization_id is not null;
create index outbound_grants_group on outbound_grants (environment_id, organization_group_id) where organization_group_id is not null;
create index outbound_grants_role on outbound_grants (environment_id, role_id) where role_id is not null;
create index redeemed_assertions_identity on redeemed_assertions (environment_id, identity_id);
create index redeemed_assertions_client on redeemed_assertions (environment_id, client_id);
create index redeemed_assertions_expires_at on redeemed_assertions (expires_at);

create trigger external_servers_changed after insert or update or delete on external_servers for each row execute function note_change();
create trigger outbound_grants_changed after insert or update or delete on outbound_grants for each row execute function note_change();

-- What redeemed assertions gave ends with the connection, or when it is led elsewhere, disabled, or takes no more of them; with the link of the account; and
-- with the grant of the client, whatever wrote the row.
create function end_redeemed_of_connection() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or new.status <> 'enabled' or new.assertions <> 'on' or new.generation <> old.generation
    or (new.assertion_issuer, new.assertion_jwks_uri, new.assertion_tenant, new.assertion_clients)
      is distinct from (old.assertion_issuer, old.assertion_jwks_uri, old.assertion_tenant, old.assertion_clients) then
    insert into revocations (environment_id, id, expires_at)
      select environment_id, grant_id, expires_at from redeemed_assertions where environment_id = old.environment_id and connection_id = old.id
      on conflict do nothing;
  end if;
  return null;
end
$$;
create trigger connections_end_redeemed after update or delete on connections
  for each row execute function end_redeemed_of_connection();

create function end_redeemed_of_identity() returns trigger language plpgsql as $$
begin
  insert into revocations (environment_id, id, expires_at)
    select environment_id, grant_id, expires_at from redeemed_assertions where environment_id = old.environment_id and identity_id = old.id
    on conflict do nothing;
  return null;
end
$$;
create trigger identities_deleted_end_redeemed after delete on identities for each row execute function end_redeemed_of_identity();
create trigger identities_voided_end_redeemed after update of generation on identities
  for each row when (old.generation is distinct from new.generation) execute function end_redeemed_of_identity();

create function end_redeemed_of_client_grant() returns trigger language plpgsql as $$
begin
  insert into revocations (environment_id, id, expires_at)
    select r.environment_id, r.grant_id, r.expires_at from redeemed_assertions r
    join api_resources a on a.environment_id = r.environment_id and a.identifier = r.audience
    where r.environment_id = old.environment_id and r.client_id = old.client_id and a.id = old.api_resource_id
    on conflict do nothing;
  return null;
end
$$;
create trigger client_grants_deleted_end_redeemed after delete on client_grants
  for each row when (old.assertions) execute function end_redeemed_of_client_grant();
create trigger client_grants_changed_end_redeemed after update of assertions on client_grants
  for each row when (old.assertions and not new.assertions) execute function end_redeemed_of_client_grant();

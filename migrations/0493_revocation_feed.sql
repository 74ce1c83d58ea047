-- The revocation feed: what ended before its time, in the order in which it was noted, for APIs that verify access tokens by themselves. Each row is written with the
-- change that it tells of, by whatever statement makes that, and stays until the last token that it ends would have expired: none lives longer than a day.
-- phase: expand
-- locks: api_resources share row exclusive; client_grants share row exclusive; clients share row exclusive; environments share row exclusive; organization_memberships share row exclusive; organizations share row exclusive; revocations share row exclusive; sessions share row exclusive; users share row exclusive
create table revocation_feed (
  environment_id uuid not null,
  noted_at timestamptz not null default clock_timestamp(),
  id uuid not null default gen_random_uuid(),
  -- What a token has to say to be meant; of several all.
  jti uuid,
  sid uuid,
  sub text,
  client_id text,
  org_id uuid,
  aud text,
  -- The client is one of those who act (RFC 8693 4.1).
  act text,
  -- Tokens that were issued before; null: all.
  before timestamptz,
  until timestamptz not null,
  primary key (environment_id, noted_at, id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index revocation_feed_until on revocation_feed (until);

create function note_revocation(of_environment uuid, before timestamptz, jti uuid default null, sid uuid default null, sub text default null,
  client_id text default null, org_id uuid default null, aud text default null) returns void language plpgsql as $$
begin
  -- With an environment all of its rows go; nobody is left to read of them.
  insert into revocation_feed (environment_id, jti, sid, sub, client_id, org_id, aud, before, until)
  select e.id, note_revocation.jti, note_revocation.sid, note_revocation.sub, note_revocation.client_id, note_revocation.org_id, note_revocation.aud,
    note_revocation.before, coalesce(note_revocation.before, now()) + interval '1 day'
  from environments e where e.id = of_environment;
end
$$;

create function feed_revocation() returns trigger language plpgsql as $$
begin
  perform note_revocation(new.environment_id, null, jti => new.id);
  return null;
end
$$;
-- What ends clients that act for somebody writes its own entries: `id` doesn't tell who they are.
create trigger revocations_fed after insert on revocations for each row when (new.issued_until is null) execute function feed_revocation();

create function feed_session() returns trigger language plpgsql as $$
begin
  perform note_revocation(new.environment_id, new.revoked_at, sid => new.id);
  return null;
end
$$;
create trigger sessions_fed after update of revoked_at on sessions
  for each row when (old.revoked_at is null and new.revoked_at is not null) execute function feed_session();

-- What a row that is gone had, ends with its going.
create function feed_user() returns trigger language plpgsql as $$
begin
  perform note_revocation(old.environment_id, case when tg_op = 'UPDATE' then new.updated_at else clock_timestamp() end, sub => old.id::text);
  return null;
end
$$;
create trigger users_deleted_fed after delete on users for each row execute function feed_user();
create trigger users_blocked_fed after update of status on users
  for each row when (old.status = 'active' and new.status <> 'active') execute function feed_user();

create function feed_client() returns trigger language plpgsql as $$
begin
  perform note_revocation(old.environment_id,
    case when tg_op = 'DELETE' then clock_timestamp()
      when new.tokens_not_before is distinct from old.tokens_not_before then coalesce(new.tokens_not_before, new.updated_at)
      else new.updated_at end, client_id => old.id);
  return null;
end
$$;
create trigger clients_deleted_fed after delete on clients for each row execute function feed_client();
create trigger clients_ended_fed after update of status, tokens_not_before, document_ended_at, verified on clients
  for each row when ((old.status = 'enabled' and new.status <> 'enabled') or (old.document_ended_at is null and new.document_ended_at is not null)
    or (old.verified and not new.verified) or old.tokens_not_before is distinct from new.tokens_not_before) execute function feed_client();

create function feed_member() returns trigger language plpgsql as $$
begin
  -- With the person or the organization itself that is told instead.
  if exists (select from organizations o where o.environment_id = old.environment_id and o.id = old.organization_id)
    and exists (select from users u where u.environment_id = old.environment_id and u.id = old.user_id) then
    perform note_revocation(old.environment_id, case when tg_op = 'UPDATE' then new.updated_at else clock_timestamp() end,
      sub => old.user_id::text, org_id => old.organization_id);
  end if;
  return null;
end
$$;
create trigger organization_memberships_deleted_fed after delete on organization_memberships for each row execute function feed_member();
create trigger organization_memberships_suspended_fed after update of status on organization_memberships
  for each row when (old.status = 'active' and new.status <> 'active') execute function feed_member();

create function feed_organization() returns trigger language plpgsql as $$
begin
  perform note_revocation(old.environment_id, case when tg_op = 'UPDATE' then new.updated_at else clock_timestamp() end, org_id => old.id);
  return null;
end
$$;
create trigger organizations_deleted_fed after delete on organizations for each row execute function feed_organization();
create trigger organizations_disabled_fed after update of status on organizations
  for each row when (old.status = 'enabled' and new.status <> 'enabled') execute function feed_organization();

-- An API that is gone, or that takes fewer clients' tokens: whoever still may gets new ones.
create function feed_api_resource() returns trigger language plpgsql as $$
begin
  perform note_revocation(old.environment_id, case when tg_op = 'UPDATE' then new.updated_at else clock_timestamp() end, aud => old.identifier);
  return null;
end
$$;
create trigger api_resources_deleted_fed after delete on api_resources for each row execute function feed_api_resource();
create trigger api_resources_closed_fed after update of user_access, allow_unverified_clients on api_resources
  for each row when ((old.user_access = 'open' and new.user_access <> 'open') or (old.allow_unverified_clients and not new.allow_unverified_clients))
  execute function feed_api_resource();

-- Less of a grant ends the client's own tokens (`sub` is the client), or those of people where the API takes nobody's without one, and exchanged ones.
create function feed_client_grant() returns trigger language plpgsql as $$
begin
  perform note_revocation(old.environment_id, case when tg_op = 'UPDATE' then new.updated_at else clock_timestamp() end, client_id => old.client_id,
    aud => a.identifier, sub => case when old.subject_type = 'client' then old.client_id end)
  from api_resources a
  where a.environment_id = old.environment_id and a.id = old.api_resource_id
    and (old.subject_type = 'client' or a.user_access = 'granted' or old.token_exchange <> 'none')
    and exists (select from clients c where c.environment_id = old.environment_id and c.id = old.client_id);
  return null;
end
$$;
create trigger client_grants_deleted_fed after delete on client_grants for each row execute function feed_client_grant();
create trigger client_grants_narrowed_fed after update of scopes, token_exchange on client_grants
  for each row when (not old.scopes <@ new.scopes or (old.token_exchange <> 'none' and new.token_exchange = 'none')) execute function feed_client_grant();

-- Clients that are known by their documents alone may stay only while their hosts are listed.
create function feed_document_clients() returns trigger language plpgsql as $$
begin
  perform note_revocation(c.environment_id, new.updated_at, client_id => c.id)
  from clients c where c.environment_id = new.id and c.origin = 'metadata_document' and not c.verified;
  return null;
end
$$;
create trigger environments_document_clients_fed after update of client_id_metadata_documents, client_id_metadata_hosts on environments
  for each row when ((old.client_id_metadata_documents, old.client_id_metadata_hosts)
    is distinct from (new.client_id_metadata_documents, new.client_id_metadata_hosts)) execute function feed_document_clients();

-- Signals are written by the statement that ends a session, changes a credential or blocks somebody, whichever it is, while a stream may want them.
-- phase: expand
-- locks: authenticators share row exclusive; organization_membership_roles share row exclusive; organization_memberships share row exclusive; sessions share row exclusive; user_roles share row exclusive; users share row exclusive

-- Notes what happened to a person for the clients that may hear of it; `of_client`: for that one alone. Without streams it costs a look at an empty table. What
-- goes with its environment is told to nobody.
create function note_signal(environment uuid, event text, person uuid, session uuid, of_client text, about jsonb) returns boolean language plpgsql as $$
declare
  receivers text[];
begin
  if not exists (select 1 from signal_streams s where s.environment_id = environment and s.status <> 'disabled') then return false; end if;
  -- A grant that ends with its session: what is about to be told of that says it.
  if of_client is not null and exists (select 1 from signals g
    where g.environment_id = environment and g.event = note_signal.event and g.session_id = session and of_client = any (g.client_ids))
  then return false; end if;
  receivers := array(
    select distinct s.client_id from signal_streams s join clients c on c.environment_id = s.environment_id and c.id = s.client_id
    where s.environment_id = environment and s.status <> 'disabled' and (
      of_client = s.client_id or of_client is null and (
        c.signal_audience = 'everybody'
        or exists (select 1 from consents o where o.environment_id = environment and o.user_id = person and o.client_id = c.id)
        or exists (select 1 from refresh_tokens r where r.environment_id = environment and r.user_id = person and r.client_id = c.id)
        or exists (select 1 from sessions l join session_clients m on m.environment_id = l.environment_id and m.session_id = l.id
          where l.environment_id = environment and l.user_id = person and m.client_id = c.id)
        or c.signal_audience = 'organization' and exists (
          select 1 from organization_memberships m where m.environment_id = environment and m.user_id = person and (
            exists (select 1 from session_organizations o
              where o.environment_id = environment and o.client_id = c.id and o.organization_id = m.organization_id)
            or exists (select 1 from organization_memberships other join refresh_tokens r
                on r.environment_id = environment and r.user_id = other.user_id and r.client_id = c.id and r.organization_id = m.organization_id
              where other.environment_id = environment and other.organization_id = m.organization_id))))));
  if cardinality(receivers) = 0 or not exists (select 1 from environments e where e.id = environment) then return false; end if;
  insert into signals (environment_id, event, user_id, session_id, client_ids, data) values (environment, event, person, session, receivers, about);
  return true;
end
$$;

-- A deleted person's sessions go without a word of their own: `account-purged` says it all.
create function signal_session() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if exists (select 1 from users u where u.environment_id = old.environment_id and u.id = old.user_id) then
      perform note_signal(old.environment_id, 'session-revoked', old.user_id, old.id, null, '{"reason": "revoked"}');
    end if;
    return old;
  end if;
  if new.revoked_at is not null then
    perform note_signal(new.environment_id, 'session-revoked', new.user_id, new.id, null, jsonb_build_object('reason', new.revoke_reason));
  else
    perform note_signal(new.environment_id, 'assurance-level-change', new.user_id, new.id, null,
      jsonb_build_object('current_level', coalesce(new.acr, '1'), 'previous_level', coalesce(old.acr, '1')));
  end if;
  return null;
end
$$;
create trigger sessions_revoked_signal after update of revoked_at on sessions
  for each row when (old.revoked_at is null and new.revoked_at is not null and old.expires_at > new.revoked_at) execute function signal_session();
create trigger sessions_deleted_signal before delete on sessions
  for each row when (old.revoked_at is null and old.expires_at > now()) execute function signal_session();
create trigger sessions_acr_signal after update of acr on sessions
  for each row when (new.revoked_at is null and coalesce(new.acr, '1') <> coalesce(old.acr, '1')) execute function signal_session();

create function signal_user() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform note_signal(old.environment_id, 'account-purged', old.id, null, null, '{}');
    return old;
  end if;
  if not exists (select 1 from signal_streams s where s.environment_id = new.environment_id) then return null; end if;
  if new.status <> old.status then
    perform note_signal(new.environment_id, case new.status when 'blocked' then 'account-disabled' else 'account-enabled' end, new.id, null, null, '{}');
  end if;
  if new.email_key <> old.email_key then
    perform note_signal(new.environment_id, 'identifier-changed', new.id, null, null, jsonb_build_object('email', old.email, 'new_email', new.email));
  end if;
  if new.password_changed_at is distinct from old.password_changed_at or (new.password_hash is null) <> (old.password_hash is null) then
    perform note_signal(new.environment_id, 'credential-change', new.id, null, null, jsonb_build_object('credential_type', 'password',
      'change_type', case when new.password_hash is null then 'delete' when old.password_hash is null then 'create' else 'update' end));
  end if;
  if (
    new.first_name, new.last_name, new.middle_name, new.nickname, new.preferred_username, new.profile, new.picture, new.website, new.gender,
      new.birthdate, new.zoneinfo, new.locale, new.phone_number, new.phone_number_verified, new.address, new.external_id, new.metadata,
      new.email, new.email_verified
  ) is distinct from (
    old.first_name, old.last_name, old.middle_name, old.nickname, old.preferred_username, old.profile, old.picture, old.website, old.gender,
      old.birthdate, old.zoneinfo, old.locale, old.phone_number, old.phone_number_verified, old.address, old.external_id, old.metadata,
      old.email, old.email_verified
  ) then
    perform note_signal(new.environment_id, 'token-claims-change', new.id, null, null, '{}');
  end if;
  return null;
end
$$;
create trigger users_changed_signal
  after update of status, email_key, password_hash, password_changed_at, first_name, last_name, middle_name, nickname, preferred_username, profile, picture,
    website, gender, birthdate, zoneinfo, locale, phone_number, phone_number_verified, address, external_id, metadata, email, email_verified on users
  for each row execute function signal_user();
create trigger users_deleted_signal before delete on users for each row execute function signal_user();

create function signal_authenticator() returns trigger language plpgsql as $$
declare
  one authenticators := case when tg_op = 'DELETE' then old else new end;
  change text := case tg_op when 'INSERT' then 'create' when 'DELETE' then 'delete' else case old.status when 'pending' then 'create' else 'update' end end;
begin
  if tg_op <> 'DELETE' or exists (select 1 from users u where u.environment_id = one.environment_id and u.id = one.user_id) then
    perform note_signal(one.environment_id, 'credential-change', one.user_id, null, null, jsonb_build_object('change_type', change, 'credential_type',
      case one.kind when 'totp' then 'app' when 'passkey' then case when 'internal' = any (one.transports) then 'fido2-platform' else 'fido2-roaming' end
        else 'recovery-codes' end));
  end if;
  return null;
end
$$;
create trigger authenticators_made_signal after insert on authenticators
  for each row when (new.status = 'active') execute function signal_authenticator();
create trigger authenticators_activated_signal after update of status on authenticators
  for each row when (old.status = 'pending' and new.status = 'active') execute function signal_authenticator();
create trigger authenticators_deleted_signal after delete on authenticators
  for each row when (old.status = 'active') execute function signal_authenticator();

-- Roles and memberships: what the tokens of the person say from now on.
create function signal_claims() returns trigger language plpgsql as $$
declare
  row_of jsonb := case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
  environment uuid := (row_of ->> 'environment_id')::uuid;
  person uuid := coalesce((row_of ->> 'user_id')::uuid, (select m.user_id from organization_memberships m
    where m.environment_id = environment and m.id = (row_of ->> 'membership_id')::uuid));
begin
  if exists (select 1 from users u where u.environment_id = environment and u.id = person) then
    perform note_signal(environment, 'token-claims-change', person, null, null, '{}');
  end if;
  return null;
end
$$;
create trigger user_roles_signal after insert or delete on user_roles for each row execute function signal_claims();
create trigger organization_memberships_signal after insert or delete or update of status on organization_memberships
  for each row execute function signal_claims();
create trigger organization_membership_roles_signal after insert or delete on organization_membership_roles
  for each row execute function signal_claims();

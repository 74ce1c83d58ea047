-- How many codes of a set are not spent: on the set, and on the row of its user, which every list of users reads anyway.
alter table authenticators add column codes_left smallint;
update authenticators a set codes_left = (
  select count(*) from recovery_codes c where c.environment_id = a.environment_id and c.authenticator_id = a.id and c.used_at is null)
where a.kind = 'recovery_codes';
alter table users add column recovery_codes_left smallint not null default 0;

create or replace function note_authenticator_kinds() returns trigger language plpgsql as $$
declare
  owner record := case when tg_op = 'DELETE' then old else new end;
begin
  -- Held first: the lists below are then read after whatever another transaction changed of them.
  perform 1 from users where environment_id = owner.environment_id and id = owner.user_id for update;
  update users set
    authenticator_kinds = coalesce((
      select array_agg(distinct a.kind order by a.kind) from authenticators a
      where a.environment_id = owner.environment_id and a.user_id = owner.user_id and a.status = 'active'), '{}'),
    recovery_codes_left = coalesce((
      select a.codes_left from authenticators a
      where a.environment_id = owner.environment_id and a.user_id = owner.user_id and a.kind = 'recovery_codes'), 0)
  where environment_id = owner.environment_id and id = owner.user_id;
  return null;
end
$$;
drop trigger authenticators_kinds on authenticators;
create trigger authenticators_kinds after insert or delete or update of status, codes_left on authenticators
  for each row execute function note_authenticator_kinds();
update users u set recovery_codes_left = a.codes_left from authenticators a
where a.environment_id = u.environment_id and a.user_id = u.id and a.kind = 'recovery_codes';

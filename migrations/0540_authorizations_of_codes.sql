-- Codes and answered device codes note their authorizations by functions of their own, which needn't make a document of the row first.
-- phase: expand
-- locks: device_codes share row exclusive
create function note_authorization_of_answer() returns trigger language plpgsql as $$
begin
  perform note_authorization(new.environment_id, new.user_id, new.client_id,
    case when new.approval_id is null then 'administrator' else 'approval' end, string_to_array(new.scope, ' '), new.resource, new.answered_at);
  return null;
end
$$;

create or replace trigger device_codes_noted after update of approved on device_codes for each row
  when (new.approved is true and old.approved is not true and new.user_id is not null)
  execute function note_authorization_of_answer();

create or replace function note_authorization_of_code() returns trigger language plpgsql as $$
begin
  perform note_authorization(new.environment_id, new.user_id, new.client_id, 'administrator', string_to_array(new.scope, ' '), new.resource,
    new.expires_at - interval '60 seconds');
  return null;
end
$$;

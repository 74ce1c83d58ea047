-- Passwords in use are looked up among leaked ones: when that was last, and when one was found; what an environment does about it. Another password ends both.
-- phase: expand
-- locks: environments access exclusive, reads its rows; users access exclusive
alter table environments
  add column breached_password_sign_in text not null default 'notify' check (breached_password_sign_in in ('notify', 'require_reset', 'off'));
alter table users
  add column password_looked_up_at timestamptz,
  add column password_breached_at timestamptz;

create function end_password_finding() returns trigger language plpgsql as $$
begin
  new.password_breached_at := null;
  -- Unless whoever set it has looked it up.
  if new.password_looked_up_at is not distinct from old.password_looked_up_at then new.password_looked_up_at := null; end if;
  return new;
end
$$;
create trigger users_end_password_finding before update of password_changed_at on users
  for each row when (new.password_changed_at is distinct from old.password_changed_at
    and (old.password_looked_up_at is not null or old.password_breached_at is not null)) execute function end_password_finding();

create function signal_breached_password() returns trigger language plpgsql as $$
begin
  perform note_signal(new.environment_id, 'credential-compromise', new.id, null, null, '{"credential_type": "password"}');
  return null;
end
$$;
create trigger users_password_breached_signal after update of password_breached_at on users
  for each row when (old.password_breached_at is null and new.password_breached_at is not null) execute function signal_breached_password();

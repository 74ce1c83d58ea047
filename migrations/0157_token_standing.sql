-- Whether a token's person and session still stand. Functions for the same reason as permissions_held (0156): a client's own token has neither, and its
-- look-up goes on while the tables of people are locked.

create function user_status(in_environment uuid, of_user uuid) returns text
language plpgsql stable as $$
begin
  return (select u.status from users u where u.environment_id = in_environment and u.id = of_user);
end $$;

create function session_revoked_at(in_environment uuid, of_session uuid) returns timestamptz
language plpgsql stable as $$
begin
  return (select s.revoked_at from sessions s where s.environment_id = in_environment and s.id = of_session);
end $$;

-- What a search of users looks through: address, names and external id of each in small letters, with a space before each of them. Apart from `users`, where
-- every sign-in writes: whoever signs in changes nothing here. Trigrams (pg_trgm, which the owner of a database may create) find any part of it.
-- phase: expand
-- locks: users share row exclusive
create extension if not exists pg_trgm;

create table user_search_texts (
  environment_id uuid not null,
  user_id uuid not null,
  text text not null,
  primary key (environment_id, user_id),
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

create function user_search_text(users) returns text language sql immutable as $$
  select lower(' ' || $1.email_key || coalesce(' ' || $1.first_name, '') || coalesce(' ' || $1.middle_name, '') || coalesce(' ' || $1.last_name, '')
    || coalesce(' ' || $1.nickname, '') || coalesce(' ' || $1.preferred_username, '') || coalesce(' ' || $1.external_id, ''))
$$;

create function note_user_search_text() returns trigger language plpgsql as $$
begin
  insert into user_search_texts as t values (new.environment_id, new.id, user_search_text(new))
  on conflict (environment_id, user_id) do update set text = excluded.text where t.text <> excluded.text;
  return null;
end
$$;

create trigger users_search_text
  after insert or update of email_key, first_name, middle_name, last_name, nickname, preferred_username, external_id on users
  for each row execute function note_user_search_text();

-- A half sign-in that adds a step to a session that is there: the session, and the class that is wanted of it.
alter table sign_ins
  add column session_id uuid,
  add column demanded_acr text check (demanded_acr in ('2', 'phr')),
  add foreign key (environment_id, session_id) references sessions (environment_id, id) on delete cascade;
create index sign_ins_session on sign_ins (environment_id, session_id) where session_id is not null;

-- When a client was last used is noted every half minute; nobody remembers it, so it must not make every process forget its clients.
drop trigger clients_changed on clients;
create trigger clients_changed after insert or delete on clients for each row execute function note_change();
create trigger clients_updated after update on clients
  for each row when (old.last_used_at is not distinct from new.last_used_at) execute function note_change();

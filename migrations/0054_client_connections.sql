-- The connections that a client offers at sign-in; a client without any offers all that are enabled.
create table client_connections (
  environment_id uuid not null,
  client_id text not null,
  connection_id uuid not null,
  primary key (environment_id, client_id, connection_id),
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade,
  foreign key (environment_id, connection_id) references connections (environment_id, id) on delete cascade
);
create index client_connections_connection on client_connections (environment_id, connection_id);
create trigger client_connections_changed after insert or update or delete on client_connections for each row execute function note_change();

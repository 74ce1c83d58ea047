-- Clients whose id is the address of a document that describes them (OAuth Client ID Metadata Document).
-- phase: expand
-- locks: client_assertions access exclusive, reads its rows; clients access exclusive, reads its rows; consents access exclusive; environments access exclusive, reads its rows
alter table environments
  add column client_id_metadata_documents text not null default 'off' check (client_id_metadata_documents in ('off', 'allow_list', 'open')),
  add column client_id_metadata_hosts text[] not null default '{}';

-- What the row was last read from, and until when it may be taken as it is. `verified_by_host`: verified because its host is listed, and only as long as it is.
alter table clients
  add column verified_by_host boolean not null default false,
  add column document_digest bytea,
  add column document_read_at timestamptz,
  add column document_fresh_until timestamptz,
  add column document_ended_at timestamptz,
  add constraint clients_document check ((origin = 'metadata_document') = (document_digest is not null and document_read_at is not null and document_fresh_until is not null));

-- That a document was read again and is the same is remembered by whoever read it: it must not make every process forget its clients.
drop trigger clients_updated on clients;
create trigger clients_updated after update on clients
  for each row when (
    old.last_used_at is not distinct from new.last_used_at
    and (old.document_read_at is not distinct from new.document_read_at or old.version <> new.version)
  ) execute function note_change();

-- What the client was when the person allowed it: one that is something else by now asks anew. Null: it is what its administrator or registration says.
alter table consents add column client_digest bytea;

-- A client that is known by its document alone may authenticate before it has a row.
alter table client_assertions
  drop constraint client_assertions_environment_id_client_id_fkey,
  add constraint client_assertions_environment_id_fkey foreign key (environment_id) references environments (id) on delete cascade;

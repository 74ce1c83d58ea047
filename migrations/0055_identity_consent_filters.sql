-- All identities of one connection, and all consents for one client, page by page without sorting them all.
create index identities_connection on identities (environment_id, connection_id, created_at, id);
create index consents_client_granted_at on consents (environment_id, client_id, granted_at, id);
drop index consents_client;

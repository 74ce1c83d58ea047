-- Clients that are agents, who answers for them, and the API resources whose tokens say so.
-- phase: expand
-- locks: api_resources access exclusive; clients access exclusive, reads its rows; users share row exclusive
alter table clients
  add column is_agent boolean not null default false,
  add column owner_id uuid,
  add constraint clients_owner foreign key (environment_id, owner_id) references users (environment_id, id) on delete set null (owner_id);
-- What brings its metadata document is an agent until it is told otherwise.
update clients set is_agent = true where origin = 'metadata_document';
create index clients_owner on clients (environment_id, owner_id) where owner_id is not null;
alter table api_resources add column agent_claims boolean not null default false;

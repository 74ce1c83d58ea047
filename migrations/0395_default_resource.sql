-- phase: expand
-- locks: api_resources share row exclusive; clients access exclusive, reads its rows
-- The API resource that a client's own token requests are for when they leave out `resource`; a resource that is deleted takes it along.
alter table clients add column default_resource text;
alter table clients add constraint clients_default_resource_fkey
  foreign key (environment_id, default_resource) references api_resources (environment_id, identifier)
  on update cascade on delete set null (default_resource);

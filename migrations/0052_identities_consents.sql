-- A consent gets an id of its own, so that it can be named; both lists answer from an index in each order.
alter table consents add column id uuid not null default gen_random_uuid();
alter table consents alter column id drop default;
create unique index consents_id on consents (environment_id, id);
create index consents_granted_at on consents (environment_id, granted_at, id);
create index consents_updated_at on consents (environment_id, updated_at, id);
create index identities_created_at on identities (environment_id, created_at, id);
create index identities_updated_at on identities (environment_id, updated_at, id);

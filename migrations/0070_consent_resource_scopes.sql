-- Which scopes a person allowed for which API resource: the same scope name may mean different things at two of them.
-- `scopes` stays the union, for showing.
alter table consents add column resource_scopes jsonb not null default '{}';

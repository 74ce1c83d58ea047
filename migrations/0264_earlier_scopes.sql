-- What an exchanged opaque token goes back to: the scope that it had at other API resources, by their identifiers, beyond which no exchange back goes.
-- phase: expand
-- locks: access_tokens access exclusive
alter table access_tokens add column earlier_scopes jsonb;

-- Which types of authorization details (RFC 9396) a client's identity assertions may name at a server outside.
-- phase: expand
-- locks: outbound_grants access exclusive
alter table outbound_grants add column authorization_details_types text[] not null default '{}';

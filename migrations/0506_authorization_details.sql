-- The authorization details (RFC 9396) that people allowed clients: of codes and tokens, and those that they are not asked about again.
-- phase: expand
-- locks: access_tokens access exclusive; authorization_codes access exclusive; consents access exclusive; refresh_tokens access exclusive
alter table authorization_codes add column authorization_details jsonb;
alter table refresh_tokens add column authorization_details jsonb;
alter table access_tokens add column authorization_details jsonb;
-- Each with the id of its type.
alter table consents add column authorization_details jsonb not null default '[]';

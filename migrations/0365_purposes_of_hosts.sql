-- phase: expand
-- What a host is for: answering is all that a verified domain does by itself. That tokens are taken whose `iss` it was ends at a date, and passkeys
-- are used there by choice.
-- locks: custom_domains access exclusive; environments access exclusive
alter table custom_domains
  add column issuer_until timestamptz,
  add column accepts_passkeys boolean not null default false;
-- The same for the base URL, once a domain is the issuer.
alter table environments add column base_url_issuer_until timestamptz;

-- Token exchange (RFC 8693): whether a client may bring people's tokens and have others for them, and of which API resources' tokens.
-- phase: expand
-- locks: access_tokens access exclusive; client_grants access exclusive, reads its rows
alter table client_grants
  add column token_exchange text not null default 'none' check (token_exchange in ('none', 'delegation', 'impersonation')),
  add column subject_audiences text[] not null default '{}';
alter table client_grants add constraint client_grants_exchange_for_people
  check (subject_type = 'user' or (token_exchange = 'none' and subject_audiences = '{}'));

-- Who acts for the person of an opaque token (RFC 8693 4.1), and whether the token was exchanged for another at all.
alter table access_tokens
  add column exchanged boolean not null default false,
  add column act jsonb;

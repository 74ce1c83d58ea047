-- What a client's ID tokens and userinfo say beyond the protocol: the claims of the scopes in the ID token too, claims under names of the
-- client's own, userinfo as a signed JWT; and where a sign-in that starts elsewhere begins (OIDC Core 4).
alter table clients
  add column id_token_claims text not null default 'protocol' check (id_token_claims in ('protocol', 'profile')),
  add column claim_mappings jsonb not null default '[]',
  add column userinfo_signed_response_alg text check (userinfo_signed_response_alg in ('RS256')),
  add column initiate_login_uri text;

-- The header of an API resource's JWTs, whether a person's token holds what was asked for or what the person holds, and claims of its own.
alter table api_resources
  add column token_typ text not null default 'at+jwt' check (token_typ in ('at+jwt', 'JWT')),
  add column user_scopes text not null default 'requested' check (user_scopes in ('requested', 'held')),
  add column claim_mappings jsonb not null default '[]';

-- The names of the claims that the `claims` parameter asked for in the ID token (OIDC Core 5.5); `claims` holds those for userinfo.
alter table authorization_codes add column id_token_claims text[];
alter table refresh_tokens add column id_token_claims text[];

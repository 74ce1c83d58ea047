-- How and when the person of an opaque access token signed in, for introspection (RFC 9470 6.2). Null: a client's own token, and one of before.
alter table access_tokens
  add column acr text,
  add column amr text[],
  add column auth_time timestamptz;

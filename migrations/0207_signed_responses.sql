-- Answers that clients want signed: of the authorization endpoint (JARM), and of introspection (RFC 9701). Null: as they are by default.
alter table clients add column authorization_signed_response_alg text
  check (authorization_signed_response_alg in ('RS256', 'ES256', 'PS256', 'EdDSA'));
alter table clients add column introspection_signed_response_alg text
  check (introspection_signed_response_alg in ('RS256', 'ES256', 'PS256', 'EdDSA'));

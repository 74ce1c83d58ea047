-- A client's security profile: one choice that settles a dozen others. The database holds it to those of them that are columns, whoever writes.
-- phase: expand
-- locks: clients access exclusive, reads its rows
alter table clients add column profile text check (profile in ('fapi2'));
alter table clients add constraint clients_fapi2 check (
  profile is distinct from 'fapi2'
  or (token_endpoint_auth_method = 'private_key_jwt' and require_pkce and require_pushed_authorization_requests and dpop_bound_access_tokens
    and id_token_signed_response_alg <> 'RS256' and userinfo_signed_response_alg is distinct from 'RS256'
    and authorization_signed_response_alg is distinct from 'RS256' and introspection_signed_response_alg is distinct from 'RS256'));

-- Whether its authorization requests have to be signed (RFC 9101 10.5): such a client pushes them.
alter table clients add column require_signed_request_object boolean not null default false;

-- What an environment signs with, besides RS256: one primary and one next key of each algorithm.
alter table environments add column signing_algorithms text[] not null default '{RS256}'
  check ('RS256' = any (signing_algorithms) and signing_algorithms <@ '{RS256,ES256,PS256,EdDSA}'::text[]);
alter table api_resources add column signing_alg text not null default 'RS256' check (signing_alg in ('RS256', 'ES256', 'PS256', 'EdDSA'));
alter table clients add column id_token_signed_response_alg text not null default 'RS256'
  check (id_token_signed_response_alg in ('RS256', 'ES256', 'PS256', 'EdDSA'));
alter table clients drop constraint clients_userinfo_signed_response_alg_check;
alter table clients add constraint clients_userinfo_signed_response_alg_check
  check (userinfo_signed_response_alg in ('RS256', 'ES256', 'PS256', 'EdDSA'));

drop index signing_keys_primary;
drop index signing_keys_next;
create unique index signing_keys_primary on signing_keys (environment_id, algorithm) where status = 'primary';
create unique index signing_keys_next on signing_keys (environment_id, algorithm) where status = 'next';

-- DPoP (RFC 9449): codes, access tokens, and refresh tokens of public clients can be bound to a key; its thumbprint (RFC 7638) stands beside them.
alter table authorization_codes add column dpop_jkt text;
alter table access_tokens add column jkt text;
alter table refresh_tokens add column jkt text;

alter table environments add column dpop_nonce text not null default 'optional' check (dpop_nonce in ('optional', 'required'));
alter table clients add column dpop_bound_access_tokens boolean not null default false;
alter table api_resources add column dpop_bound_access_tokens boolean not null default false;

-- Proofs that were used: each is good for one request, and forgotten once it is too old for any. A crash empties the table: what it forgets then is
-- a proof of the last minutes, which is of use to nobody without the token or code that it came with.
create unlogged table dpop_proofs (
  environment_id uuid not null,
  digest bytea not null,
  expires_at timestamptz not null,
  primary key (environment_id, digest)
);
create index dpop_proofs_expires_at on dpop_proofs (expires_at);

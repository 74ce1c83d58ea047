-- SAML applications know a person by an identifier of their own, which is made of a secret of the environment: who knows the person elsewhere can't tell it.
-- phase: expand
-- locks: environments access exclusive, rewrites its rows
alter table environments add column pairwise_salt text not null default gen_random_uuid()::text;

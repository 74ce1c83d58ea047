-- Which clients may ask about tokens that aren't theirs: resource servers that an administrator made, never what registered itself.
alter table clients add column introspection_allowed boolean not null default false;
update clients set introspection_allowed = true where token_endpoint_auth_method <> 'none' and registration_token_digest is null;
alter table clients add constraint clients_introspection check (not introspection_allowed or registration_token_digest is null);

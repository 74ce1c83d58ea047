-- A client may have two grants of one API resource: what it may do for itself, and what it may ask people for. Every grant made so far
-- was for the client itself.
alter table client_grants add column subject_type text not null default 'client' check (subject_type in ('client', 'user'));
alter table client_grants add constraint client_grants_one_of_each_subject_type unique (environment_id, client_id, api_resource_id, subject_type);
alter table client_grants drop constraint client_grants_environment_id_client_id_api_resource_id_key;

-- Which clients may ask people for tokens of an API resource: every one, or those with a grant of type `user`. The Management API is never open.
alter table api_resources add column user_access text not null default 'open' check (user_access in ('open', 'granted'));
update api_resources set user_access = 'granted' where is_system;

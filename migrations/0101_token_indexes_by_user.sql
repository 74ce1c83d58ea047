-- An index that begins with the environment looks usable for every statement. Before a table's first statistics it looks as cheap as the
-- primary key, and a plan that was made then walks all codes of the environment for each one that is redeemed. These begin
-- with what they are for, so that only the primary key fits a look-up by digest.
drop index authorization_codes_user;
drop index access_tokens_user;
drop index refresh_tokens_user_client;
create index authorization_codes_user on authorization_codes (user_id, environment_id);
create index access_tokens_user on access_tokens (user_id, environment_id) where user_id is not null;
create index refresh_tokens_user_client on refresh_tokens (user_id, client_id, environment_id);

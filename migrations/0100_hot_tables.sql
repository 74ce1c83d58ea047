-- What a sign-in writes, written with less. Foreign keys from codes and tokens lock the one row of the client and of the user for every
-- code and token (and with many sign-ins at once turn into multixacts): no look-up needs them, because each asks for the
-- user, the session and the client as they are now, and rows go when they expire. A deleted user's rows are deleted with the user.
alter table authorization_codes
  drop constraint authorization_codes_environment_id_user_id_fkey,
  drop constraint authorization_codes_environment_id_client_id_fkey;
alter table refresh_tokens
  drop constraint refresh_tokens_environment_id_user_id_fkey,
  drop constraint refresh_tokens_environment_id_client_id_fkey;

-- A grant is ended by its row in revocations, which every look-up asks for; a session's grants are found by their user.
drop index access_tokens_grant;
drop index refresh_tokens_grant;
drop index refresh_tokens_session;

-- Spending a code and rotating a token change one column without an index: with room on the page that touches no index at all.
alter table authorization_codes set (fillfactor = 80);
alter table refresh_tokens set (fillfactor = 85);

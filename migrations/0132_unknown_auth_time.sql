-- Of a sign-in through a provider that doesn't say when it was, nothing is passed on: tokens then have no auth_time.
alter table authorization_codes alter column auth_time drop not null;
alter table refresh_tokens alter column auth_time drop not null;

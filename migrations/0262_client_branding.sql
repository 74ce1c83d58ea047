-- phase: expand
-- locks: clients access exclusive
-- How the sign-in pages and mails look while people are on their way to the client, where that isn't as the environment's: name, logo_url,
-- dark_logo_url, primary_color, support_email.
alter table clients add column branding jsonb not null default '{}';

-- When somebody signed in here and when they proved who they are can be two moments: a provider may go by an older sign-in of its own,
-- or not say when that was. What it says of the manner stays apart from what we have seen ourselves.
alter table sessions add column signed_in_at timestamptz not null default now();
update sessions set signed_in_at = authenticated_at;
alter table sessions add column auth_time_known boolean not null default true;
alter table sessions add column provider_amr text[];
alter table sessions add column provider_acr text;

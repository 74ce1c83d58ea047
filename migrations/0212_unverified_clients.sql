-- Whether people's tokens for the API reach clients that nobody vouches for. Where clients could register themselves so far, what they reach stays within their reach.
-- phase: expand
-- locks: api_resources access exclusive, reads its rows
alter table api_resources add column allow_unverified_clients boolean not null default false;
update api_resources a set allow_unverified_clients = true where not a.is_system and (
  exists (select 1 from environments e where e.id = a.environment_id and e.client_registration_policy <> 'off')
  or exists (select 1 from clients c where c.environment_id = a.environment_id and not c.verified));

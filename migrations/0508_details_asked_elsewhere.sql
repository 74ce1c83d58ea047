-- The authorization details (RFC 9396) that devices, and clients that ask people elsewhere, wait for; once there is a yes, those that were allowed.
-- phase: expand
-- locks: approvals access exclusive; device_codes access exclusive
alter table device_codes add column authorization_details jsonb;
-- What was asked, whatever became of it.
alter table approvals add column authorization_details jsonb;

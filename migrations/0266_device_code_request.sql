-- phase: expand
-- locks: device_codes access exclusive
-- The request by which a device began: a refusal at the token endpoint is told from there on. Null for codes of the release before.
alter table device_codes add column request_id text;

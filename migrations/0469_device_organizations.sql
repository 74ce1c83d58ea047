-- Devices for an organization: what one asks for, and what its person said.
-- phase: expand
-- locks: device_codes access exclusive
alter table device_codes
  -- As the device named it.
  add column organization text,
  -- The one that the tokens are for.
  add column organization_id uuid;

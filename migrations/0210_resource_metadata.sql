-- What an API resource tells clients of itself (RFC 9728), and which scopes are granted where none of it was asked for.
-- phase: expand
-- locks: api_resources access exclusive, rewrites its rows
alter table api_resources
  add column default_scopes text[] not null default '{}',
  add column documentation_url text,
  -- The identifier as others write it: scheme and host in small letters, without the port that goes without saying and one slash at the end.
  add column canonical_identifier text generated always as (
    regexp_replace(lower(coalesce(substring(identifier from '^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*'), '')), '^(https://.*):443$|^(http://.*):80$', '\1\2')
    || regexp_replace(regexp_replace(identifier, '^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*', ''), '^([^?]*)/$', '\1')
  ) stored;
create index api_resources_canonical on api_resources (environment_id, canonical_identifier);

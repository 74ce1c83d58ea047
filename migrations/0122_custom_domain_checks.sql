-- A domain is its environment's once it is proven; until then anybody may wait for it, and nobody learns who else does.
alter table custom_domains drop constraint custom_domains_domain_key;
create unique index custom_domains_environment_domain on custom_domains (environment_id, domain);
create unique index custom_domains_verified_domain on custom_domains (domain) where status = 'verified';

-- Since when the record of a verified domain has been missing; null while it is there. A look-up that fails says nothing.
alter table custom_domains add column missing_since timestamptz;
create index custom_domains_due on custom_domains (last_checked_at) where status = 'verified';

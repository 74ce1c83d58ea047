-- What lists of organizations and invitations read: the orders and states that the dashboard offers, an organization's invitations, and who
-- waits for a domain. A directory's people are counted for each page: from an index that is short, since all of them are one entry of it.
-- phase: expand
-- locks: directory_users share, reads its rows; organization_domains share, reads its rows; organization_invitations share, reads its rows; organizations share, reads its rows
create index organizations_in_order_of_name on organizations (environment_id, name, id);
create index organizations_in_order_of_display_name on organizations (environment_id, display_name, id);
create index organizations_disabled on organizations (environment_id, created_at, id) where status = 'disabled';
create index organization_domains_domain on organization_domains (environment_id, domain);
create index organization_invitations_organization on organization_invitations (environment_id, organization_id, created_at, id);
create index organization_invitations_waiting on organization_invitations (environment_id, created_at, id)
  where accepted_at is null and revoked_at is null;
create index directory_users_counted on directory_users (environment_id, directory_id);

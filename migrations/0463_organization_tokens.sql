-- Sign-ins and tokens for an organization. The statements that look a token up ask for the membership as it is then, so that its end needs no second one.
-- phase: expand
-- locks: access_tokens access exclusive; audit_logs access exclusive, reads its rows; authorization_codes access exclusive; clients access exclusive, reads its rows; organizations share row exclusive; refresh_tokens access exclusive; sessions access exclusive
alter table clients add column organization_usage text not null default 'deny' check (organization_usage in ('deny', 'allow', 'require'));

-- How somebody signed in during a session: through which connections, and whether with something of their account here, or through one of the environment's, too.
alter table sessions add column connection_ids uuid[] not null default '{}', add column has_local_login boolean not null default true;

alter table authorization_codes add column organization_id uuid;
alter table access_tokens add column organization_id uuid;
alter table refresh_tokens add column organization_id uuid;

-- Of operations of the Management API: whose record it is. Its administrators see these.
alter table audit_logs add column organization_id uuid;
create index audit_logs_organization on audit_logs (environment_id, organization_id, occurred_at, id) where organization_id is not null;

-- The organization that somebody was last in with a client, during a session.
create table session_organizations (
  environment_id uuid not null,
  session_id uuid not null,
  client_id text not null,
  organization_id uuid not null,
  primary key (environment_id, session_id, client_id),
  foreign key (environment_id, session_id) references sessions (environment_id, id) on delete cascade,
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade,
  foreign key (environment_id, organization_id) references organizations (environment_id, id) on delete cascade
);

create index session_organizations_client on session_organizations (environment_id, client_id);
create index session_organizations_organization on session_organizations (environment_id, organization_id);

-- Functions, for the reason that 06_api_resources.sql gives.
-- Whether somebody is an active member of an enabled organization.
create function is_member(in_environment uuid, of_organization uuid, member uuid) returns boolean
language plpgsql stable as $$
begin
  return exists (
    select from organization_memberships m
    join organizations o on o.environment_id = m.environment_id and o.id = m.organization_id
    where m.environment_id = in_environment and m.organization_id = of_organization and m.user_id = member
      and m.status = 'active' and o.status = 'enabled');
end $$;

-- The roles that a member has in an organization: their own, and those of their groups in its directory.
create function member_roles(in_environment uuid, of_organization uuid, member uuid) returns table (role_id uuid)
language plpgsql stable as $$
begin
  return query
    select r.role_id from organization_memberships m
    join organization_membership_roles r on r.environment_id = m.environment_id and r.membership_id = m.id
    where m.environment_id = in_environment and m.organization_id = of_organization and m.user_id = member
    union
    select r.role_id from directory_users d
    join organization_group_members gm on gm.environment_id = d.environment_id and gm.directory_user_id = d.id
    join organization_groups g on g.environment_id = gm.environment_id and g.id = gm.group_id and g.organization_id = of_organization
    join organization_group_roles r on r.environment_id = g.environment_id and r.group_id = g.id
    where d.environment_id = in_environment and d.user_id = member and d.active;
end $$;

-- Names of the permissions that a member holds in an organization at the API resource of an identifier; none of who is no active member.
create function member_permissions_held(in_environment uuid, of_organization uuid, member uuid, of_resource text) returns text[]
language plpgsql stable as $$
begin
  if not is_member(in_environment, of_organization, member) then return '{}'; end if;
  return array(
    select distinct p.name from member_roles(in_environment, of_organization, member) ur
    join role_permissions rp on rp.environment_id = in_environment and rp.role_id = ur.role_id
    join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id
    join api_resources a on a.environment_id = p.environment_id and a.id = p.api_resource_id
    where a.identifier = of_resource
    order by p.name);
end $$;

-- Names of a member's roles in an organization.
create function member_role_names(in_environment uuid, of_organization uuid, member uuid) returns text[]
language plpgsql stable as $$
begin
  return array(
    select ro.name from member_roles(in_environment, of_organization, member) ur
    join roles ro on ro.environment_id = in_environment and ro.id = ur.role_id order by ro.name);
end $$;

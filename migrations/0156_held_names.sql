-- What a person holds, as names. Functions, because most statements of the hot path need none of it for most tokens: what a function reads is neither
-- planned nor locked until it is called.

-- Names of the permissions that a user holds at the API resource of an identifier.
create function permissions_held(in_environment uuid, holder uuid, of_resource text) returns text[]
language plpgsql stable as $$
begin
  return array(
    select distinct p.name from user_roles ur
    join role_permissions rp on rp.environment_id = ur.environment_id and rp.role_id = ur.role_id
    join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id
    join api_resources a on a.environment_id = p.environment_id and a.id = p.api_resource_id
    where ur.environment_id = in_environment and ur.user_id = holder and a.identifier = of_resource
    order by p.name);
end $$;

-- Names of a user's roles.
create function role_names(in_environment uuid, holder uuid) returns text[]
language plpgsql stable as $$
begin
  return array(
    select ro.name from user_roles ur join roles ro on ro.environment_id = ur.environment_id and ro.id = ur.role_id
    where ur.environment_id = in_environment and ur.user_id = holder order by ro.name);
end $$;

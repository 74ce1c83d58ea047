-- What earlier releases left of clients and API resources that were deleted: one of the same name would have found it.
-- phase: expand
-- locks: none
delete from refresh_tokens t where
  not exists (select 1 from clients c where c.environment_id = t.environment_id and c.id = t.client_id)
  or (t.resource is not null and not exists (select 1 from api_resources a where a.environment_id = t.environment_id and a.identifier = t.resource));
delete from authorization_codes t where
  t.resource is not null and not exists (select 1 from api_resources a where a.environment_id = t.environment_id and a.identifier = t.resource);

-- Of consents what belongs to no API resource, or to a permission that is none any more; scopes of no API resource are under the empty name.
update consents c set resources = kept.resources, resource_scopes = kept.resource_scopes, scopes = kept.scopes
from (
  select o.environment_id, o.id,
    array(select one from unnest(o.resources) as one where exists (
      select 1 from api_resources a where a.environment_id = o.environment_id and a.identifier = one)) as resources,
    coalesce(jsonb_object_agg(e.name, e.scopes) filter (where e.name is not null), '{}') as resource_scopes,
    coalesce((select array_agg(distinct word) from jsonb_path_query(coalesce(jsonb_agg(e.scopes) filter (where e.name is not null), '[]'), '$[*][*]') as w (j)
      cross join lateral (select w.j #>> '{}' as word) as said), '{}') as scopes
  from consents o
  left join lateral (
    select said.key as name, said.value as scopes from jsonb_each(o.resource_scopes) as said
    where said.key = '' or exists (select 1 from api_resources a where a.environment_id = o.environment_id and a.identifier = said.key)
  ) as e on true
  where exists (select 1 from unnest(o.resources) as one where not exists (
    select 1 from api_resources a where a.environment_id = o.environment_id and a.identifier = one))
  group by o.environment_id, o.id, o.resources
) as kept
where c.environment_id = kept.environment_id and c.id = kept.id;

update client_grants g set scopes = array(
  select one from unnest(g.scopes) as one where exists (
    select 1 from permissions p where p.environment_id = g.environment_id and p.api_resource_id = g.api_resource_id and p.name = one))
where exists (select 1 from unnest(g.scopes) as one where not exists (
  select 1 from permissions p where p.environment_id = g.environment_id and p.api_resource_id = g.api_resource_id and p.name = one));
update client_grants g set subject_audiences = array(
  select one from unnest(g.subject_audiences) as one where exists (
    select 1 from api_resources a where a.environment_id = g.environment_id and a.identifier = one))
where exists (select 1 from unnest(g.subject_audiences) as one where not exists (
  select 1 from api_resources a where a.environment_id = g.environment_id and a.identifier = one));

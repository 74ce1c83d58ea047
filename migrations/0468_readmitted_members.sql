-- Who is let into an organization again, after a suspension or a removal, does not get the tokens of before back.
-- phase: expand
-- locks: organization_memberships access exclusive
alter table organization_memberships add column readmitted_at timestamptz;

-- Whether somebody is an active member of an enabled organization, and what was issued then is of this time of theirs: to the second, as a JWT tells.
create function is_member(in_environment uuid, of_organization uuid, member uuid, issued_at timestamptz) returns boolean
language plpgsql stable as $$
begin
  return exists (
    select from organization_memberships m
    join organizations o on o.environment_id = m.environment_id and o.id = m.organization_id
    where m.environment_id = in_environment and m.organization_id = of_organization and m.user_id = member
      and m.status = 'active' and o.status = 'enabled'
      and (m.readmitted_at is null or date_trunc('second', m.readmitted_at) <= is_member.issued_at));
end $$;

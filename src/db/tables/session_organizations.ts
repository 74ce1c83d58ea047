import { run, type Scope } from '../scope.js';
import type { OrganizationRow } from './organizations.js';

/** An organization that somebody can sign in for, or is invited to. */
export type OrganizationOption = Pick<OrganizationRow, 'id' | 'name' | 'display_name' | 'branding'> & {
  /** An active member; else somebody who is invited. */
  is_member: boolean;
  /** The one that the person was last in with the client, during the session. */
  is_last: boolean;
};

/** How many a chooser shows. */
const shownOptions = 100;

/** The enabled organizations that the person is an active member of, or invited to by an invitation that is open, by their names. */
export async function listOrganizationOptions(
  scope: Scope,
  person: { readonly user_id: string; readonly session_id: string | null; readonly client_id: string; readonly now: Date },
): Promise<OrganizationOption[]> {
  const text = `
    with mine as (
      select m.organization_id, true as is_member from organization_memberships m
      where m.environment_id = $1 and m.user_id = $2 and m.status = 'active'
      union all
      select i.organization_id, false from users u
      join organization_invitations i on i.environment_id = u.environment_id and i.email_key = u.email_key
      where u.environment_id = $1 and u.id = $2 and u.email_verified and i.accepted_at is null and i.revoked_at is null and i.expires_at > $5
        and not exists (select from organization_memberships m
          where m.environment_id = $1 and m.organization_id = i.organization_id and m.user_id = $2)
    )
    select o.id, o.name, o.display_name, o.branding, mine.is_member, s.organization_id is not null as is_last
    from mine join organizations o on o.environment_id = $1 and o.id = mine.organization_id
    left join session_organizations s on s.environment_id = $1 and s.session_id = $3::uuid and s.client_id = $4 and s.organization_id = o.id
    where o.status = 'enabled' order by mine.is_member desc, lower(o.display_name), o.id limit ${shownOptions}`;
  const { user_id, session_id, client_id, now } = person;
  return run<OrganizationOption>(scope, { name: 'session_organizations.options', text }, [user_id, session_id, client_id, now]);
}

/** Notes the organization that somebody is in with a client, in the place of the one before. */
export async function noteOrganizationOfSession(
  scope: Scope,
  { session_id, client_id, organization_id }: { readonly session_id: string; readonly client_id: string; readonly organization_id: string },
): Promise<void> {
  const text = `
    insert into session_organizations (environment_id, session_id, client_id, organization_id) values ($1, $2, $3, $4)
    on conflict (environment_id, session_id, client_id) do update set organization_id = excluded.organization_id
    where session_organizations.organization_id <> excluded.organization_id`;
  await run(scope, { name: 'session_organizations.note', text }, [session_id, client_id, organization_id]);
}

import type { SessionRow, SessionWithUser } from '../../db/tables/sessions.js';
import type { Context } from '../context.js';
import { managingOrganization } from './domains.js';
import { organizationsOfConnections } from './just-in-time.js';
import type { Organization } from './organizations.js';

type Login = Pick<SessionRow, 'connection_ids' | 'has_local_login'> & Pick<SessionWithUser, 'user_email'>;

/**
 * Whether the session is good for an organization (null: for what is nobody's). One that was begun only through connections of organizations is good for
 * these alone, unless one of them manages the person: their administrators decide whom their provider says somebody is.
 */
export async function isGoodFor(ctx: Context, session: Login, organization: Pick<Organization, 'id'> | null): Promise<boolean> {
  if (session.has_local_login) return true;
  const through = await organizationsOfConnections(ctx, session.connection_ids);
  if (organization && through.includes(organization.id)) return true;
  const managing = await managingOrganization(ctx, session.user_email);
  return managing !== null && through.includes(managing.organization.id);
}

/** Whether the organization wants the person to sign in through a connection of its own (`require_sso`). */
async function requiresSso(ctx: Context, { id, require_sso }: Organization, email: string): Promise<boolean> {
  if (require_sso !== 'domains') return require_sso === 'everyone';
  return (await managingOrganization(ctx, email))?.organization.id === id;
}

/** Whether another sign-in is needed before the session can be used for the organization (null: for none): elsewhere, or through a connection of it. */
export async function needsOtherSignIn(ctx: Context, session: Login, organization: Organization | null): Promise<boolean> {
  if (!(await isGoodFor(ctx, session, organization))) return true;
  if (organization === null || !(await requiresSso(ctx, organization, session.user_email))) return false;
  return !(await organizationsOfConnections(ctx, session.connection_ids)).includes(organization.id);
}

import { findSession, type SessionRow, type SessionWithUser } from '../../db/tables/sessions.js';
import { findUser } from '../../db/tables/users.js';
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

type OfToken = Pick<SessionRow, 'user_id'> & {
  readonly organization_id: string | null;
  readonly session_id: string | null;
  readonly amr: readonly string[];
};

/**
 * Whether a person's token is good for what an organization (null: nobody's) keeps of them: one that is for another organization, where the session that it came
 * of is. Of a session that is gone only what its methods say is known: those of the account here.
 */
export async function isTokenGoodFor(
  ctx: Context,
  { user_id, organization_id, session_id, amr }: OfToken,
  organization: Pick<Organization, 'id'> | null,
): Promise<boolean> {
  if (organization_id === null || organization_id === organization?.id) return true;
  const session = session_id === null ? null : await findSession(ctx.scope, session_id);
  if (session === null) return amr.includes('pwd') || amr.includes('pop');
  const user = session.has_local_login ? null : await findUser(ctx.scope, user_id);
  return session.has_local_login || (user !== null && isGoodFor(ctx, { ...session, user_email: user.email }, organization));
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

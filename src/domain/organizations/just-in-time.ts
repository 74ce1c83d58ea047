import { findUser } from '../../db/tables/users.js';
import type { SessionRow } from '../../db/tables/sessions.js';
import { connectionOf } from '../connections/connections.js';
import { transaction, type Context } from '../context.js';
import { Refusal } from '../refusal.js';
import { managingOrganization } from './domains.js';
import { addMember, findMembership, isRemovedMember, type Membership } from './memberships.js';
import { findOrganization, type Organization } from './organizations.js';

/** Somebody who signs in, and the connections that they came through. Without a session it is only asked what would be. */
export type Visitor = Pick<SessionRow, 'user_id'> & Partial<Pick<SessionRow, 'id' | 'connection_ids'>>;

/** The organizations whose connections the person came through. */
export async function organizationsOfConnections(ctx: Context, connection_ids: readonly string[]): Promise<readonly string[]> {
  const connections = await Promise.all(connection_ids.map((id) => connectionOf(ctx, id)));
  return [...new Set(connections.flatMap((one) => (one?.organization_id ? [one.organization_id] : [])))];
}

/** What lets somebody into the organization by signing in; null: nothing does. */
async function wayIn(ctx: Context, organization: Organization, visitor: Visitor): Promise<'connection' | 'domain' | null> {
  if (organization.auto_membership === 'none') return null;
  if ((await organizationsOfConnections(ctx, visitor.connection_ids ?? [])).includes(organization.id)) return 'connection';
  if (organization.auto_membership === 'connection') return null;
  const user = await findUser(ctx.scope, visitor.user_id);
  const managing = user?.email_verified ? await managingOrganization(ctx, user.email) : null;
  return managing?.organization.id === organization.id ? 'domain' : null;
}

/**
 * Makes somebody a member who signs in, where the organization's `auto_membership` says so, with its default roles. Whoever is suspended, or was removed,
 * stays out. Null: nobody became a member.
 */
export async function joinBySignIn(ctx: Context, organization: Organization, visitor: Visitor): Promise<Membership | null> {
  const source = visitor.id === undefined ? null : await wayIn(ctx, organization, visitor);
  if (source === null) return null;
  return transaction(ctx, async (tx) => {
    const known = await findMembership(tx, organization.id, visitor.user_id);
    if (known || (await isRemovedMember(tx, organization.id, visitor.user_id))) return known;
    return addMember(tx, null, { organization, user: { id: visitor.user_id }, source });
  }).catch((error: unknown) => {
    // Another request of theirs was first.
    if (error instanceof Refusal && error.problems.some(({ status }) => status === 409))
      return findMembership(ctx, organization.id, visitor.user_id);
    throw error;
  });
}

/** Makes the person a member of all organizations that let them in by the way they came. */
export async function joinAllBySignIn(ctx: Context, visitor: Visitor): Promise<void> {
  if (visitor.id === undefined) return;
  const through = await organizationsOfConnections(ctx, visitor.connection_ids ?? []);
  const user = await findUser(ctx.scope, visitor.user_id);
  const managing = user && (await managingOrganization(ctx, user.email));
  for (const id of new Set([...through, ...(managing ? [managing.organization.id] : [])])) {
    const organization = await findOrganization(ctx, id);
    if (organization?.status === 'enabled') await joinBySignIn(ctx, organization, visitor);
  }
}

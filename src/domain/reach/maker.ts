import { listPermissionNamesOfMember, listPermissionNamesOfUser } from '../../db/tables/permissions.js';
import { findUser } from '../../db/tables/users.js';
import type { Context } from '../context.js';
import { organizationPermissions } from './management-permissions.js';
import { reachElsewhere } from './reach-of.js';
import { lackedBy, type Reach } from './reach.js';

/** What a person has made in an organization that goes on by itself, the permission that making it takes, and how far it reaches. */
type Made = { readonly maker_id: string; readonly organization_id: string; readonly permission: string; readonly reach: Reach };

/** Whether its maker may make it by now: by roles of the environment, or as a member of the organization (specification 16.5.8). */
export async function mayStillMake(ctx: Context, { maker_id, organization_id, permission, reach }: Made): Promise<boolean> {
  const { management_audience } = ctx.environment;
  if ((await findUser(ctx.scope, maker_id))?.status !== 'active') return false;
  const permissions = new Set(await listPermissionNamesOfUser(ctx.scope, maker_id, management_audience));
  const maker = { actor_kind: 'user', actor_id: maker_id, display: '', acts_in_full: true, permissions } as const;
  const holds = permissions.has(permission);
  if (holds && lackedBy({ permissions, elsewhere: await reachElsewhere(ctx, maker) }, reach).length === 0) return true;
  const held = await listPermissionNamesOfMember(ctx.scope, organization_id, maker_id, management_audience);
  const there = new Set(held.filter((name) => organizationPermissions.includes(name)));
  // Who acts for the organization doesn't need what speaking for its people takes of others.
  return there.has(permission) && lackedBy({ permissions: there, organization_id, reach: new Set(['users:write']) }, reach).length === 0;
}

import { findApiResourceByIdentifier } from '../../src/db/tables/api_resources.js';
import { listPermissionsOfResource } from '../../src/db/tables/permissions.js';
import { addRolePermissions, addUserRoles, insertRole } from '../../src/db/tables/roles.js';
import type { Context } from '../../src/domain/context.js';
import { uuidv7 } from '../../src/lib/random.js';
import { type Browser } from './browser.js';
import { addUser } from './data.js';
import type { TestService } from './service.js';
import { signedIn } from './signed-in.js';

/** Gives the user a role with exactly these Management permissions. */
export async function permit(ctx: Context, user_id: string, ...names: string[]): Promise<void> {
  const api = await findApiResourceByIdentifier(ctx.scope, ctx.environment.management_audience);
  const permissions = await listPermissionsOfResource(ctx.scope, api?.id ?? '');
  const now = ctx.clock.now();
  const role = await insertRole(ctx.scope, { id: uuidv7(now.getTime()), name: `role ${user_id}`, created_at: now, updated_at: now });
  const held = permissions.filter(({ name }) => names.includes(name)).map(({ id }) => id);
  await addRolePermissions(ctx.scope, role.id, held);
  await addUserRoles(ctx.scope, user_id, [role.id]);
}

/** Somebody with exactly these Management permissions, signed in. */
export async function signedInWith(service: TestService, ...names: string[]): Promise<Browser> {
  const ctx = await service.context();
  const user = await addUser(ctx);
  if (names.length > 0) await permit(ctx, user.id, ...names);
  return signedIn(service, user);
}

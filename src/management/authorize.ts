import { operationNames, recordDenial } from './audit.js';
import type { Call } from './call.js';
import { isStrongEnough } from '../domain/sessions/management-requirement.js';
import { insufficientAuthentication, insufficientScope } from './problems.js';
import { couldBeId } from './records.js';
import { permissionFor, type Resource } from './resource.js';

/** The id in an address as the audit log keeps it: null when it couldn't be one of the resource. */
export const targetIdOf = (resource: Resource, id: string): string | null => (couldBeId(resource, id) ? id : null);

/** @throws {ApiError} 403 `insufficient_scope` */
export function requirePermissions({ actor }: Pick<Call, 'actor'>, ...permissions: readonly string[]): void {
  if (permissions.some((one) => !actor.permissions.has(one))) throw insufficientScope([...new Set(permissions)]);
}

/** Requires the permission to read a resource, and others; a refusal is noted in the audit log. @throws {ApiError} 403 `insufficient_scope` */
export async function authorizeRead(call: Call, resource: Resource, id: string | null, ...others: readonly string[]): Promise<void> {
  const entry = { action: operationNames.read(), resource, target_id: id === null ? null : targetIdOf(resource, id) };
  await recordDenial(call, entry, async () => requirePermissions(call, permissionFor(resource, 'read'), ...others));
}

/** Requires of a person the class of sign-in that the environment demands of whoever writes. @throws {ApiError} 401 `insufficient_user_authentication` */
export function requireStrongSignIn(call: Call): void {
  if (!isStrongEnough(call.ctx, call.actor)) throw insufficientAuthentication(call.ctx.environment);
}

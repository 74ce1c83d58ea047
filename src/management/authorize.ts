import { operationNames, recordDenial } from './audit.js';
import type { Call } from './call.js';
import { isStrongEnough } from '../domain/sessions/management-demand.js';
import { insufficientAuthentication, insufficientScope } from './problems.js';
import { couldBeId } from './records.js';
import { permissionFor, type Resource } from './resource.js';

/** What an operation that writes is authorized with. */
export type AuthorizationOptions = {
  /** Collects the permissions that the write needed; without it the reach of actors who hold every permission isn't computed. */
  readonly needed?: Set<string> | undefined;
  /**
   * Called once the permissions of the address are there, before anything is looked up: reads the rest of the request. Hands back the call as
   * the operation goes on with it.
   */
  readonly authorized?: ((call: Call) => Promise<Call>) | undefined;
};

/** The id in an address as the audit log keeps it: null when it couldn't be one of the resource. */
export const targetIdOf = (resource: Resource, id: string): string | null => (couldBeId(resource, id) ? id : null);

/** @throws {ApiError} 403 `insufficient_scope` */
export function requirePermissions(call: Call, ...permissions: readonly string[]): void {
  if (permissions.some((one) => !call.actor.permissions.has(one))) throw insufficientScope([...new Set(permissions)]);
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

/**
 * Requires of a person who writes the class of sign-in that the environment demands, then the permission to write a resource, and others, and tells
 * `needed`. @throws {ApiError} 401 `insufficient_user_authentication`, 403 `insufficient_scope`
 */
export function requireForWrite(call: Call, resource: Resource, { needed }: AuthorizationOptions, others: readonly string[] = []): void {
  requireStrongSignIn(call);
  const permissions = [permissionFor(resource, 'write'), ...others];
  for (const one of permissions) needed?.add(one);
  requirePermissions(call, ...permissions);
}

/** The same as the first step of an operation: then `authorized` reads the rest of the request. @returns the call to go on with */
export async function authorizeWrite(
  call: Call,
  resource: Resource,
  options: AuthorizationOptions,
  others: readonly string[] = [],
): Promise<Call> {
  requireForWrite(call, resource, options, others);
  return (await options.authorized?.(call)) ?? call;
}

import { visibleRows } from '../db/lists/list-source.js';
import type { Call } from './call.js';
import { insufficientScope, pointerTo, refuse } from './problems.js';
import { permissionFor, type Relationship, type Resource, type ResourceRow } from './resource.js';

/** The organization that a record is of; null: none. */
export function organizationOfRecord({ organization }: Resource, row: ResourceRow): string | null {
  const id = organization?.column === undefined ? null : row[organization.column];
  return typeof id === 'string' ? id : null;
}

/** Refuses actors of an organization what is never one's, and the kinds of writes that they don't have. @throws {ApiError} 403 `insufficient_scope` */
export function requireWithin({ actor }: Call, resource: Resource, kind: string): void {
  if (!actor.organization_id) return;
  const rule = resource.organization;
  if (!rule || (rule.without as readonly string[] | undefined)?.includes(kind)) throw insufficientScope([permissionFor(resource, 'write')]);
}

/** Refuses actors of an organization another record where it has as many as one may make. @throws {ApiError} 409 `too_many` */
export async function requireRoom({ ctx, actor }: Call, { organization, source, path }: Resource): Promise<void> {
  const most = organization?.most;
  if (!actor.organization_id || most === undefined) return;
  const found = (await visibleRows(ctx.scope, source).limit(most)) as readonly unknown[];
  if (found.length >= most) throw refuse(409, 'too_many', `Your organization makes at most ${most} ${path}.`, pointerTo('data'));
}

/** The permissions to read what a relationship leads to; none where actors of an organization see it by the relationship alone. */
export function permissionsToFollow({ actor }: Call, relationship: Relationship, target: Resource): string[] {
  const open = Boolean(actor.organization_id) && relationship.kind === 'one' && relationship.openWithin === true;
  return open ? [] : [permissionFor(target, 'read')];
}

/** Refuses actors of an organization what a relationship leads to, where that is never an organization's. @throws {ApiError} 403 `insufficient_scope` */
export function requireFollowed({ actor }: Call, target: Resource): void {
  if (actor.organization_id && !target.organization) throw insufficientScope([permissionFor(target, 'read')]);
}

export function shownTo({ actor }: Pick<Call, 'actor'>, { organization, attributes }: Resource): readonly string[] {
  const names = Object.keys(attributes.shape);
  const shown = actor.organization_id ? organization?.shows : undefined;
  return shown ? names.filter((name) => shown.includes(name)) : names;
}

type Linked = { readonly type: string; readonly id: string };

/** What was sent, as far as it is looked at here. */
type Sendable = {
  readonly attributes: Readonly<Record<string, unknown>> | undefined;
  readonly relationships: Readonly<Record<string, Linked | null | readonly Linked[]>>;
};

/**
 * What an actor of an organization sends: a new record is the organization's, whether or not the document says so, and what isn't theirs to set is refused.
 * @throws {ApiError} 403 `attribute_read_only`, 404 `related_not_found`
 */
export function ownInput<Sent extends Sendable>(
  { actor: { organization_id } }: Call,
  resource: Resource,
  input: Sent,
  creating: boolean,
): Sent {
  const rule = resource.organization;
  if (!organization_id || !rule) return input;
  const fixed = Object.keys(input.attributes ?? {}).find((name) => rule.fixed?.includes(name));
  if (fixed !== undefined)
    throw refuse(403, 'attribute_read_only', 'Administrators of the environment set this.', pointerTo('data', 'attributes', fixed));
  const relationship = resource.relationships['organization'];
  if (!creating || relationship?.kind !== 'one') return input;
  const named = input.relationships['organization'];
  if (named === null)
    throw refuse(
      404,
      'related_not_found',
      'Your records are your organization’s.',
      pointerTo('data', 'relationships', 'organization', 'data'),
    );
  return { ...input, relationships: { ...input.relationships, organization: named ?? { type: relationship.to, id: organization_id } } };
}

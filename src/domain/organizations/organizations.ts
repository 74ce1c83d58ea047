import { newStamps } from '../../db/records.js';
import {
  addDefaultRolesOfOrganization,
  listDefaultRolesOfOrganization,
  removeDefaultRolesOfOrganization,
} from '../../db/tables/organization_default_roles.js';
import {
  deleteOrganization, findOrganizationById, findOrganizationByName, insertOrganization, updateOrganization, type OrganizationRow,
} from '../../db/tables/organizations.js'; // prettier-ignore
import { countActiveMembers } from '../../db/tables/organization_memberships.js';
import type { RoleRow } from '../../db/tables/roles.js';
import { isUuid } from '../../lib/random.js';
import type { Actor } from '../actor.js';
import { linkDifferences, previousAttributes, type LinkChange } from '../changes.js';
import { remembered, type Context } from '../context.js';
import { actorData } from '../events/data.js';
import { emit } from '../events/emit.js';
import { type Problem, Refusal, refuseDuplicates, unfit } from '../refusal.js';
import { requireOrganizationRoles } from '../roles/role-kinds.js';

export type Organization = OrganizationRow;

/** What can be set. `logo_url` and `primary_color` are members of `branding`, by themselves. */
export type OrganizationInput = Partial<
  Pick<
    OrganizationRow,
    | 'name' | 'display_name' | 'external_id' | 'status' | 'auto_membership' | 'require_sso' | 'branding' | 'required_acr' | 'max_authentication_age' | 'metadata'
  >
> & { logo_url?: string | null; primary_color?: string | null }; // prettier-ignore

const duplicates = {
  organizations_environment_id_name_key: { attribute: 'name', detail: 'There is an organization of this name already.' },
  organizations_environment_id_external_id_key: {
    attribute: 'external_id',
    detail: 'There is an organization with this external id already.',
  },
};

/** The word that asks for the chooser at the authorization endpoint. */
export const chooserWord = 'choose';

/** The organization of the id or name, remembered until it changes; disabled ones too. */
export async function findOrganization(ctx: Context, idOrName: string): Promise<Organization | null> {
  if (isUuid(idOrName))
    return remembered(ctx, 'organizations', idOrName, ({ scope }) => findOrganizationById(scope, idOrName.toLowerCase()));
  if (!/^[a-z0-9-]{2,63}$/.test(idOrName)) return null;
  return remembered(ctx, 'organizations', `name ${idOrName}`, ({ scope }) => findOrganizationByName(scope, idOrName));
}

/** What a name must not be beside its shape. */
export const organizationNameProblems = ({ name }: Pick<OrganizationInput, 'name'>): Problem[] =>
  name !== undefined && (name === chooserWord || isUuid(name))
    ? [unfit('name', 'reserved_name', `"${name}" is not the name of an organization.`)]
    : [];

function columnsOf({ logo_url, primary_color, ...columns }: OrganizationInput, before: OrganizationRow | null): Partial<OrganizationRow> {
  if (logo_url === undefined && primary_color === undefined) return columns;
  const branding = { ...(columns.branding ?? before?.branding), ...(logo_url !== undefined && { logo_url }), ...(primary_color !== undefined && { primary_color }) }; // prettier-ignore
  return { ...columns, branding };
}

function organizationData(row: OrganizationRow) {
  const { id, name, display_name, external_id, status, auto_membership, require_sso, metadata } = row;
  const times = { created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
  return { id, name, display_name, external_id, status, auto_membership, require_sso, metadata, ...times };
}

/** Makes an organization; emits `organization.created`. @throws {Refusal} 409, 422 `wrong_role_kind` */
export async function createOrganization(
  tx: Context,
  actor: Actor,
  input: OrganizationInput,
  default_roles: readonly RoleRow[],
): Promise<OrganizationRow> {
  requireOrganizationRoles(default_roles, 'default_roles');
  const stamps = newStamps(tx.clock.now());
  const row = await refuseDuplicates(duplicates, () => insertOrganization(tx.scope, { ...columnsOf(input, null), ...stamps }));
  await addDefaultRolesOfOrganization(tx.scope, row.id, default_roles.map(({ id }) => id)); // prettier-ignore
  await emit(tx, 'organization.created', { ...organizationData(row), created_by: actorData(actor) });
  return row;
}

/** Changes an organization and, when given, the roles of new members; emits `organization.updated`. @throws {Refusal} 404, 409, 422 */
export async function changeOrganization(
  tx: Context,
  row: OrganizationRow,
  input: OrganizationInput,
  roles: LinkChange<RoleRow> = {},
): Promise<OrganizationRow> {
  const requested = [...(roles.add ?? []), ...(roles.replace ?? [])];
  requireOrganizationRoles(requested, 'default_roles');
  const held = await listDefaultRolesOfOrganization(tx.scope, row.id);
  const { added, removed } = linkDifferences(held.map(({ id }) => id), roles); // prettier-ignore
  if (added.length > 0) await addDefaultRolesOfOrganization(tx.scope, row.id, added);
  if (removed.length > 0) await removeDefaultRolesOfOrganization(tx.scope, row.id, removed);
  const changes = { ...columnsOf(input, row), updated_at: tx.clock.now() };
  const changed = await refuseDuplicates(duplicates, () => updateOrganization(tx.scope, row.id, changes));
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such organization.' });
  const after = organizationData(changed);
  const previous_attributes = previousAttributes(organizationData(row), after);
  if (Object.keys(previous_attributes).length > 0) await emit(tx, 'organization.updated', { ...after, previous_attributes });
  return changed;
}

/** Deletes an organization with what is its own, never its people; emits `organization.deleted`. @throws {Refusal} 409 `not_empty` */
export async function removeOrganization(tx: Context, actor: Actor, row: OrganizationRow): Promise<void> {
  const members = row.status === 'enabled' ? await countActiveMembers(tx.scope, row.id) : 0;
  if (members > 0) {
    const detail = `${members === 1 ? '1 person is an active member' : `${members} people are active members`}. Disable the organization first.`;
    throw new Refusal({ status: 409, code: 'not_empty', detail, meta: { member_count: members } });
  }
  await deleteOrganization(tx.scope, row.id);
  const { id, name, display_name, external_id } = row;
  const deleted_at = tx.clock.now().toISOString();
  await emit(tx, 'organization.deleted', { id, name, display_name, external_id, deleted_by: actorData(actor), deleted_at });
}

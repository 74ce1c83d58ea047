import { newStamps } from '../../db/records.js';
import {
  addGroupRoles, changeGroupMembers, deleteGroup, insertGroup, listRoleIdsOfGroup, lockGroup, removeGroupRoles, updateGroup, type OrganizationGroupRow,
} from '../../db/tables/organization_groups.js'; // prettier-ignore
import type { RoleRow } from '../../db/tables/roles.js';
import { isUuid } from '../../lib/random.js';
import { recordSecurityEvent } from '../audit/security-trail.js';
import { linkDifferences, type LinkChange } from '../changes.js';
import type { Context } from '../context.js';
import { noOrigin } from '../origin.js';
import { Refusal, refuseDuplicates, unfit } from '../refusal.js';
import { requireOrganizationRoles } from '../roles/role-kinds.js';
import type { Teller } from './people.js';

export type OrganizationGroup = OrganizationGroupRow;

export type GroupInput = { readonly display_name: string; readonly external_id: string | null };

/** Who comes into a group and who goes, by ids of directory users; `replace`: whoever isn't among `add` goes. */
export type MemberChange = { readonly replace: boolean; readonly add: readonly string[]; readonly remove: readonly string[] };

const duplicates = {
  organization_groups_environment_id_directory_id_external_id_key: {
    attribute: 'externalId',
    detail: 'There is a Group of this externalId already.',
  },
};

const rowOf = ({ display_name, external_id }: GroupInput) => ({ display_name, display_name_key: display_name.toLowerCase(), external_id });

const gone = () => new Refusal({ status: 404, code: 'not_found', detail: 'There is no such Group.' });

async function record(
  tx: Context,
  { actor, directory }: Teller,
  group: OrganizationGroupRow,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  const target = { target_type: 'organization_group', target_id: group.id, display: group.display_name };
  const about = { actor, target, origin: actor.origin ?? noOrigin };
  await recordSecurityEvent(tx, 'directory.group_changed', { ...about, detail: { directory_id: directory.id, ...detail } });
}

/** @throws {Refusal} 422 for members that the directory doesn't have */
async function changeMembers(tx: Context, group: OrganizationGroupRow, change: MemberChange) {
  const add = [...new Set(change.add)];
  const unknown = () => new Refusal(unfit('members', 'related_not_found', 'A member is no User of this directory.'));
  if (!add.every(isUuid)) throw unknown();
  const changed = await changeGroupMembers(tx.scope, group, { ...change, add, remove: change.remove.filter(isUuid) });
  if (changed.known < add.length) throw unknown();
  return changed;
}

/** Takes in a group that a directory tells of; it gives no role until an administrator says so. @throws {Refusal} 409, 422 */
export async function createGroup(tx: Context, teller: Teller, input: GroupInput, members: readonly string[]): Promise<OrganizationGroup> {
  const { directory, organization } = teller;
  const stamps = { directory_id: directory.id, organization_id: organization.id, ...newStamps(tx.clock.now()) };
  const group = await refuseDuplicates(duplicates, () => insertGroup(tx.scope, { ...rowOf(input), ...stamps }));
  const { added } = members.length > 0 ? await changeMembers(tx, group, { replace: false, add: members, remove: [] }) : { added: 0 };
  await record(tx, teller, group, { change: 'created', members_added: added });
  return group;
}

/** Changes a group as the directory says; null where nothing concerns its members. @throws {Refusal} 404, 409, 422 */
export async function changeGroup(
  tx: Context,
  teller: Teller,
  before: OrganizationGroupRow,
  input: GroupInput,
  change: MemberChange | null,
): Promise<OrganizationGroup> {
  const moved = change ? await changeMembers(tx, before, change) : { added: 0, removed: 0 };
  const isSame = input.display_name === before.display_name && input.external_id === before.external_id;
  if (isSame && moved.added + moved.removed === 0) return before;
  const group = await refuseDuplicates(duplicates, () => updateGroup(tx.scope, before.id, { ...rowOf(input), updated_at: tx.clock.now() }));
  if (!group) throw gone();
  await record(tx, teller, group, { change: 'updated', members_added: moved.added, members_removed: moved.removed });
  return group;
}

export async function removeGroup(tx: Context, teller: Teller, group: OrganizationGroupRow): Promise<void> {
  await deleteGroup(tx.scope, group.id);
  await record(tx, teller, group, { change: 'deleted' });
}

/** The group of the id, held until the transaction ends. @throws {Refusal} 404 */
export async function holdGroup(tx: Context, { directory }: Teller, id: string): Promise<OrganizationGroup> {
  const group = await lockGroup(tx.scope, directory.id, id);
  if (!group) throw gone();
  return group;
}

/** Says which roles the members of a group have. @throws {Refusal} 404, 422 `wrong_role_kind` */
export async function changeGroupRoles(tx: Context, group: OrganizationGroupRow, change: LinkChange<RoleRow>): Promise<OrganizationGroup> {
  requireOrganizationRoles([...(change.add ?? []), ...(change.replace ?? [])]);
  const { added, removed } = linkDifferences(await listRoleIdsOfGroup(tx.scope, group.id), change);
  if (added.length + removed.length === 0) return group;
  if (added.length > 0) await addGroupRoles(tx.scope, group.id, added);
  if (removed.length > 0) await removeGroupRoles(tx.scope, group.id, removed);
  const changed = await updateGroup(tx.scope, group.id, { updated_at: tx.clock.now() });
  if (!changed) throw gone();
  return changed;
}

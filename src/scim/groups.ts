import { findGroup, findGroups, listMembersOfGroups, type OrganizationGroupRow } from '../db/tables/organization_groups.js';
import type { DirectoryCondition } from '../db/lists/directory-filter.js';
import { transaction } from '../domain/context.js';
import { changeGroup, createGroup, holdGroup, removeGroup, type GroupInput, type MemberChange } from '../domain/directories/groups.js';
import { ScimError } from '../errors.js';
import { isUuid } from '../lib/random.js';
import { weakTag, emptyReply, requireMatch, resourceReply, type ScimCall, type ScimOperation } from './call.js';
import { memberChangeOf, membersIn, otherOperations } from './group-members.js';
import { applyOperations, readOperations } from './patch.js';
import { keyText, readResource, requiredText, type ScimValues } from './read-values.js';
import { groupResource, project, shows } from './render.js';
import { groupType } from './schemas.js';
import { mostShown, tooManyShown } from './users.js';

const notFound = () => new ScimError(404, null, 'There is no such Group.');

/** The groups as the answer shows them. @throws {ScimError} 400 `tooMany` */
async function rendered({ ctx, base, query }: ScimCall, rows: readonly OrganizationGroupRow[]): Promise<ScimValues[]> {
  const ids = rows.map(({ id }) => id);
  const isShown = shows(groupType, 'members', query);
  const members = ids.length > 0 && isShown ? await listMembersOfGroups(ctx.scope, ids, mostShown + 1) : [];
  if (members.length > mostShown) throw tooManyShown('members');
  const of = (id: string) => (isShown ? members.filter(({ group_id }) => group_id === id) : null);
  return rows.map((row) => project(groupType, groupResource(base, row, of(row.id)), query));
}

const one = async (call: ScimCall, row: OrganizationGroupRow): Promise<ScimValues> => (await rendered(call, [row]))[0] as ScimValues;

export async function searchGroups(call: ScimCall, condition: DirectoryCondition | null, page: { offset: number; limit: number }) {
  const { rows, total } = await findGroups(call.ctx.scope, call.teller.directory.id, condition, page);
  return { resources: await rendered(call, rows), total };
}

/** @throws {ScimError} 400 */
const inputOf = (values: ScimValues): GroupInput => ({
  display_name: requiredText(values, 'displayName'),
  external_id: keyText(values, 'externalId'),
});

const valuesOf = ({ display_name, external_id }: OrganizationGroupRow): ScimValues => ({
  displayName: display_name,
  ...(external_id !== null && { externalId: external_id }),
});

const idOf = ({ req }: ScimCall): string => {
  const { id } = req.params;
  if (typeof id !== 'string' || !isUuid(id)) throw notFound();
  return id;
};

export const readScimGroup: ScimOperation = async (call) => {
  const row = await findGroup(call.ctx.scope, call.teller.directory.id, idOf(call));
  if (!row) throw notFound();
  return resourceReply(call.req, row, await one(call, row));
};

export const createScimGroup: ScimOperation = async (call) => {
  const input = inputOf(readResource(groupType, call.body));
  const members = membersIn(call.body);
  const row = await transaction(call.ctx, (tx) => createGroup(tx, call.teller, input, members));
  const headers = { ETag: weakTag(row), Location: `${call.base}/${groupType.path}/${row.id}` };
  return { status: 201, body: await one(call, row), headers };
};

type Next = (row: OrganizationGroupRow) => { readonly input: GroupInput; readonly members: MemberChange | null };

async function change(call: ScimCall, next: Next): Promise<OrganizationGroupRow> {
  const id = idOf(call);
  return transaction(call.ctx, async (tx) => {
    const held = await holdGroup(tx, call.teller, id);
    requireMatch(call.req, held);
    const { input, members } = next(held);
    return changeGroup(tx, call.teller, held, input, members);
  });
}

export const replaceScimGroup: ScimOperation = async (call) => {
  const input = inputOf(readResource(groupType, call.body));
  const members = { replace: true, add: membersIn(call.body), remove: [] };
  const row = await change(call, () => ({ input, members }));
  return { status: 200, body: await one(call, row), headers: { ETag: weakTag(row) } };
};

/** The members of a group may be very many: the answer shows the group where it is asked for attributes (RFC 7644 3.5.2), and nothing else. */
export const patchScimGroup: ScimOperation = async (call) => {
  const operations = readOperations(groupType, call.body);
  const members = memberChangeOf(operations);
  const others = otherOperations(operations);
  const row = await change(call, (held) => ({ input: inputOf(applyOperations(groupType, valuesOf(held), others, held.id)), members }));
  const headers = { ETag: weakTag(row) };
  return call.query.attributes.length > 0 ? { status: 200, body: await one(call, row), headers } : { ...emptyReply, headers };
};

export const deleteScimGroup: ScimOperation = async (call) => {
  const id = idOf(call);
  await transaction(call.ctx, async (tx) => {
    const row = await holdGroup(tx, call.teller, id);
    requireMatch(call.req, row);
    await removeGroup(tx, call.teller, row);
  });
  return emptyReply;
};

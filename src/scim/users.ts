import { findDirectoryUser, findDirectoryUsers, listGroupsOfUsers, type DirectoryUserRow } from '../db/tables/directory_users.js';
import type { DirectoryCondition } from '../db/lists/directory-filter.js';
import { transaction } from '../domain/context.js';
import { changeDirectoryUser, holdDirectoryUser, provisionUser, removeDirectoryUser } from '../domain/directories/people.js';
import type { DirectoryPerson } from '../domain/directories/person.js';
import { ScimError } from '../errors.js';
import { isUuid } from '../lib/random.js';
import { weakTag, emptyReply, requireMatch, resourceReply, type ScimCall, type ScimOperation } from './call.js';
import { applyOperations, readOperations } from './patch.js';
import { fitting, keyText, readResource, requiredText, type ScimValues } from './read-values.js';
import { project, shows, userResource } from './render.js';
import { userType } from './schemas.js';

/** Memberships that one answer shows at most, of people or groups. */
export const mostShown = 20_000;

export const tooManyShown = (name: string) =>
  new ScimError(400, 'tooMany', `There are too many ${name} for one answer: ask with excludedAttributes=${name}.`);

const notFound = () => new ScimError(404, null, 'There is no such User.');

/** The people as the answer shows them. @throws {ScimError} 400 `tooMany` */
async function rendered({ ctx, base, query }: ScimCall, rows: readonly DirectoryUserRow[]): Promise<ScimValues[]> {
  const ids = rows.map(({ id }) => id);
  const groups = ids.length > 0 && shows(userType, 'groups', query) ? await listGroupsOfUsers(ctx.scope, ids, mostShown + 1) : [];
  if (groups.length > mostShown) throw tooManyShown('groups');
  const of = (id: string) => groups.filter((one) => one.directory_user_id === id);
  return rows.map((row) => project(userType, userResource(base, row, of(row.id)), query));
}

const one = async (call: ScimCall, row: DirectoryUserRow): Promise<ScimValues> => (await rendered(call, [row]))[0] as ScimValues;

/** A page of the people who fit; `skip` says how many before. */
export async function searchUsers(call: ScimCall, condition: DirectoryCondition | null, page: { offset: number; limit: number }) {
  const { rows, total } = await findDirectoryUsers(call.ctx.scope, call.teller.directory.id, condition, page);
  return { resources: await rendered(call, rows), total };
}

/** What a resource says of the person. @throws {ScimError} 400 */
function personOf(values: ScimValues, active: boolean): DirectoryPerson {
  const { userName: _name, externalId: _externalId, active: given, ...resource } = fitting(values);
  return {
    user_name: requiredText(values, 'userName'),
    external_id: keyText(values, 'externalId'),
    active: typeof given === 'boolean' ? given : active,
    resource,
  };
}

const valuesOf = ({ user_name, external_id, active, resource }: DirectoryUserRow): ScimValues => ({
  ...resource,
  userName: user_name,
  active,
  ...(external_id !== null && { externalId: external_id }),
});

const idOf = ({ req }: ScimCall): string => {
  const { id } = req.params;
  if (typeof id !== 'string' || !isUuid(id)) throw notFound();
  return id;
};

export const readScimUser: ScimOperation = async (call) => {
  const row = await findDirectoryUser(call.ctx.scope, call.teller.directory.id, idOf(call));
  if (!row) throw notFound();
  return resourceReply(call.req, row, await one(call, row));
};

export const createScimUser: ScimOperation = async (call) => {
  const person = personOf(readResource(userType, call.body), true);
  const row = await transaction(call.ctx, (tx) => provisionUser(tx, call.teller, person));
  const headers = { ETag: weakTag(row), Location: `${call.base}/${userType.path}/${row.id}` };
  return { status: 201, body: await one(call, row), headers };
};

/** Changes the person that is held meanwhile to what `next` makes of them. */
async function change(call: ScimCall, next: (row: DirectoryUserRow) => DirectoryPerson) {
  const id = idOf(call);
  const row = await transaction(call.ctx, async (tx) => {
    const held = await holdDirectoryUser(tx, call.teller, id);
    requireMatch(call.req, held);
    return changeDirectoryUser(tx, call.teller, held, next(held));
  });
  return { status: 200, body: await one(call, row), headers: { ETag: weakTag(row) } };
}

export const replaceScimUser: ScimOperation = (call) => {
  const values = readResource(userType, call.body);
  return change(call, ({ active }) => personOf(values, active));
};

export const patchScimUser: ScimOperation = (call) => {
  const operations = readOperations(userType, call.body);
  return change(call, (row) => personOf(applyOperations(userType, valuesOf(row), operations, row.id), row.active));
};

export const deleteScimUser: ScimOperation = async (call) => {
  const id = idOf(call);
  await transaction(call.ctx, async (tx) => {
    const row = await holdDirectoryUser(tx, call.teller, id);
    requireMatch(call.req, row);
    await removeDirectoryUser(tx, call.teller, row);
  });
  return emptyReply;
};

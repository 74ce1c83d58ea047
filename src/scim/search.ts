import type { DirectoryCondition } from '../db/lists/directory-filter.js';
import { ScimError } from '../errors.js';
import type { ScimCall, ScimOperation } from './call.js';
import { compileFilter } from './filter.js';
import { searchGroups } from './groups.js';
import { readScimQuery } from './list-query.js';
import { listResponse } from './render.js';
import { groupType, userType, type ResourceType } from './schemas.js';
import { searchUsers } from './users.js';

type Search = typeof searchUsers;

const kinds: readonly { readonly type: ResourceType; readonly search: Search }[] = [
  { type: userType, search: searchUsers },
  { type: groupType, search: searchGroups },
];

async function list(call: ScimCall, { type, search }: (typeof kinds)[number]) {
  const { filter, start_index, count } = call.query;
  const condition = filter === null ? null : compileFilter(type, filter);
  const { resources, total } = await search(call, condition, { offset: start_index - 1, limit: count });
  return { status: 200, body: listResponse(resources, total, start_index) };
}

const [users, groups] = kinds as [(typeof kinds)[number], (typeof kinds)[number]];

export const listUsers: ScimOperation = (call) => list(call, users);
export const listGroups: ScimOperation = (call) => list(call, groups);

/** The same by POST (RFC 7644 3.4.3), whose body says what a query would. */
const searched = (call: ScimCall): ScimCall => ({ ...call, query: readScimQuery(call.body) });

export const searchInUsers: ScimOperation = (call) => list(searched(call), users);
export const searchInGroups: ScimOperation = (call) => list(searched(call), groups);

/** The filter for each kind that has the attributes it names. @throws {ScimError} 400 where none has */
function conditionsOf(filter: string | null): readonly (DirectoryCondition | null | undefined)[] {
  if (filter === null) return kinds.map(() => null);
  let refusal: unknown = null;
  const conditions = kinds.map(({ type }) => {
    try {
      return compileFilter(type, filter);
    } catch (error) {
      if (!(error instanceof ScimError)) throw error;
      refusal = error;
      return undefined;
    }
  });
  if (conditions.every((one) => one === undefined)) throw refusal;
  return conditions;
}

/** A search in all that the directory has: people, then groups. */
export const searchAll: ScimOperation = async (sent) => {
  const call = searched(sent);
  const { filter, start_index, count } = call.query;
  const conditions = conditionsOf(filter);
  const found = { resources: [] as Awaited<ReturnType<Search>>['resources'], total: 0 };
  for (const [at, { search }] of kinds.entries()) {
    const condition = conditions[at];
    if (condition === undefined) continue;
    const page = { offset: Math.max(start_index - 1 - found.total, 0), limit: count - found.resources.length };
    const { resources, total } = await search(call, condition, page);
    found.resources.push(...resources);
    found.total += total;
  }
  return { status: 200, body: listResponse(found.resources, found.total, start_index) };
};

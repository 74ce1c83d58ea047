import type { DirectoryCondition } from '../db/lists/directory-filter.js';
import { ScimError } from '../errors.js';
import type { MemberChange } from '../domain/directories/groups.js';
import { findAttribute } from './attribute-paths.js';
import { compileElementFilter } from './filter.js';
import type { PatchOperation } from './patch.js';
import { isComplex, isUnassigned, memberOf, type ScimValues } from './read-values.js';
import { groupType } from './schemas.js';

const maxMembers = 10_000;

const refuse = (detail: string) => new ScimError(400, 'invalidValue', detail);

/** The ids of members as a request lists them. @throws {ScimError} 400 */
function memberIds(value: unknown): string[] {
  if (isUnassigned(value)) return [];
  const list = Array.isArray(value) ? (value as unknown[]) : [value];
  if (list.length > maxMembers) throw new ScimError(400, 'tooMany', `A request names at most ${maxMembers} members.`);
  return list.map((one) => {
    const id = isComplex(one) ? memberOf(one, 'value') : one;
    if (typeof id !== 'string') throw refuse('A member must have a value, which is the id of a User.');
    return id;
  });
}

/** Whom a path such as `members[value eq "..."]` chooses. @throws {ScimError} 400 `invalidFilter` */
function chosen(condition: DirectoryCondition): string[] {
  if (condition.kind === 'member' && condition.id !== null) return [condition.id];
  if (condition.kind === 'or') return condition.of.flatMap(chosen);
  throw new ScimError(400, 'invalidFilter', 'Members are chosen by value eq and an id.');
}

const isMembers = ({ path }: PatchOperation) => findAttribute(groupType, path.name)?.keys[0] === 'members';

/** The change of members that the operations amount to, one after the other; null where none concerns members. @throws {ScimError} 400 */
export function memberChangeOf(operations: readonly PatchOperation[]): MemberChange | null {
  const concerned = operations.filter(isMembers);
  if (concerned.length === 0) return null;
  let replace = false;
  const add = new Set<string>();
  const remove = new Set<string>();
  for (const { op, path, value } of concerned) {
    const ids = path.filter === null ? memberIds(value) : chosen(compileElementFilter(groupType, 'members', path.filter));
    // Removed without a value all of them go (RFC 7644 3.5.2.2); Entra lists those who do.
    if (path.filter === null && (op === 'replace' || (op === 'remove' && value === null))) {
      replace = true;
      add.clear();
      remove.clear();
    }
    for (const id of ids) {
      (op === 'remove' ? add : remove).delete(id);
      (op === 'remove' ? remove : add).add(id);
    }
  }
  if (add.size + remove.size > maxMembers) throw new ScimError(400, 'tooMany', `A request names at most ${maxMembers} members.`);
  return { replace, add: [...add], remove: [...remove] };
}

/** The operations that don't concern members. */
export const otherOperations = (operations: readonly PatchOperation[]): PatchOperation[] => operations.filter((one) => !isMembers(one));

/** The members of a resource that a request bears. @throws {ScimError} 400 */
export const membersIn = (body: ScimValues): string[] => memberIds(memberOf(body, 'members'));

import type { GroupMember, OrganizationGroupRow } from '../db/tables/organization_groups.js';
import type { DirectoryUserRow, GroupOfUser } from '../db/tables/directory_users.js';
import { findAttribute, isUrn } from './attribute-paths.js';
import { weakTag } from './call.js';
import type { ScimQuery } from './list-query.js';
import { isComplex, type ScimValues } from './read-values.js';
import { enterpriseSchema, groupType, userType, type ResourceType } from './schemas.js';

type Row = { readonly id: string; readonly version: number; readonly created_at: Date; readonly updated_at: Date };

const metaOf = (base: string, { name, path }: ResourceType, row: Row) => ({
  resourceType: name,
  created: row.created_at.toISOString(),
  lastModified: row.updated_at.toISOString(),
  location: `${base}/${path}/${row.id}`,
  version: weakTag(row),
});

/** A person as SCIM shows them. */
export function userResource(base: string, row: DirectoryUserRow, groups: readonly GroupOfUser[]): ScimValues {
  const extended = row.resource[enterpriseSchema.id];
  return {
    schemas: [userType.schema.id, ...(extended === undefined ? [] : [enterpriseSchema.id])],
    id: row.id,
    ...(row.external_id !== null && { externalId: row.external_id }),
    userName: row.user_name,
    active: row.active,
    ...row.resource,
    ...(groups.length > 0 && {
      groups: groups.map(({ id, display_name }) => ({ value: id, $ref: `${base}/Groups/${id}`, display: display_name, type: 'direct' })),
    }),
    meta: metaOf(base, userType, row),
  };
}

/** A group as SCIM shows it; `members` null where they are not asked for. */
export const groupResource = (base: string, row: OrganizationGroupRow, members: readonly GroupMember[] | null): ScimValues => ({
  schemas: [groupType.schema.id],
  id: row.id,
  ...(row.external_id !== null && { externalId: row.external_id }),
  displayName: row.display_name,
  ...(members && { members: members.map(({ id }) => ({ value: id, $ref: `${base}/Users/${id}`, type: 'User' })) }),
  meta: metaOf(base, groupType, row),
});

/** The keys that the names lead to; names of nothing are passed over (RFC 7644 3.9). */
const keysOf = (type: ResourceType, names: readonly string[]): (readonly string[])[] =>
  names.flatMap((name) => {
    const found = findAttribute(type, name);
    if (found) return [found.keys];
    return isUrn(name, enterpriseSchema.id) ? [[enterpriseSchema.id]] : [];
  });

const leads = (keys: readonly string[], name: string) => keys[0] === name;

/** The value with those parts alone that the keys name, or without them. */
function portion(value: unknown, paths: readonly (readonly string[])[], keep: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => portion(one, paths, keep));
  if (!isComplex(value)) return value;
  return choose(value, paths, keep, []);
}

function choose(values: ScimValues, paths: readonly (readonly string[])[], keep: boolean, always: readonly string[]): ScimValues {
  const chosen = Object.entries(values).flatMap(([name, value]): [string, unknown][] => {
    const concerned = paths.filter((keys) => leads(keys, name));
    const whole = concerned.some((keys) => keys.length === 1);
    if (always.includes(name) || (whole === keep && (whole || concerned.length === 0))) return [[name, value]];
    if (whole || concerned.length === 0) return [];
    return [[name, portion(value, concerned.map((keys) => keys.slice(1)), keep)]]; // prettier-ignore
  });
  return Object.fromEntries(chosen);
}

const always: readonly string[] = ['schemas', 'id'];

/** Whether an answer shows the attribute, so that what isn't shown isn't read either. */
export function shows(type: ResourceType, name: string, { attributes, excluded }: ScimQuery): boolean {
  if (attributes.length > 0) return keysOf(type, attributes).some((keys) => leads(keys, name));
  return !keysOf(type, excluded).some((keys) => keys.length === 1 && leads(keys, name));
}

/** The resource with what `attributes` and `excludedAttributes` leave of it (RFC 7644 3.9). */
export function project(type: ResourceType, resource: ScimValues, { attributes, excluded }: ScimQuery): ScimValues {
  if (attributes.length > 0) return choose(resource, keysOf(type, attributes), true, always);
  return excluded.length > 0 ? choose(resource, keysOf(type, excluded), false, always) : resource;
}

/** A page of a list (RFC 7644 3.4.2). */
export const listResponse = (resources: readonly ScimValues[], total: number, start_index: number): ScimValues => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults: total,
  startIndex: start_index,
  itemsPerPage: resources.length,
  Resources: resources,
});

import { commonAttributes, type Attribute, type ResourceType } from './schemas.js';

/** An attribute that a name or path means. `keys` lead to it in a resource as it is kept; `of`: the attribute that it is part of. */
export type FoundAttribute = { readonly attribute: Attribute; readonly of: Attribute | null; readonly keys: readonly string[] };

const named = (attributes: readonly Attribute[], name: string): Attribute | undefined =>
  attributes.find((one) => one.name.toLowerCase() === name.toLowerCase());

/** Whether the text is the URN of a schema; URNs are compared in any case (RFC 8141 3.1). */
export const isUrn = (text: string, urn: string): boolean => text.toLowerCase() === urn.toLowerCase();

function findIn(attributes: readonly Attribute[], name: string, before: readonly string[]): FoundAttribute | null {
  const [first = '', second, third] = name.split('.');
  const attribute = third === undefined ? named(attributes, first) : undefined;
  if (!attribute) return null;
  if (second === undefined) return { attribute, of: null, keys: [...before, attribute.name] };
  const sub = named(attribute.subAttributes ?? [], second);
  return sub ? { attribute: sub, of: attribute, keys: [...before, attribute.name, sub.name] } : null;
}

/**
 * The attribute of a name such as `userName`, `name.givenName` or `urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department` (RFC 7644 3.10),
 * in any case; null for one that the schemas don't have.
 */
export function findAttribute({ schema, extension }: ResourceType, name: string): FoundAttribute | null {
  for (const known of extension ? [extension, schema] : [schema]) {
    if (!isUrn(name.slice(0, known.id.length), known.id) || name[known.id.length] !== ':') continue;
    return findIn(known.attributes, name.slice(known.id.length + 1), known === extension ? [known.id] : []);
  }
  return findIn([...commonAttributes, ...schema.attributes], name, []);
}

/** A path of PATCH (RFC 7644 3.5.2): an attribute, which of its values, and a part of these. */
export type PatchPath = { readonly name: string; readonly filter: string | null; readonly sub: string | null };

const pathSyntax = /^((?:urn:[\w.:-]+:)?[a-z][\w$-]*(?:\.[\w$-]+)?)(?:\[(.+)\](?:\.([\w$-]+))?)?$/is;

/** The parts of a path; null for what is none. */
export function parsePath(path: string): PatchPath | null {
  const [, name, filter, sub] = pathSyntax.exec(path.trim()) ?? [];
  return name === undefined ? null : { name, filter: filter ?? null, sub: sub ?? null };
}

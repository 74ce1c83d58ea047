import { z } from 'zod';
import type { Source } from '../db/lists/list-source.js';
import type { Touch } from '../domain/reach/reach.js';
import { named } from '../lib/named.js';
import { stampSorts } from './fields.js';
import type { Create, Definition, ReachOf, Relationship, Resource, ToOne, Update } from './resource.js';

/**
 * An attribute that can be set: what a change of it means for reach, and its schema. A creation may have it, and a change, unless the third says
 * otherwise: `needed` by a creation; `fixed` from then on, or both; `later` by a change alone.
 */
export type Settable = readonly [touch: Touch, schema: z.ZodType, when?: 'needed' | 'fixed' | 'needed and fixed' | 'later'];

/** What an answer shows of an attribute that can be set: its kind of value, without the limits of what is set now. */
function shownAs(schema: z.ZodType): z.ZodType {
  const text = schema.description;
  const bare =
    schema instanceof z.ZodNullable
      ? shownAs(schema.unwrap() as z.ZodType).nullable()
      : schema instanceof z.ZodArray
        ? z.array(shownAs(schema.element as z.ZodType))
        : schema instanceof z.ZodString
          ? z.string()
          : schema instanceof z.ZodNumber
            ? z.int()
            : schema;
  return text === undefined || bare === schema ? bare : bare.meta({ description: text });
}

/** What answers show: what can be set, unless it is write-only or hidden, and what else is declared. */
function shownAttributes(settable: Readonly<Record<string, Settable>>, others: z.ZodObject, hidden: readonly string[]): z.ZodObject {
  const isShown = (name: string, schema: z.ZodType) =>
    !Object.hasOwn(others.shape, name) && !hidden.includes(name) && !schema.meta()?.['writeOnly'];
  const seen = Object.entries(settable).filter(([name, [, schema]]) => isShown(name, schema));
  return z.object({ ...Object.fromEntries(seen.map(([name, [, schema]]) => [name, shownAs(schema)])), ...others.shape });
}

const environmentLink: ToOne = {
  kind: 'one',
  to: 'environment',
  column: 'environment_id',
  description: 'The environment that it belongs to.',
};

/** `signing_keys` as a title: "Signing keys". */
export function titleOf(path: string): string {
  const text = path.replaceAll('_', ' ');
  return text.replace(/^(?:api|jwks|saml)\b|^./, (start) => start.toUpperCase());
}

/** A resource as it is declared: what can be set is said once, and what isn't classified by reach doesn't compile. */
type Declaration<R, C, U> = Omit<Definition<R, C, U>, 'title' | 'source' | 'relationships' | 'sorts' | 'reach' | 'create' | 'update'> & {
  /** Where it is otherwise: the table is called as the path, and its key is the UUID `id`. */
  readonly source?: Partial<Source>;
  /** Beside the environment that it belongs to. */
  readonly relationships?: Readonly<Record<string, Relationship>>;
  readonly sorts?: Definition<R, C, U>['sorts'];
  /** What can be set, and is not shown though nothing of it is secret. */
  readonly hidden?: readonly string[];
  readonly reach: Omit<ReachOf<R>, 'attributes'>;
  readonly create?: Omit<Create<R, C>, 'schema'>;
  readonly update?: Omit<Update<R, U>, 'schema'>;
} & ([keyof C | keyof U] extends [never]
    ? { readonly settable?: undefined }
    : { readonly settable: { readonly [Name in keyof C | keyof U]-?: Settable } });

/** What of the attributes a creation, or a change, takes: a strict object, without defaults and transforms. */
function schemaOf(settable: Readonly<Record<string, Settable>>, creating: boolean): z.ZodObject {
  const taken = Object.entries(settable).filter(([, [, , when = '']]) => (creating ? when !== 'later' : !when.endsWith('fixed')));
  return z.strictObject(
    Object.fromEntries(
      taken.map(([name, [, schema, when = '']]) => [name, creating && when.startsWith('needed') ? schema : schema.optional()]),
    ),
  );
}

/** How lists and records are narrowed to an organization's. */
function ownedBy(table: string, rule: { readonly column?: string; readonly owned?: string } | undefined): Pick<Source, 'owned'> {
  const owned = rule?.owned ?? (rule?.column === undefined ? undefined : `${table}.${rule.column} = ?`);
  return owned === undefined ? {} : { owned };
}

/** Declares a resource; inside, its record and inputs are typed. What requests name in it is found under its own names alone. */
export function resource<
  R extends object,
  C extends object = Readonly<Record<never, unknown>>,
  U extends object = Readonly<Record<never, unknown>>,
>(declaration: Declaration<R, C, U>): Resource {
  const {
    settable = named<Settable>(),
    hidden = [],
    reach,
    create,
    update,
    computed,
    relationships,
    filters,
    sorts = stampSorts(declaration.path),
    actions,
    ...rest
  } = declaration;
  const { path, entries, routed } = declaration;
  const isOwned = routed !== false && entries === undefined && path !== 'environments';
  const all = Object.entries<Settable>(settable);
  return {
    ...rest,
    title: titleOf(path),
    source: { table: path, key: 'id', keyType: 'uuid', ...rest.source, ...ownedBy(rest.source?.table ?? path, rest.organization) },
    attributes: shownAttributes(settable, rest.attributes, hidden),
    reach: { ...reach, attributes: named(Object.fromEntries(all.map(([name, [touch]]) => [name, touch]))) },
    ...(create && { create: { ...create, schema: schemaOf(settable, true) } }),
    ...(update && { update: { ...update, schema: schemaOf(settable, false) } }),
    relationships: named({ ...relationships, ...(isOwned && { environment: environmentLink }) }),
    filters: named(filters),
    sorts: named(sorts),
    ...(computed && { computed: named(computed) }),
    ...(actions && { actions: named(actions) }),
  } as unknown as Resource;
}

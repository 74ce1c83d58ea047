import type { z } from 'zod';
import type { ResourceRegistry, Resource, ToMany } from '../../../src/management/resource.js';
import type { Document } from '../management.js';
import { creations } from './creations.js';
import { actionInputs, forPeopleAlone, interesting, onlyRecords } from './interesting.js';
import { valuesOf } from './values.js';
import type { World } from './world.js';

/** One request of a walk; `pair` is what it walks: an operation and the attribute, relationship or verb that it touches. */
export type Step = {
  readonly pair: string;
  readonly resource: Resource;
  readonly method: string;
  readonly path: string;
  readonly body?: Document;
  /** Permissions without which the request is refused before anything is looked at. */
  readonly needs: readonly string[];
};

export const writeOf = (one: Resource) => `${one.permissions ?? one.path}:write`;

/** Requests' attributes for one settable attribute. @throws when nobody said how a value of it looks */
function attributeSets(resource: Resource, name: string, schema: z.ZodType): Document[] {
  const named = interesting[`${resource.type}.${name}`];
  const sets = named ?? valuesOf(schema).map((value) => ({ [name]: value }));
  if (sets.length === 0)
    throw new Error(`the walk has no value for ${resource.type}.${name}: name some in test/support/reach/interesting.ts`);
  return [...sets];
}

const manyOf = (resource: Resource) =>
  Object.entries(resource.relationships).filter(
    (entry): entry is [string, ToMany] => entry[1].kind === 'many' && entry[1].change !== undefined,
  );

const linkage = (type: string, ids: readonly string[]) => ({ data: ids.map((id) => ({ type, id })) });

/** The first, which is the nearest, and one of the others. */
export function nearAndFar<T>(list: readonly T[], random: () => number): T[] {
  const [near, ...far] = list;
  const other = far[Math.floor(random() * far.length)];
  return [...(near === undefined ? [] : [near]), ...(other === undefined ? [] : [other])];
}

function linkSets(registry: ResourceRegistry, relationship: ToMany, world: World): Document[] {
  const target = registry.byType.get(relationship.to) as Resource;
  const extra = relationship.to === 'permission' ? [world.id('permission far')] : [];
  const ids = [...(world.targets.get(target.type) ?? []), ...extra];
  return [...ids.map((id) => linkage(target.type, [id])), linkage(target.type, [])];
}

function creationSteps(registry: ResourceRegistry, resource: Resource, world: World): Step[] {
  if (!resource.create) return [];
  const needs = [writeOf(resource)];
  const path = `/${resource.path}`;
  const make = (pair: string, attributes: Document, relationships: Document | undefined, more: readonly string[] = []): Step => {
    const data = { type: resource.type, attributes, ...(relationships ? { relationships } : {}) };
    return { pair: `create ${resource.type}.${pair}`, resource, method: 'POST', path, body: { data }, needs: [...needs, ...more] };
  };
  const bases = creations(resource, world);
  const bare = bases.map(({ attributes, relationships }) => make('', attributes, relationships));
  const byAttribute = Object.entries(resource.create.schema.shape).flatMap(([name, schema]) =>
    attributeSets(resource, name, schema as z.ZodType).map((set, index) => {
      const base = bases[index % bases.length];
      return make(name, { ...base?.attributes, ...set }, base?.relationships);
    }),
  );
  const byLink = manyOf(resource)
    .filter(([, relationship]) => relationship.write)
    .flatMap(([name, relationship]) =>
      linkSets(registry, relationship, world).map((set) =>
        make(name, bases[0]?.attributes ?? {}, { ...bases[0]?.relationships, [name]: set }, relationship.change?.needs),
      ),
    );
  return [...bare, ...byAttribute, ...byLink];
}

function attributeSteps(resource: Resource, world: World, random: () => number): Step[] {
  const ids = world.targets.get(resource.type) ?? [];
  const recordsFor = (name: string) => {
    const only = onlyRecords[`${resource.type}.${name}`];
    if (only !== undefined) return [world.id(only)];
    return resource.reach.attributes[name]?.startsWith('reach') ? ids : nearAndFar(ids, random);
  };
  return Object.entries(resource.update?.schema.shape ?? {}).flatMap(([name, schema]) =>
    attributeSets(resource, name, schema as z.ZodType).flatMap((attributes) =>
      // What decides how far a record reaches is walked on each: what one reaches by something else must not hide it.
      recordsFor(name).map((id): Step => {
        const path = `/${resource.path}/${encodeURIComponent(id)}`;
        const body = { data: { type: resource.type, id, attributes } };
        return { pair: `update ${resource.type}.${name}`, resource, method: 'PATCH', path, body, needs: [writeOf(resource)] };
      }),
    ),
  );
}

/** Each way to change a relationship: through its own URL, and by an update that names it. */
function linkSteps(registry: ResourceRegistry, resource: Resource, world: World, random: () => number): Step[] {
  const ids = world.targets.get(resource.type) ?? [];
  return manyOf(resource).flatMap(([name, { change, write }]) => {
    const relationship = resource.relationships[name] as ToMany;
    const needs = [writeOf(resource), ...(change?.needs ?? [])];
    const ways = [['POST', 'add'], ['DELETE', 'remove'], ...(change?.replaces ? [['PATCH', 'replace']] : []), ...(write && resource.update ? [['PATCH', 'update']] : [])]; // prettier-ignore
    return ways.flatMap(([method = '', how = '']) =>
      linkSets(registry, relationship, world).flatMap((set) =>
        nearAndFar(ids, random).map((id): Step => {
          const record = `/${resource.path}/${encodeURIComponent(id)}`;
          const step = { pair: `${how} ${resource.type}.${name}`, resource, method, needs };
          if (how !== 'update') return { ...step, path: `${record}/relationships/${name}`, body: set };
          return { ...step, path: record, body: { data: { type: resource.type, id, relationships: { [name]: set } } } };
        }),
      ),
    );
  });
}

function actionSteps(resource: Resource, id: string): Step[] {
  const path = `/${resource.path}/${encodeURIComponent(id)}`;
  // What a file brings is judged row by row (specification 18.2.6).
  const verbs = Object.entries(resource.actions ?? {}).filter(
    ([verb, { receives }]) => !forPeopleAlone.has(`${resource.type}.${verb}`) && receives === undefined,
  );
  const actions = verbs.map(([verb, action]): Step => {
    const body = actionInputs[`${resource.type}.${verb}`];
    const needs = [writeOf(resource), ...(action.needs ?? [])];
    return { pair: `${verb} ${resource.type}`, resource, method: action.method, path: `${path}/${verb}`, needs, ...(body ? { body } : {}) };
  });
  const removal: Step[] = resource.remove
    ? [{ pair: `delete ${resource.type}`, resource, method: 'DELETE', path, needs: [writeOf(resource)] }]
    : [];
  return [...actions, ...removal];
}

/** Every operation with every value of every attribute and relationship, on a record that reaches nothing and on one that reaches far. */
export function stepsOf(registry: ResourceRegistry, world: World, random: () => number): Step[] {
  for (const resource of registry.byPath.values()) {
    const changeable = resource.update || resource.remove || resource.actions || manyOf(resource).length > 0;
    if (changeable && !world.targets.has(resource.type))
      throw new Error(`the walk has no ${resource.type}: make some in test/support/reach/world.ts, where it can't be created`);
  }
  return [...registry.byPath.values()].flatMap((resource) => [
    ...creationSteps(registry, resource, world),
    ...attributeSteps(resource, world, random),
    ...linkSteps(registry, resource, world, random),
    ...(world.targets.get(resource.type) ?? []).flatMap((id) => actionSteps(resource, id)),
  ]);
}

import { z } from 'zod';
import { apiErrorCodes, type ApiErrorCode } from '../../lib/error-codes.js';
import { targetOf, type ResourceRegistry, type Relationship, type Resource } from '../resource.js';
import { attributeTextOf } from '../attribute-texts.js';
import { named, own } from '../../lib/named.js';

const address = z.string().meta({ format: 'uri-reference' });
const jsonapi = z.looseObject({ version: z.literal('1.1') });
const documentLinks = z.looseObject({ self: address.optional(), describedby: address.optional() });
const pageLinks = z.looseObject({
  self: address,
  first: address,
  prev: address.nullable(),
  next: address.nullable(),
  describedby: address,
});

export const idSchema = ({ source }: Resource) => (source.keyType === 'uuid' ? z.uuid() : z.string().min(1).max(255));

const identifierOf = (resource: Resource) => z.looseObject({ type: z.literal(resource.type), id: idSchema(resource) });

/** Attributes with what they mean, but for those whose schemas say it; what can be set means what it does where it is shown. */
const described = ({ type, attributes }: Resource, shape: z.ZodRawShape): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => {
      const text = attributeTextOf(type, name) ?? (own(attributes.shape, name) as z.ZodType | undefined)?.description ?? null;
      return [name, text === null || (schema as z.ZodType).description ? schema : (schema as z.ZodType).meta({ description: text })];
    }),
  ) as Record<string, z.ZodType>;

const included = z.array(z.looseObject({ type: z.string(), id: z.string() })).optional();

/** The error document (JSON:API 1.1, "Errors"). */
export const errorDocument = z
  .looseObject({
    jsonapi,
    errors: z
      .array(
        z.looseObject({
          id: z.string().meta({ description: 'The request id.' }),
          status: z.string(),
          code: z
            .enum(Object.keys(apiErrorCodes) as [ApiErrorCode, ...ApiErrorCode[]])
            .meta({ description: 'Stable; what programs look at. `/docs/errors` says what to do.' }),
          title: z.string(),
          detail: z.string(),
          source: z
            .looseObject({ pointer: z.string().optional(), parameter: z.string().optional(), header: z.string().optional() })
            .optional(),
          meta: z.looseObject({}).optional(),
        }),
      )
      .min(1),
  })
  .meta({ id: 'error_document', description: 'What a refusal looks like.' });

const linkageOf = (registry: ResourceRegistry, relationship: Relationship) => {
  const one = identifierOf(targetOf(registry, relationship));
  return relationship.kind === 'one' ? one.nullable() : z.array(one);
};

/** The schemas of one resource; made once, so that components are shared. */
export type ResourceSchemas = {
  readonly object: z.ZodObject;
  readonly one: z.ZodObject;
  readonly nullable: z.ZodObject;
  readonly list: z.ZodObject;
  readonly create: z.ZodObject | null;
  readonly update: z.ZodObject | null;
  /** The response schema with attributes that are shown once. */
  withOnce(id: string, extra: z.ZodObject | undefined, meta: z.ZodObject | undefined): z.ZodObject;
};

function writtenRelationships(
  registry: ResourceRegistry,
  resource: Resource,
  creating: boolean,
): { shape: z.ZodObject; required: boolean } | null {
  const shape: Record<string, z.ZodType> = named();
  let required = false;
  for (const [name, relationship] of Object.entries(resource.relationships)) {
    const settable =
      relationship.kind === 'many' ? relationship.write === true : (creating ? relationship.create : relationship.later) !== undefined;
    if (!settable) continue;
    const needed = relationship.kind === 'one' && relationship.create === 'required';
    const linkage = needed ? identifierOf(targetOf(registry, relationship)) : linkageOf(registry, relationship);
    const description = needed ? `Required. ${relationship.description}` : relationship.description;
    const data = z.object({ data: linkage }).meta({ description });
    shape[name] = needed ? data : data.optional();
    required ||= needed;
  }
  return Object.keys(shape).length === 0 ? null : { shape: z.strictObject(shape), required };
}

function requestDocument(registry: ResourceRegistry, resource: Resource, attributes: z.ZodObject, creating: boolean): z.ZodObject {
  const related = writtenRelationships(registry, resource, creating);
  const attributesNeeded =
    creating && Object.values(attributes.shape).some((schema) => !(schema as z.ZodType).safeParse(undefined).success);
  const named = z
    .strictObject(described(resource, attributes.shape))
    .meta({ id: `${resource.type}_${creating ? 'create' : 'update'}_attributes` });
  return z
    .object({
      data: z.object({
        type: z.literal(resource.type),
        ...(creating ? {} : { id: idSchema(resource) }),
        attributes: attributesNeeded ? named : named.optional(),
        ...(related ? { relationships: related.required ? related.shape : related.shape.optional() } : {}),
      }),
    })
    .meta({ id: `${resource.type}_${creating ? 'create' : 'update'}` });
}

const secretShownBefore = z
  .literal(true)
  .optional()
  .meta({ description: 'In the place of what is shown once, when the request is repeated with its Idempotency-Key.' });

export function schemasOf(registry: ResourceRegistry, resource: Resource): ResourceSchemas {
  const { type } = resource;
  const relationships = Object.fromEntries(
    Object.entries(resource.relationships).map(([name, relationship]) => [
      name,
      z
        .looseObject({
          links: z.looseObject({ self: address, related: address }).optional(),
          data: linkageOf(registry, relationship).optional(),
        })
        .meta({ description: relationship.description })
        .optional(),
    ]),
  );
  const objectWith = (attributes: z.ZodRawShape) =>
    z.looseObject({
      type: z.literal(type),
      id: idSchema(resource),
      attributes: z.looseObject(attributes),
      ...(Object.keys(relationships).length > 0 ? { relationships: z.looseObject(relationships).optional() } : {}),
      links: z.looseObject({ self: address }).optional(),
      meta: z.looseObject({ version: z.int() }),
    });
  // Sparse fieldsets leave attributes out.
  const shown = z.object(described(resource, resource.attributes.shape)).partial().shape;
  const object = objectWith(shown).meta({ id: type, description: resource.description });
  const envelope = { jsonapi, links: documentLinks, included };
  const named = (suffix: string, shape: z.ZodRawShape) => z.looseObject(shape).meta({ id: `${type}_${suffix}` });
  return {
    object,
    one: named('document', { ...envelope, data: object }),
    nullable: z.looseObject({ ...envelope, data: object.nullable() }),
    list: named('list', {
      jsonapi,
      links: pageLinks,
      data: z.array(object),
      included,
      meta: z.looseObject({ page: z.looseObject({ size: z.int() }) }),
    }),
    create: resource.create ? requestDocument(registry, resource, resource.create.schema, true) : null,
    update: resource.update ? requestDocument(registry, resource, resource.update.schema, false) : null,
    withOnce(id, extra, meta) {
      const data = extra ? objectWith({ ...shown, ...extra.partial().shape }) : object;
      // A repetition with the same Idempotency-Key is told everything but what is shown once.
      const repeated = extra ? (meta ?? z.looseObject({})).extend({ secret_shown_before: secretShownBefore }).optional() : meta;
      return z.looseObject({ ...envelope, data, ...(repeated ? { meta: repeated } : {}) }).meta({ id });
    },
  };
}

/** A document whose `meta` says everything: what an action with input, or an endpoint, takes. */
export const metaRequest = (id: string, input: z.ZodObject): z.ZodObject =>
  z.object({ meta: input.meta({ id: `${id}_meta` }) }).meta({ id });

export const metaResponse = (id: string, answer: z.ZodObject): z.ZodObject =>
  z.looseObject({ jsonapi, links: documentLinks, meta: answer.meta({ id: `${id}_meta` }) }).meta({ id: `${id}_document` });

export const linkageDocument = (registry: ResourceRegistry, relationship: Relationship): z.ZodObject =>
  z.looseObject({ jsonapi, links: documentLinks, data: linkageOf(registry, relationship) });

/** What a relationship URL takes. */
export const linkageRequest = (registry: ResourceRegistry, relationship: Relationship): z.ZodObject =>
  z.object({ data: linkageOf(registry, relationship) });

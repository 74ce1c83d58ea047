import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathItemObject, ZodOpenApiPathsObject } from 'zod-openapi';
import { jsonApi } from '../media-type.js';
import { permissionFor, targetOf, type Action, type Registry, type Relationship, type Resource, type Row } from '../resource.js';
import { headerParameters, linkageParameters, listParameters, recordParameters } from './parameters.js';
import { documentResponse, errorResponses, location, noContentResponse, notModified } from './responses.js';
import { idSchema, linkageDocument, linkageRequest, metaRequest, schemasOf, type ResourceSchemas } from './schemas.js';

type Schemas = ReadonlyMap<string, ResourceSchemas>;

/** One of its records, as a sentence names it: "a role", "an environment", "an API resource". */
const oneOf = ({ type }: Resource): string => {
  const words = type.replaceAll('_', ' ').replace(/^api\b/, 'API');
  return `${/^[aeio]|^API/.test(words) ? 'an' : 'a'} ${words}`;
};

const pathId = (resource: Resource) => ({
  path: z.object({ id: idSchema(resource).meta({ description: `The id of ${oneOf(resource)}.` }) }),
});
const secured = (...permissions: string[]) => ({ security: [{ oauth2: permissions }] });
const body = (schema: z.ZodObject) => ({ required: true, content: { [jsonApi]: { schema } } });
const queryOf = (parameters: Record<string, z.ZodType>) => ({ query: z.object(parameters) });

function collectionItem(registry: Registry, resource: Resource, schemas: ResourceSchemas): ZodOpenApiPathItemObject {
  const list: ZodOpenApiOperationObject = {
    operationId: `list_${resource.path}`,
    tags: [resource.path],
    summary: `List ${resource.title.toLowerCase()}`,
    ...secured(permissionFor(resource, 'read')),
    requestParams: { ...queryOf(listParameters(registry, resource)), header: z.object(headerParameters.read) },
    responses: { '200': documentResponse('One page.', schemas.list), '304': notModified, ...errorResponses(400) },
  };
  if (!resource.create || !schemas.create) return { get: list };
  const { once, meta } = resource.create;
  const answer = once || meta ? schemas.withOnce(`${resource.type}_created`, once, meta) : schemas.one;
  const create: ZodOpenApiOperationObject = {
    operationId: `create_${resource.type}`,
    tags: [resource.path],
    summary: `Create ${oneOf(resource)}`,
    ...secured(permissionFor(resource, 'write')),
    requestParams: { ...queryOf(recordParameters(registry, resource)), header: z.object(headerParameters.create) },
    requestBody: body(schemas.create),
    responses: { '201': documentResponse('Created.', answer, location), ...errorResponses(400, 404, 409, 413, 415, 422) },
  };
  return { get: list, post: create };
}

function recordItem(registry: Registry, resource: Resource, schemas: ResourceSchemas): ZodOpenApiPathItemObject {
  const name = oneOf(resource);
  const tags = [resource.path];
  const item: ZodOpenApiPathItemObject = {
    get: {
      operationId: `get_${resource.type}`,
      tags,
      summary: `Read ${name}`,
      ...secured(permissionFor(resource, 'read')),
      requestParams: { ...pathId(resource), ...queryOf(recordParameters(registry, resource)), header: z.object(headerParameters.read) },
      responses: { '200': documentResponse('The resource.', schemas.one), '304': notModified, ...errorResponses(400, 404) },
    },
  };
  if (schemas.update) {
    item.patch = {
      operationId: `update_${resource.type}`,
      tags,
      summary: `Change ${name}`,
      ...secured(permissionFor(resource, 'write')),
      requestParams: { ...pathId(resource), ...queryOf(recordParameters(registry, resource)), header: z.object(headerParameters.change) },
      requestBody: body(schemas.update),
      responses: { '200': documentResponse('As it is now.', schemas.one), ...errorResponses(400, 404, 409, 412, 413, 415, 422) },
    };
  }
  if (resource.remove) {
    item.delete = {
      operationId: `delete_${resource.type}`,
      tags,
      summary: resource.remove.audit === undefined ? `Delete ${name}` : `End ${name}`,
      ...secured(permissionFor(resource, 'write')),
      requestParams: { ...pathId(resource), header: z.object(headerParameters.remove) },
      responses: { '204': noContentResponse, ...errorResponses(400, 404, 409, 412) },
    };
  }
  return item;
}

function actionItem(registry: Registry, all: Schemas, resource: Resource, verb: string, action: Action<Row>): ZodOpenApiPathItemObject {
  const answers = (action.answers === undefined ? undefined : registry.byType.get(action.answers)) ?? resource;
  const schemas = all.get(answers.type) as ResourceSchemas;
  const answer = action.once || action.meta ? schemas.withOnce(`${resource.type}_${verb}`, action.once, action.meta) : schemas.one;
  const operation: ZodOpenApiOperationObject = {
    operationId: `${verb}_${resource.type}`,
    tags: [resource.path],
    summary: action.description,
    ...secured(permissionFor(resource, 'write'), ...(action.needs ?? [])),
    requestParams: { ...pathId(resource), ...queryOf(recordParameters(registry, answers)), header: z.object(headerParameters.change) },
    ...(action.input ? { requestBody: body(metaRequest(`${resource.type}_${verb}_request`, action.input)) } : {}),
    responses: {
      [action.method === 'PATCH' ? '200' : '202']: documentResponse(action.method === 'PATCH' ? 'As it is now.' : 'Under way.', answer),
      ...errorResponses(400, 404, 409, 412, ...(action.input ? [413, 415] : []), 422),
    },
  };
  return action.method === 'PATCH' ? { patch: operation } : { post: operation };
}

function relatedItem(
  registry: Registry,
  all: Schemas,
  resource: Resource,
  name: string,
  relationship: Relationship,
): ZodOpenApiPathItemObject {
  const target = targetOf(registry, relationship);
  const schemas = all.get(target.type) as ResourceSchemas;
  const many = relationship.kind === 'many';
  const permissions = [...new Set([permissionFor(resource, 'read'), permissionFor(target, 'read')])];
  return {
    get: {
      operationId: `get_${resource.type}_${name}`,
      tags: [resource.path],
      summary: relationship.description,
      ...secured(...permissions),
      requestParams: {
        ...pathId(resource),
        ...queryOf(many ? listParameters(registry, target) : recordParameters(registry, target)),
        header: z.object(headerParameters.read),
      },
      responses: {
        '200': documentResponse('The related records.', many ? schemas.list : schemas.nullable),
        '304': notModified,
        ...errorResponses(400, 404),
      },
    },
  };
}

function linkageItem(registry: Registry, resource: Resource, name: string, relationship: Relationship): ZodOpenApiPathItemObject {
  const common = { tags: [resource.path] };
  const item: ZodOpenApiPathItemObject = {
    get: {
      ...common,
      operationId: `get_${resource.type}_${name}_linkage`,
      summary: `${relationship.description} Ids alone.`,
      ...secured(permissionFor(resource, 'read')),
      requestParams: {
        ...pathId(resource),
        ...(relationship.kind === 'many' ? queryOf(linkageParameters) : {}),
        header: z.object(headerParameters.read),
      },
      responses: {
        '200': documentResponse('Linkage.', linkageDocument(registry, relationship)),
        '304': notModified,
        ...errorResponses(400, 404),
      },
    },
  };
  const change = relationship.kind === 'many' ? relationship.change : undefined;
  if (!change) return item;
  const write = (verb: string, words: string, headers: z.ZodRawShape = headerParameters.change): ZodOpenApiOperationObject => ({
    ...common,
    operationId: `${verb}_${resource.type}_${name}`,
    summary: words,
    ...secured(permissionFor(resource, 'write'), ...(change.needs ?? [])),
    requestParams: { ...pathId(resource), header: z.object(headers) },
    requestBody: body(linkageRequest(registry, relationship)),
    responses: { '204': noContentResponse, ...errorResponses(400, 404, 409, 412, 413, 415, 422) },
  });
  item.post = write('add', `Add ${name} to ${oneOf(resource)}`);
  item.delete = write('remove', `Take ${name} from ${oneOf(resource)}`, headerParameters.remove);
  if (change.replace) item.patch = write('replace', `Replace the ${name} of ${oneOf(resource)}`);
  return item;
}

/** The paths of all resources. */
export function pathsOf(registry: Registry): ZodOpenApiPathsObject {
  const all: Schemas = new Map([...registry.byType.values()].map((resource) => [resource.type, schemasOf(registry, resource)]));
  const paths: ZodOpenApiPathsObject = {};
  for (const resource of registry.byPath.values()) {
    const schemas = all.get(resource.type) as ResourceSchemas;
    const root = `/api/${resource.path}`;
    paths[root] = collectionItem(registry, resource, schemas);
    paths[`${root}/{id}`] = recordItem(registry, resource, schemas);
    for (const [verb, action] of Object.entries(resource.actions ?? {}))
      paths[`${root}/{id}/${verb}`] = actionItem(registry, all, resource, verb, action);
    for (const [name, relationship] of Object.entries(resource.relationships)) {
      paths[`${root}/{id}/${name}`] = relatedItem(registry, all, resource, name, relationship);
      paths[`${root}/{id}/relationships/${name}`] = linkageItem(registry, resource, name, relationship);
    }
  }
  return paths;
}

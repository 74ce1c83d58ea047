import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathItemObject, ZodOpenApiPathsObject } from 'zod-openapi';
import { jsonApi } from '../media-type.js';
import {
  permissionFor,
  targetOf,
  type Action,
  type Download,
  type ResourceRegistry,
  type Relationship,
  type Resource,
  type ResourceRow,
} from '../resource.js';
import { headerParameters, linkageParameters, listParameters, recordParameters } from './parameters.js';
import { documentResponse, errorResponses, feedResponse, location, noContentResponse, notModified, writtenResponse } from './responses.js';
import { idSchema, linkageDocument, linkageRequest, metaRequest, schemasOf, type ResourceSchemas } from './schemas.js';

type Schemas = ReadonlyMap<string, ResourceSchemas>;

/** One of its records, as a sentence names it: "a role", "an environment", "an API resource". */
const oneOf = ({ type }: Resource): string => {
  const words = type.replaceAll('_', ' ').replace(/^(api|saml)\b/, (one) => one.toUpperCase());
  return `${/^[aeio]|^API/.test(words) ? 'an' : 'a'} ${words}`;
};

/** What an operation has beside its name. `id`: it is about one record. */
type OperationSpec = {
  readonly permissions: readonly string[];
  readonly id?: boolean;
  readonly query?: Record<string, z.ZodType>;
  readonly header: z.ZodRawShape;
  readonly body?: z.ZodObject | null | undefined;
  readonly answer: ZodOpenApiOperationObject['responses'];
  readonly errors: readonly number[];
};

/** An operation on a resource. Those that take a body have its refusals, reads may have been answered before. */
function operation(resource: Resource, operationId: string, summary: string, described: OperationSpec): ZodOpenApiOperationObject {
  const { permissions, id = true, query, header, body, answer, errors } = described;
  const path = z.object({ id: idSchema(resource).meta({ description: `The id of ${oneOf(resource)}.` }) });
  const isRead = header === headerParameters.read;
  return {
    operationId,
    tags: [resource.path],
    summary,
    security: [{ oauth2: [...new Set(permissions)] }],
    requestParams: { ...(id && { path }), ...(query && { query: z.object(query) }), header: z.object(header) },
    ...(body && { requestBody: { required: true, content: { [jsonApi]: { schema: body } } } }),
    responses: { ...answer, ...(isRead && { '304': notModified }), ...errorResponses(400, ...errors, ...(body ? [413, 415] : [])) },
  };
}

function collectionItem(registry: ResourceRegistry, resource: Resource, schemas: ResourceSchemas): ZodOpenApiPathItemObject {
  const get = operation(resource, `list_${resource.path}`, `List ${resource.title.toLowerCase()}`, {
    permissions: [permissionFor(resource, 'read')],
    id: false,
    query: listParameters(registry, resource),
    header: headerParameters.read,
    answer: { '200': resource.isFeed ? feedResponse(schemas.list) : documentResponse('One page.', schemas.list) },
    errors: resource.isFeed ? [410] : [],
  });
  if (!resource.create) return { get };
  const { once, meta } = resource.create;
  const answer = once || meta ? schemas.withOnce(`${resource.type}_created`, once, meta) : schemas.one;
  const post = operation(resource, `create_${resource.type}`, `Create ${oneOf(resource)}`, {
    permissions: [permissionFor(resource, 'write')],
    id: false,
    query: recordParameters(registry, resource),
    header: headerParameters.create,
    body: schemas.create,
    answer: { '201': writtenResponse('Created.', answer, location) },
    errors: [404, 409, 422],
  });
  return { get, post };
}

function recordItem(registry: ResourceRegistry, resource: Resource, schemas: ResourceSchemas): ZodOpenApiPathItemObject {
  const name = oneOf(resource);
  const query = recordParameters(registry, resource);
  const permissions = [permissionFor(resource, 'write')];
  return {
    get: operation(resource, `get_${resource.type}`, `Read ${name}`, {
      permissions: [permissionFor(resource, 'read')],
      query,
      header: headerParameters.read,
      answer: { '200': documentResponse('The resource.', schemas.one) },
      errors: [404],
    }),
    ...(resource.update && {
      patch: operation(resource, `update_${resource.type}`, `Change ${name}`, {
        permissions,
        query,
        header: headerParameters.change,
        body: schemas.update,
        answer: { '200': writtenResponse('As it is now.', schemas.one) },
        errors: [404, 409, 412, 422],
      }),
    }),
    ...(resource.remove && {
      delete: operation(resource, `delete_${resource.type}`, `${resource.remove.audit === undefined ? 'Delete' : 'End'} ${name}`, {
        permissions,
        header: headerParameters.remove,
        answer: { '204': noContentResponse },
        errors: [404, 409, 412],
      }),
    }),
  };
}

function actionItem(
  registry: ResourceRegistry,
  all: Schemas,
  resource: Resource,
  verb: string,
  action: Action<ResourceRow>,
): ZodOpenApiPathItemObject {
  const answers = (action.answers === undefined ? undefined : registry.byType.get(action.answers)) ?? resource;
  const schemas = all.get(answers.type) as ResourceSchemas;
  const answer = action.once || action.meta ? schemas.withOnce(`${resource.type}_${verb}`, action.once, action.meta) : schemas.one;
  const [method, status, text] =
    action.method === 'POST' ? ['post', '202', 'Under way.'] : [action.method.toLowerCase(), '200', 'As it is now.'];
  const done = operation(resource, `${verb}_${resource.type}`, action.description, {
    permissions: [permissionFor(resource, 'write'), ...(action.needs ?? [])],
    query: recordParameters(registry, answers),
    header: headerParameters.change,
    body: action.input && metaRequest(`${resource.type}_${verb}_request`, action.input),
    answer: { [status as '200']: writtenResponse(text as string, answer) },
    errors: [404, 409, 412, 422],
  });
  const { receives } = action;
  if (!receives) return { [method as 'patch']: done };
  const content = { [receives.mediaType]: { schema: z.string().meta({ format: 'binary' }) } };
  return {
    [method as 'patch']: {
      ...done,
      requestBody: { required: true, content },
      responses: { ...done.responses, ...errorResponses(413, 415) },
    },
  };
}

function downloadItem(resource: Resource, { mediaType, description }: Download<ResourceRow>): ZodOpenApiPathItemObject {
  const content = { [mediaType]: { schema: z.string().meta({ format: 'binary' }) } };
  const done = operation(resource, `get_${resource.type}_data`, description, {
    permissions: [permissionFor(resource, 'read')],
    header: {},
    answer: { '200': { description: 'The file.', content } },
    errors: [404, 410],
  });
  return { get: done };
}

function relatedItem(
  registry: ResourceRegistry,
  all: Schemas,
  resource: Resource,
  name: string,
  one: Relationship,
): ZodOpenApiPathItemObject {
  const target = targetOf(registry, one);
  const schemas = all.get(target.type) as ResourceSchemas;
  const many = one.kind === 'many';
  return {
    get: operation(resource, `get_${resource.type}_${name}`, one.description, {
      permissions: [permissionFor(resource, 'read'), permissionFor(target, 'read')],
      query: many ? listParameters(registry, target) : recordParameters(registry, target),
      header: headerParameters.read,
      answer: { '200': documentResponse('The related records.', many ? schemas.list : schemas.nullable) },
      errors: [404],
    }),
  };
}

function linkageItem(registry: ResourceRegistry, resource: Resource, name: string, one: Relationship): ZodOpenApiPathItemObject {
  const item: ZodOpenApiPathItemObject = {
    get: operation(resource, `get_${resource.type}_${name}_linkage`, `${one.description} Ids alone.`, {
      permissions: [permissionFor(resource, 'read'), ...(one.kind === 'many' ? [permissionFor(targetOf(registry, one), 'read')] : [])],
      ...(one.kind === 'many' && { query: linkageParameters }),
      header: headerParameters.read,
      answer: { '200': documentResponse('Linkage.', linkageDocument(registry, one)) },
      errors: [404],
    }),
  };
  const change = one.kind === 'many' ? one.change : undefined;
  if (!change) return item;
  const write = (verb: string, summary: string, header: z.ZodRawShape = headerParameters.change) =>
    operation(resource, `${verb}_${resource.type}_${name}`, summary, {
      permissions: [permissionFor(resource, 'write'), ...(change.needs ?? [])],
      header,
      body: linkageRequest(registry, one),
      answer: { '204': noContentResponse },
      errors: [404, 409, 412, 422],
    });
  item.post = write('add', `Add ${name} to ${oneOf(resource)}`);
  item.delete = write('remove', `Take ${name} from ${oneOf(resource)}`, headerParameters.remove);
  if (change.replaces) item.patch = write('replace', `Replace the ${name} of ${oneOf(resource)}`);
  return item;
}

export function pathsOf(registry: ResourceRegistry): ZodOpenApiPathsObject {
  const all: Schemas = new Map([...registry.byType.values()].map((resource) => [resource.type, schemasOf(registry, resource)]));
  const paths: ZodOpenApiPathsObject = {};
  for (const resource of registry.byPath.values()) {
    const schemas = all.get(resource.type) as ResourceSchemas;
    const root = `/api/${resource.path}`;
    paths[root] = collectionItem(registry, resource, schemas);
    paths[`${root}/{id}`] = recordItem(registry, resource, schemas);
    for (const [verb, action] of Object.entries(resource.actions ?? {}))
      paths[`${root}/{id}/${verb}`] = actionItem(registry, all, resource, verb, action);
    if (resource.download) paths[`${root}/{id}/data`] = downloadItem(resource, resource.download);
    for (const [name, relationship] of Object.entries(resource.relationships)) {
      paths[`${root}/{id}/${name}`] = relatedItem(registry, all, resource, name, relationship);
      paths[`${root}/{id}/relationships/${name}`] = linkageItem(registry, resource, name, relationship);
    }
  }
  return paths;
}

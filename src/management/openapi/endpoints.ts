import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathItemObject, ZodOpenApiPathsObject } from 'zod-openapi';
import type { Endpoint } from '../calls/endpoint.js';
import { endpointsByPath } from '../calls/index.js';
import { jsonApi } from '../media-type.js';
import { headerParameters } from './parameters.js';
import { documentResponse, errorResponses, notModified } from './responses.js';
import { metaRequest, metaResponse } from './schemas.js';

function operationOf(one: Endpoint): ZodOpenApiOperationObject {
  const reading = one.method === 'GET';
  const answer = documentResponse('What the top-level `meta` says.', metaResponse(one.name, one.answer));
  const statuses = [400, ...(one.input ? [413, 415, 422] : []), ...(one.refusals ?? [])];
  return {
    operationId: one.name,
    tags: [one.group],
    summary: one.summary,
    ...(one.description === undefined ? {} : { description: one.description }),
    security: [{ oauth2: [...one.permissions] }],
    requestParams: { header: z.object(reading ? headerParameters.read : headerParameters.call) },
    ...(one.input
      ? { requestBody: { required: true, content: { [jsonApi]: { schema: metaRequest(`${one.name}_request`, one.input) } } } }
      : {}),
    responses: { '200': answer, ...(reading ? { '304': notModified } : {}), ...errorResponses(...statuses) },
  };
}

/** The paths of what concerns no single record. */
export function endpointPathsOf(endpoints: readonly Endpoint[]): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {};
  for (const [path, byMethod] of endpointsByPath(endpoints)) {
    const item: ZodOpenApiPathItemObject = {};
    if (byMethod['GET']) item.get = operationOf(byMethod['GET']);
    if (byMethod['POST']) item.post = operationOf(byMethod['POST']);
    paths[`/api/${path}`] = item;
  }
  return paths;
}

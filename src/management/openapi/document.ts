import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { createDocument, type ZodOpenApiObject, type ZodOpenApiOverride, type ZodOpenApiPathItemObject } from 'zod-openapi';
import { catalogue, eventTypes, type EventType } from '../../domain/events/catalogue.js';
import { eventTypeDocuments } from '../../domain/events/documents.js';
import { describePermission, managementPermissions, organizationPermissions } from '../../domain/reach/management-permissions.js';
import type { Environment } from '../../domain/environment.js';
import { etagOf } from '../documents.js';
import { permissionFor, type Resource, type ResourceRegistry } from '../resource.js';
import { endpointGroups, endpoints } from '../calls/index.js';
import { endpointPathsOf } from './endpoints.js';
import { pathsOf } from './operations.js';
import { memo, ofEach } from '../../lib/memo.js';

export type OpenApiDocument = ReturnType<typeof createDocument>;

const description = `Administers an environment: users, roles, permissions, clients, API resources, connections, sessions, webhooks, keys and domains.

Requests and answers are JSON:API 1.1 documents (\`application/vnd.api+json\`, without charset). Send a Bearer token whose audience is this API; each operation names the permission it needs. 100 requests a minute for each token.

A person’s token for this API and an organization (\`resource\` and \`organization\` at the authorization endpoint) is bound to it: it holds what the roles of the membership hold of the collections whose descriptions say so, sees the organization’s records alone, and makes new ones its own. Another’s record is 404, any other collection 403 \`insufficient_scope\`.`;

/** What a collection is, and whether bound tokens reach it. */
const tagOf = (resource: Resource) => ({
  name: resource.path,
  description: organizationPermissions.includes(permissionFor(resource, 'read'))
    ? `${resource.description} Tokens that are bound to an organization have the organization’s.`
    : resource.description,
});

const examples = new Map(eventTypeDocuments().map((one) => [one.id, one.example]));

const deliveryHeaders = z.object({
  'X-Service-Signature': z.string().meta({ description: '`sha256=` and the HMAC-SHA256 of the raw body with the signing secret, in hex.' }),
  'X-Service-Event': z.string().meta({ description: 'The event type.' }),
  'webhook-id': z.string().meta({ description: 'The event_id (Standard Webhooks).' }),
  'webhook-timestamp': z.string().meta({ description: 'Unix time of the attempt (Standard Webhooks).' }),
  'webhook-signature': z.string().meta({ description: '`v1,` and a signature of id, timestamp and body (Standard Webhooks).' }),
});

function webhookItem(type: EventType): ZodOpenApiPathItemObject {
  const payload = z.object({
    event: z.literal(type),
    event_id: z.uuid(),
    timestamp: z.iso.datetime(),
    environment_id: z.uuid(),
    data: catalogue[type].data.meta({ id: `${type.replace('.', '_')}_data` }),
  });
  return {
    post: {
      operationId: `on_${type.replace('.', '_')}`,
      tags: ['webhook_payloads'],
      summary: catalogue[type].description,
      security: [],
      requestParams: { header: deliveryHeaders },
      requestBody: { required: true, content: { 'application/json': { schema: payload, example: examples.get(type) } } },
      responses: {
        '2XX': { description: 'Received. Anything else, or no answer within 10 s, counts as failed and is tried again up to 5 times.' },
        '410': { description: 'Nobody listens here any more: the webhook is disabled.' },
      },
    },
  };
}

/** No text holds U+0000, which PostgreSQL can't store: 400 wherever it stands, in names and in what is ignored too. */
const storable = String.raw`^[^\u0000]*$`;
const anyValue = { $ref: '#/components/schemas/any_value' };

/** Any JSON whose texts can be stored: what stands where nothing else is said, as in members that a request is free to have and nobody reads. */
const components: NonNullable<ZodOpenApiObject['components']> = {
  schemas: {
    any_value: {
      description: 'Any JSON value without U+0000 in its texts and names.',
      anyOf: [
        { type: 'string', pattern: storable },
        { type: ['number', 'boolean', 'null'] },
        { type: 'array', items: anyValue },
        { type: 'object', propertyNames: { pattern: storable }, additionalProperties: anyValue },
      ],
    },
  },
};

type Json = { type?: unknown; [keyword: string]: unknown };

/** Says so of every text that nothing else is said of, and in requests of every value and member. */
function withoutNul({ jsonSchema, io }: { jsonSchema: Json; io: 'input' | 'output' }): void {
  const isFree = !['pattern', 'enum', 'const', 'format'].some((keyword) => Object.hasOwn(jsonSchema, keyword));
  if (jsonSchema.type === 'string' && isFree) jsonSchema['pattern'] = storable;
  if (io === 'output') return;
  if (jsonSchema.type === 'object' && jsonSchema['additionalProperties'] !== false) {
    jsonSchema['propertyNames'] ??= { pattern: storable };
    if (isDeepStrictEqual(jsonSchema['additionalProperties'] ?? {}, {})) jsonSchema['additionalProperties'] = anyValue;
  }
  if (isDeepStrictEqual(jsonSchema, {})) Object.assign(jsonSchema, anyValue);
}

/** What is the same for every environment: all but its addresses. Walks every schema, which takes a while: once for all that publish it. */
const sharedOf = ofEach((registry: ResourceRegistry): OpenApiDocument => {
  const document: ZodOpenApiObject = {
    openapi: '3.1.0',
    info: {
      title: 'Management API',
      version: '1.0.0',
      description,
      license: { name: 'All rights reserved', identifier: 'LicenseRef-Proprietary' },
    },
    tags: [
      ...[...registry.byPath.values()].map(tagOf),
      ...Object.entries(endpointGroups).map(([name, text]) => ({ name, description: text })),
      { name: 'webhook_payloads', description: 'What the service sends to webhooks.' },
    ],
    paths: { ...pathsOf(registry), ...endpointPathsOf(endpoints) },
    webhooks: Object.fromEntries(eventTypes.map((type) => [type, webhookItem(type)])),
    components,
  };
  return createDocument(document, { override: withoutNul as ZodOpenApiOverride });
});

type Addresses = Pick<Environment, 'base_url' | 'issuer'>;

function withAddresses(shared: OpenApiDocument, { base_url, issuer }: Addresses): OpenApiDocument {
  const scopes = Object.fromEntries(managementPermissions.map((permission) => [permission, describePermission(permission)]));
  const oauth2 = {
    type: 'oauth2',
    description: `An access token for the resource ${base_url}/api, bound to an organization or not.`,
    flows: { clientCredentials: { tokenUrl: `${issuer}/oauth/token`, scopes } },
  } as const;
  return {
    ...shared,
    servers: [{ url: base_url, description: 'This environment' }],
    components: { ...shared.components, securitySchemes: { oauth2 } },
  };
}

/** What is made once for each address of an environment; beyond twenty the oldest goes. */
export function onceForEach<Made, Described extends Addresses = Addresses>(
  make: (environment: Described) => Made,
): (environment: Described) => Made {
  const made = memo((_address: string, environment: Described) => make(environment), 20);
  return (environment) => made(`${environment.base_url} ${environment.issuer}`, environment);
}

/** The OpenAPI 3.1 document of an environment, made once for each address. What they share is built by the first. */
export function createOpenApi(registry: ResourceRegistry): (environment: Addresses) => OpenApiDocument {
  return onceForEach((environment) => withAddresses(sharedOf(registry), environment));
}

/** The same as it is sent, with its ETag: nothing is left to do for a request. */
export function createPublishedOpenApi(
  registry: ResourceRegistry,
): (environment: Addresses) => { readonly body: string; readonly etag: string } {
  const documentOf = createOpenApi(registry);
  return onceForEach((environment) => {
    const body = JSON.stringify(documentOf(environment));
    return { body, etag: etagOf(body, null) };
  });
}

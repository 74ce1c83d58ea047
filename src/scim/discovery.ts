import { ScimError } from '../errors.js';
import type { ScimCall, ScimOperation } from './call.js';
import { isUrn } from './attribute-paths.js';
import { listResponse } from './render.js';
import { enterpriseSchema, groupSchema, resourceTypes, userSchema, type ResourceType, type Schema } from './schemas.js';

const core = 'urn:ietf:params:scim:schemas:core:2.0:';
const schemas: readonly Schema[] = [userSchema, groupSchema, enterpriseSchema];

/** Lists of what never changes are not filtered (RFC 7644 4). @throws {ScimError} 403 */
function refuseFilter({ query }: ScimCall): void {
  if (query.filter !== null) throw new ScimError(403, null, 'There is no filter at this address (RFC 7644 4).');
}

const schemaResource = (base: string, { id, ...schema }: Schema) => ({
  schemas: [`${core}Schema`],
  id,
  ...schema,
  meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
});

const typeResource = (base: string, { name, path, schema, extension }: ResourceType) => ({
  schemas: [`${core}ResourceType`],
  id: name,
  name,
  description: schema.description,
  endpoint: `/${path}`,
  schema: schema.id,
  schemaExtensions: extension ? [{ schema: extension.id, required: false }] : [],
  meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
});

/** What the service can do (RFC 7643 5): patch, filter and ETags. */
export const readServiceConfig: ScimOperation = async (call) => {
  refuseFilter(call);
  return {
    status: 200,
    body: {
      schemas: [`${core}ServiceProviderConfig`],
      patch: { supported: true },
      bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
      filter: { supported: true, maxResults: 200 },
      changePassword: { supported: false },
      sort: { supported: false },
      etag: { supported: true },
      authenticationSchemes: [
        {
          type: 'oauthbearertoken',
          name: 'Bearer token',
          description: 'The token of the directory, in the Authorization header (RFC 6750).',
          specUri: 'https://www.rfc-editor.org/info/rfc6750',
          primary: true,
        },
      ],
      meta: { resourceType: 'ServiceProviderConfig', location: `${call.base}/ServiceProviderConfig` },
    },
  };
};

/** A list, or the one of its entries that the address names. */
async function answer(call: ScimCall, entries: readonly { readonly id: string }[]) {
  const { id } = call.req.params;
  if (id === undefined) {
    refuseFilter(call);
    return { status: 200, body: listResponse(entries, entries.length, 1) };
  }
  const found = entries.find((one) => isUrn(String(id), one.id));
  if (!found) throw new ScimError(404, null, 'There is nothing at this address.');
  return { status: 200, body: found };
}

export const readSchemas: ScimOperation = (call) => answer(call, schemas.map((schema) => schemaResource(call.base, schema))); // prettier-ignore

export const readResourceTypes: ScimOperation = (call) => answer(call, resourceTypes.map((type) => typeResource(call.base, type))); // prettier-ignore

/** A token is of a directory, not of a person (RFC 7644 3.11). */
export const readMe: ScimOperation = async () => {
  throw new ScimError(501, null, 'There is no Me: the token is of a directory.');
};

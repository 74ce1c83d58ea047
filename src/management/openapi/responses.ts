import { z } from 'zod';
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { jsonApi } from '../media-type.js';
import { errorDocument } from './schemas.js';
import { named } from '../../lib/named.js';

const texts: Record<number, string> = {
  400: 'The query or the document is malformed.',
  401: 'The access token is missing, expired or revoked, or meant for something else.',
  403: 'The permission is missing (`insufficient_scope`), or this would reach further than what the caller holds (`scope_escalation`): `meta.required` names what it takes. Or nobody can change this.',
  404: 'There is no such resource in this environment.',
  406: 'None of the media types in Accept can be answered.',
  409: 'The resource is in a state that does not allow it, a name is taken, or type or id are not those of the URL.',
  410: 'What came after the cursor is older than what is kept (`cursor_expired`).',
  412: 'The resource changed since the version in If-Match.',
  413: 'The body is too large.',
  415: 'The body must be of the JSON:API media type without foreign parameters.',
  422: 'Values are invalid; there is one error for each.',
  429: 'More than 100 requests in a minute with this token. Retry-After says when to go on.',
  431: 'The head of the request is larger than 16 KiB.',
  500: 'Something went wrong; the log has the cause under the request id.',
  503: 'The service can not do it right now; try again.',
};

const challenge = { 'WWW-Authenticate': z.string().optional().meta({ description: 'The challenge of RFC 6750.' }) };
const retry = { 'Retry-After': z.string().meta({ description: 'Whole seconds.' }) };

const headersOf = (status: number) => (status === 401 || status === 403 ? challenge : status === 429 || status === 503 ? retry : null);

const shared = Object.fromEntries(
  Object.entries(texts).map(([status, description]): [string, ZodOpenApiResponseObject] => {
    const headers = headersOf(Number(status));
    return [
      status,
      {
        id: `error_${status}`,
        description,
        // Node answers this one before there is a request.
        ...(status === '431' ? {} : { content: { [jsonApi]: { schema: errorDocument } } }),
        ...(headers ? { headers: z.object(headers) } : {}),
      },
    ];
  }),
);

export function errorResponses(...statuses: number[]): Record<`${1 | 2 | 3 | 4 | 5}${string}`, ZodOpenApiResponseObject> {
  const all = [...new Set([...statuses, 401, 403, 406, 429, 431, 500, 503])].sort((one, other) => one - other);
  return Object.fromEntries(all.map((status) => [String(status), shared[String(status)]])) as Record<
    `4${string}`,
    ZodOpenApiResponseObject
  >;
}

const etag = { ETag: z.string().optional().meta({ description: 'For If-None-Match and If-Match.' }) };

export const documentResponse = (
  description: string,
  schema: z.ZodObject,
  headers: Record<string, z.ZodType> = named(),
): ZodOpenApiResponseObject => ({ description, content: { [jsonApi]: { schema } }, headers: z.object({ ...etag, ...headers }) });

const readAfter = {
  'Read-After': z.string().optional().meta({ description: 'Where lists come from a replica: a list that brings it has this write.' }),
};

/** What a write answers. */
export const writtenResponse: typeof documentResponse = (description, schema, headers) =>
  documentResponse(description, schema, { ...readAfter, ...headers });

/** A page of the events feed, or the stream of it. */
export function feedResponse(schema: z.ZodObject): ZodOpenApiResponseObject {
  const { content, ...page } = documentResponse('One page, or the stream.', schema);
  const text = z.string().meta({ description: 'Server-sent events: `id` is a cursor, `event` the type, `data` the payload.' });
  return { ...page, content: { ...content, 'text/event-stream': { schema: text } } };
}

export const notModified: ZodOpenApiResponseObject = { description: 'What the caller has is still right.' };

/** 204. */
export const noContentResponse: ZodOpenApiResponseObject = { description: 'Done; there is nothing to show.', headers: z.object(readAfter) };

export const location = { Location: z.string().meta({ description: 'Where the new resource is.' }) };

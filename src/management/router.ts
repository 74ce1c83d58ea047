import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { originOf } from '../http/pages/mail-origin.js';
import { MethodNotAllowedError } from '../http/routes.js';
import { tellNonce } from '../http/auth/dpop.js';
import { inSequence } from '../http/exact-routes.js';
import { limitBy, limitByAddress } from '../http/limits/rate-limits.js';
import type { Web } from '../http/web.js';
import { createContext, inOrganization, type Context } from '../domain/context.js';
import { findEnvironmentById } from '../domain/environments/environments.js';
import { OAuthError } from '../errors.js';
import { answerEndpoint, endpointFor, methodsOfEndpoints } from './run-endpoint.js';
import { authenticate, type ApiCaller } from './authenticate.js';
import { authorizeRead, requirePermissions } from './authorize.js';
import { openEventStream } from './event-stream.js';
import type { Call } from './call.js';
import { endpoints, endpointsByPath } from './calls/index.js';
import type { Composed } from './documents.js';
import { acceptsEvents, checkAccept } from './media-type.js';
import { publishedSchema } from './configuration/document.js';
import { createPublishedOpenApi } from './openapi/document.js';
import { notFound } from './problems.js';
import { answerDownload } from './download.js';
import { createPublishing, type Published } from './published.js';
import { followedOf, queryParametersOf } from './query.js';
import { readLinkage, readList, readOne, readRelatedList, readRelatedOne, type ReadRequest } from './read.js';
import { documentReply, send, unlessKnown, type Reply } from './reply.js';
import { permissionFor, type Resource, type ResourceRegistry } from './resource.js';
import { requestAddressOf, allowedMethodsOf, findRoute, methodsOf, patternOf, verbOf, type Address, type Route } from './routes.js';
import { answerWrite } from './write.js';

type ApiRequest = {
  /** Who asks, or the 401 that is due once the request has been counted. */
  readonly caller: ApiCaller | OAuthError;
  /** What it does, once it has been counted; null when it has begun to answer by itself. */
  readonly answer: (call: Call, req: Request, res: Response) => Promise<Reply | null>;
};

declare module 'express-serve-static-core' {
  interface Request {
    /** Set below /api once the route and the caller are known. */
    api?: ApiRequest;
  }
}

function requestOf({ api }: Request): ApiRequest {
  if (!api) throw new Error('this handler is for requests whose route has been found');
  return api;
}

/** The subject of the caller's token; null without a good one. */
function subjectOf(req: Request): string | null {
  const { caller } = requestOf(req);
  return caller instanceof OAuthError ? null : caller.subject;
}

/** Who asks; a 401 is handed back rather than thrown, because guesses are counted before they are answered. @throws {OAuthError} 400 */
async function authenticated(web: Web, req: Request): Promise<ApiCaller | OAuthError> {
  try {
    return await authenticate(web, req);
  } catch (error) {
    if (error instanceof OAuthError && error.status === 401) return error;
    throw error;
  }
}

const endpointAddresses = endpointsByPath(endpoints);

/** What a read composes. @throws {ApiError} 400, 403, 404 */
function compose(call: Call, route: Route, request: ReadRequest): Promise<Composed> {
  const { resource } = route;
  switch (route.kind) {
    case 'collection':
      return readList(call, resource, request);
    case 'record':
      return readOne(call, resource, route.id, request);
    case 'related':
      return (route.relationship.kind === 'many' ? readRelatedList : readRelatedOne)(call, resource, route.id, route.name, request);
    case 'linkage':
      return readLinkage(call, resource, route.id, route.relationship, route.name, request);
    case 'download':
    case 'action':
      throw notFound();
  }
}

/** Answers with a stream of the events feed. @throws {ApiError} 400, 403, 410, 429 */
async function answerStream(call: Call, resource: Resource, { query }: Address, req: Request, res: Response): Promise<null> {
  const { caller } = requestOf(req);
  if (caller instanceof OAuthError) throw caller;
  await authorizeRead(call, resource, null);
  const followed = followedOf(call, resource, queryParametersOf(query), req.headers['last-event-id']);
  const { ctx } = call;
  await openEventStream(res, {
    reader: call,
    subject: caller.subject,
    followed,
    again: {
      key: `${ctx.environment.id} ${req.headers.authorization}`,
      async read() {
        const environment = await findEnvironmentById(ctx, ctx.environment.id);
        if (!environment) throw notFound();
        const now = createContext(ctx, environment);
        const { actor } = await caller.again(now);
        requirePermissions({ actor }, permissionFor(resource, 'read'));
        return { ctx: now, actor };
      },
    },
    lines: ({ event_type, body }) => `event: ${event_type}\ndata: ${body}`,
  });
  return null;
}

/** Answers GET and HEAD. The negotiation and the query are looked at once the operation knows that the caller may read. */
async function answerRead(call: Call, route: Route, { query }: Address, req: Request): Promise<Reply> {
  const parameters = () => {
    checkAccept(req.headers);
    return queryParametersOf(query);
  };
  return unlessKnown(req, documentReply(200, await compose(call, route, { parameters, sent: query })));
}

/**
 * The Management API under /api. Every request goes through the same checks in the same order: route 404, method 405, token 401, limit 429,
 * permission 403, negotiation 415/406, query 400, body 413, JSON 400, existence 404, If-Match 412, structure 400, type and id 409/403, related
 * 404, validation 422, conflicts 409 (specification 6.6.1). From the permission on they are made by the operation, which the dashboard runs too.
 */
export function managementRouter(web: Web, registry: ResourceRegistry): RequestHandler {
  const { api } = web.deps.config.rateLimits;
  /** Documents that need no token (specification 6.2.1), by their address. */
  const published: ReadonlyMap<string, Published> = new Map([
    ['/openapi.json', { textOf: createPublishedOpenApi(registry), headers: {} }],
    ['/config/schema.json', { textOf: publishedSchema, headers: { 'Access-Control-Allow-Origin': '*' } }],
  ]);

  const answerPublished = createPublishing();

  /** What a request of the address does. @throws {ApiError | MethodNotAllowedError} 404, 405 */
  function find(address: Address, method: string): ApiRequest['answer'] {
    const found = endpointAddresses.get(address.path.slice(1));
    const endpoint = found && endpointFor(found, method);
    if (endpoint) return (call, req, res) => answerEndpoint(call, endpoint, address, req, res);
    if (found) throw new MethodNotAllowedError(methodsOfEndpoints(found).join(', '));
    const route = findRoute(registry, address.path);
    if (!route) throw notFound('There is nothing at this address.');
    if (!methodsOf(route).includes(method)) throw new MethodNotAllowedError(allowedMethodsOf(route).join(', '));
    if (route.kind === 'download') return (call, _req, res) => answerDownload(call, route.resource, route.id, res);
    const isStream = ({ headers }: Request) =>
      method === 'GET' && route.kind === 'collection' && route.resource.isFeed && acceptsEvents(headers);
    if (verbOf(method) === 'read')
      return (call, req, res) =>
        isStream(req) ? answerStream(call, route.resource, address, req, res) : answerRead(call, route, address, req);
    return (call, req, res) => answerWrite(call, { route, address, req, res });
  }

  /** What an address that was found is called in a span: no id is in it. */
  function pattern(path: string): string {
    const route = endpointAddresses.has(path.slice(1)) ? null : findRoute(registry, path);
    return route ? patternOf(route) : path;
  }

  /** Finds the route and who asks. Without a good token the limit by address is next, and then its 401. @throws {ApiError | MethodNotAllowedError} */
  async function prepare(req: Request, res: Response, next: NextFunction): Promise<void> {
    const address = requestAddressOf(req.url);
    const open = published.get(address.path);
    if (open) return await answerPublished(open, req, res);
    const target = find(address, req.method);
    if (req.trace_id !== undefined) req.route_pattern = `${req.baseUrl}${pattern(address.path)}`;
    req.api = { caller: await authenticated(web, req), answer: target };
    next();
  }

  async function answer(req: Request, res: Response): Promise<void> {
    const { caller, answer: respond } = requestOf(req);
    if (caller instanceof OAuthError) throw caller;
    const { organization_id } = caller.actor;
    const ctx = organization_id ? inOrganization(req.ctx, organization_id) : req.ctx;
    const read_after = req.get('Read-After');
    const again = async (later: Context) => (await caller.again(later)).actor;
    const call: Call = { ctx, actor: caller.actor, registry, ...originOf(req), request_id: req.request_id, read_after, again };
    const reply = await respond(call, req, res);
    const written = verbOf(req.method) === 'read' ? null : await ctx.db.report?.writtenUpTo();
    if (written) res.set('Read-After', written);
    if (reply) send(res, reply);
  }

  return inSequence([
    tellNonce,
    prepare,
    limitByAddress(web, { name: 'api_address', limit: api, key: (req, address) => (subjectOf(req) === null ? address : null) }),
    limitBy(web, { name: 'api', limit: api, key: (req) => subjectOf(req) && `${req.ctx.environment.id} ${subjectOf(req)}` }),
    answer,
  ]);
}

import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { originOf } from '../http/pages/mail-origin.js';
import { MethodNotAllowedError } from '../http/routes.js';
import { addressKey, limitBy } from '../http/limits/rate-limits.js';
import type { Web } from '../http/web.js';
import { OAuthError } from '../errors.js';
import { recordDenial } from './audit.js';
import { authenticate } from './authenticate.js';
import type { Call } from './call.js';
import { checkAccept, checkContentType } from './negotiation.js';
import { requirePermissions } from './operations.js';
import { createPublishedOpenApi } from './openapi/document.js';
import { notFound } from './problems.js';
import { readQuery } from './query.js';
import { readLinkage, readList, readOne, readRelated } from './read.js';
import { send, unlessKnown, type Reply } from './reply.js';
import { permissionFor, targetOf, type Registry } from './resource.js';
import { answerOf, findRoute, methodsOf, operationOf, targetIdOf, verbOf, type Route } from './routes.js';
import { answerWrite, bearsDocument } from './write.js';
import { apiRoot } from './call.js';

type Middleware = (req: Request, res: Response) => Promise<void>;

const asPromise =
  (handler: RequestHandler): Middleware =>
  (req, res) =>
    new Promise<void>((resolve, reject) => {
      void handler(req, res, (error?: unknown) => (error ? reject(error as Error) : resolve()));
    });

/** The path and the query of a request. In the query what has no place in a URI (RFC 3986 3.4), such as brackets, is encoded. */
function addressOf(req: Request): { path: string; raw: string } {
  const mark = req.url.indexOf('?');
  if (mark < 0) return { path: req.url, raw: '' };
  return { path: req.url.slice(0, mark), raw: req.url.slice(mark).replaceAll(/[^\w\-.~!$&'()*+,;=:@/?%]/g, encodeURIComponent) };
}

async function answerRead(call: Call, route: Route, raw: string): Promise<Reply> {
  const resource = answerOf(call.registry, route);
  const list = route.kind === 'collection' || (route.kind !== 'record' && route.kind !== 'action' && route.relationship.kind === 'many');
  const linkage = route.kind === 'linkage';
  const rules = { resource: linkage ? targetOf(call.registry, route.relationship) : resource, list, linkage };
  const listName =
    route.kind === 'collection'
      ? resource.path
      : route.kind === 'record'
        ? ''
        : `${route.resource.path}/${route.id}/${'name' in route ? route.name : ''}`;
  const query = readQuery(call, raw.slice(1), rules, listName);
  switch (route.kind) {
    case 'collection':
      return readList(call, resource, `${apiRoot(call)}/${resource.path}`, listName, query, raw);
    case 'record':
      return readOne(call, resource, route.id, query, raw);
    case 'related':
      return readRelated(call, route.resource, route.id, route.name, query, raw);
    case 'linkage':
      return readLinkage(call, route.resource, route.id, route.name, query, raw);
    case 'action':
      throw notFound();
  }
}

/** Permissions that a route needs, before anything is read. */
function permissionsOf(registry: Registry, route: Route, method: string): string[] {
  const needed = [permissionFor(route.resource, verbOf(method))];
  if (route.kind === 'related') needed.push(permissionFor(targetOf(registry, route.relationship), 'read'));
  if (route.kind === 'linkage' && verbOf(method) === 'write' && route.relationship.kind === 'many')
    needed.push(...(route.relationship.change?.needs ?? []));
  if (route.kind === 'action') needed.push(...(route.resource.actions?.[route.verb]?.needs ?? []));
  return [...new Set(needed)];
}

/**
 * The Management API under /api. Every request goes through the same checks in the same order: route 404, method 405, token 401, limit 429,
 * permission 403, negotiation 415/406, query 400, body 413, JSON 400, existence 404, If-Match 412, structure 400, type and id 409/403, related
 * 404, validation 422, conflicts 409.
 */
export function managementRouter(web: Web, registry: Registry): RequestHandler {
  const { api } = web.deps.config.rateLimits;
  const subjects = new WeakMap<Request, string>();
  const limitSubject = asPromise(
    limitBy(web.limiter, { name: 'api', limit: api, key: (req) => `${req.ctx.environment.id} ${subjects.get(req) ?? ''}` }),
  );
  const limitAddress = asPromise(limitBy(web.limiter, { name: 'api_address', limit: api, key: (req) => addressKey(req.ip) }));

  const openApi = createPublishedOpenApi(registry);

  /** `/api/openapi.json` needs no token (specification 6.2.1). */
  function answerOpenApi(req: Request, res: Response): void {
    if (req.method !== 'GET' && req.method !== 'HEAD') throw new MethodNotAllowedError('GET, HEAD');
    const { body, etag } = openApi(req.ctx.environment);
    const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=300', ETag: etag };
    send(res, unlessKnown(req, { status: 200, headers, body }));
  }

  async function answer(req: Request, res: Response): Promise<void> {
    const { path, raw } = addressOf(req);
    if (path === '/openapi.json') return answerOpenApi(req, res);
    const route = findRoute(registry, path);
    if (!route) throw notFound('There is nothing at this address.');
    const methods = methodsOf(route);
    if (!methods.includes(req.method)) throw new MethodNotAllowedError(methods.join(', '));
    const { actor, subject } = await authenticate(req).catch(async (error: unknown) => {
      // Whoever has no token is counted by address, so that guessing is limited too.
      if (error instanceof OAuthError && error.status === 401) await limitAddress(req, res);
      throw error;
    });
    subjects.set(req, subject);
    await limitSubject(req, res);
    const call: Call = {
      ctx: req.ctx,
      actor,
      registry,
      ...originOf(req),
      request_id: req.request_id,
    };
    const entry = { action: operationOf(route, req.method), resource: route.resource, target_id: targetIdOf(route) };
    await recordDenial(call, entry, async () => requirePermissions(call, ...permissionsOf(registry, route, req.method)));
    if (bearsDocument(route, req.method)) checkContentType(req.headers);
    checkAccept(req.headers);
    const reply =
      verbOf(req.method) === 'read'
        ? unlessKnown(req, await answerRead(call, route, raw))
        : await answerWrite(call, route, req, res, entry);
    send(res, reply);
  }

  return (req: Request, res: Response, next: NextFunction) => {
    answer(req, res).catch(next);
  };
}

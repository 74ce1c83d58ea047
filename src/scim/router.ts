import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { noteSecurityEvent } from '../domain/audit/security-trail.js';
import { noteUse, directoryActor, directoryUrl, findUsableDirectory, type Directory } from '../domain/directories/directories.js';
import { noteRequest } from '../domain/directories/requests.js';
import { findOrganization } from '../domain/organizations/organizations.js';
import { Refusal } from '../domain/refusal.js';
import { BodyError, ScimError } from '../errors.js';
import { isUuid } from '../lib/random.js';
import { limitBy, limitByAddress } from '../http/limits/rate-limits.js';
import { inSequence } from '../http/exact-routes.js';
import { originOf } from '../http/pages/mail-origin.js';
import { scimJson } from '../http/render-scim-error.js';
import { route } from '../http/routes.js';
import type { Web } from '../http/web.js';
import { readScimBody } from './body.js';
import type { ScimCall, ScimOperation, ScimReply } from './call.js';
import { readServiceConfig, readMe, readResourceTypes, readSchemas } from './discovery.js';
import { createScimGroup, deleteScimGroup, patchScimGroup, readScimGroup, replaceScimGroup } from './groups.js';
import { queryValues, readScimQuery } from './list-query.js';
import { listGroups, listUsers, searchAll, searchInGroups, searchInUsers } from './search.js';
import { createScimUser, deleteScimUser, patchScimUser, readScimUser, replaceScimUser } from './users.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** The directory whose token the request bears; null without a good one. Set below /scim. */
    directory?: Directory | null;
  }
}

const bearer = /^bearer +([\w-]+) *$/i;

/** Whose token it is. Missing, wrong, another directory's, disabled: all one (specification 16.6). */
async function authenticate(req: Request, _res: Response, next: NextFunction): Promise<void> {
  const token = bearer.exec(req.headers.authorization ?? '')?.[1];
  const { directory_id } = req.params;
  const id = String(directory_id);
  req.directory = token === undefined ? null : await findUsableDirectory(req.ctx, id, token);
  if (!req.directory) {
    const target = { target_type: 'directory', target_id: isUuid(id) ? id : null };
    noteSecurityEvent(req.ctx, 'directory.authentication_failed', { target, origin: originOf(req), reason: 'invalid_credentials' });
  }
  next();
}

const unauthorized = () =>
  new ScimError(401, null, 'The token is not good for this directory.', { 'WWW-Authenticate': 'Bearer realm="scim"' });

/** The refusal in the words of SCIM; null for what is none of the caller's doing. */
function scimErrorOf(error: unknown): ScimError | null {
  if (error instanceof ScimError) return error;
  if (error instanceof BodyError) return new ScimError(error.status, error.status === 400 ? 'invalidSyntax' : null, error.message);
  const problem = error instanceof Refusal ? error.problems[0] : undefined;
  if (!problem) return null;
  const { status, code, detail } = problem;
  if (status === 422) return new ScimError(400, 'invalidValue', detail);
  return new ScimError(status, code === 'already_exists' ? 'uniqueness' : null, detail);
}

async function callOf(req: Request, res: Response, directory: Directory): Promise<ScimCall> {
  const { ctx } = req;
  const organization = await findOrganization(ctx, directory.organization_id);
  if (!organization) throw unauthorized();
  const actor = directoryActor(directory, organization, originOf(req));
  const query = readScimQuery(queryValues(req.url));
  const body = await readScimBody(req, res);
  return { ctx, teller: { directory, organization, actor }, base: directoryUrl(ctx, directory), req, body, query };
}

function send(res: Response, { status, body, headers = {} }: ScimReply): void {
  res.status(status).set({ 'Cache-Control': 'private, no-cache', ...headers });
  if (body === null) return void res.end();
  const text = JSON.stringify(body);
  res.setHeader('Content-Type', scimJson);
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}

/** Keeps the request for the directory's page, without its query: filters name people. That is no reason to fail it. */
async function keep(req: Request, directory: Directory, response_status: number, error: ScimError | null): Promise<void> {
  const [address = ''] = req.originalUrl.split('?');
  const path = address.slice(address.indexOf(directory.id) + directory.id.length);
  try {
    await noteUse(req.ctx, directory);
    await noteRequest(req.ctx, {
      directory_id: directory.id,
      method: req.method,
      path,
      response_status,
      error: error && { scimType: error.scim_type, detail: error.detail },
      request_id: req.request_id,
    });
  } catch (err) {
    req.ctx.logger.warn(
      { event: 'scim.request_lost', request_id: req.request_id, err },
      'a request of a directory was not kept for its page',
    );
  }
}

/** Answers with what the operation says; its refusals are kept as what was answered. */
const answer =
  (operation: ScimOperation): RequestHandler =>
  async (req, res) => {
    const { directory } = req;
    if (!directory) throw unauthorized();
    let reply: ScimReply;
    try {
      reply = await operation(await callOf(req, res, directory));
    } catch (error) {
      const refusal = scimErrorOf(error);
      if (refusal) await keep(req, directory, refusal.status, refusal);
      throw refusal ?? error;
    }
    await keep(req, directory, reply.status, null);
    send(res, reply);
  };

/** SCIM 2.0 (RFC 7643, RFC 7644) under /scim/v2/{directory}: how an organization's directory tells of its people and groups. */
export function scimRouter(web: Web): RequestHandler {
  const router = express.Router({ caseSensitive: true });
  const { scim } = web.deps.config.rateLimits;
  const begin = inSequence([
    authenticate,
    limitByAddress(web, {
      name: 'scim_address',
      limit: scim,
      key: (req, address) => (req.directory ? null : `${req.ctx.environment.id} ${address}`),
    }),
    limitBy(web, { name: 'scim', limit: scim, key: (req) => (req.directory ? `${req.ctx.environment.id} ${req.directory.id}` : null) }),
  ]);
  const does = (operation: ScimOperation) => [begin, answer(operation)];
  const at = (path: string, methods: Parameters<typeof route>[2]) => route(router, `/scim/v2/:directory_id${path}`, methods);

  at('/ServiceProviderConfig', { get: does(readServiceConfig) });
  at('/Schemas', { get: does(readSchemas) });
  at('/Schemas/:id', { get: does(readSchemas) });
  at('/ResourceTypes', { get: does(readResourceTypes) });
  at('/ResourceTypes/:id', { get: does(readResourceTypes) });
  const me = does(readMe);
  at('/Me', { get: me, post: me, put: me, patch: me, delete: me });
  at('/.search', { post: does(searchAll) });
  at('/Users/.search', { post: does(searchInUsers) });
  at('/Groups/.search', { post: does(searchInGroups) });
  at('/Users', { get: does(listUsers), post: does(createScimUser) });
  at('/Users/:id', { get: does(readScimUser), put: does(replaceScimUser), patch: does(patchScimUser), delete: does(deleteScimUser) });
  at('/Groups', { get: does(listGroups), post: does(createScimGroup) });
  at('/Groups/:id', { get: does(readScimGroup), put: does(replaceScimGroup), patch: does(patchScimGroup), delete: does(deleteScimGroup) });
  router.use('/scim/v2/:directory_id', begin, (req, _res, next) =>
    next(req.directory ? new ScimError(404, null, 'There is nothing at this address.') : unauthorized()),
  );
  return router;
}

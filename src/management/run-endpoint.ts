import type { Request, Response } from 'express';
import { refuseUnlessOperator } from '../domain/configuration/settings.js';
import { recordDenial } from './audit.js';
import { requireStrongSignIn, requirePermissions } from './authorize.js';
import { parseDocument, readBody } from './body.js';
import { apiRoot, type Call } from './call.js';
import type { Endpoint } from './calls/endpoint.js';
import type { EndpointsByMethod } from './calls/index.js';
import { metaDocument } from './documents.js';
import { readMeta } from './input.js';
import { checkAccept, checkContentType } from './media-type.js';
import { translated } from './problems.js';
import { queryParametersOf, readQuery } from './query.js';
import { documentReply, unlessKnown, type Reply } from './reply.js';
import type { ResourceRow } from './resource.js';
import type { Address } from './routes.js';

export const methodsOfEndpoints = (found: EndpointsByMethod): string[] =>
  Object.keys(found).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));

/** The endpoint that a request asks for; HEAD is GET (RFC 9110 9.3.2). */
export const endpointFor = (found: EndpointsByMethod, method: string): Endpoint | undefined => found[method === 'HEAD' ? 'GET' : method];

/**
 * Runs an endpoint, for the API and the dashboard: permissions first, then the rest of the request is read (`receive`), then its input is checked. A
 * refusal for want of permission is noted in the audit log.
 * @returns the top-level `meta` of the answer
 * @throws {ApiError} 400, 401, 403, 409, 422
 */
export async function runEndpoint(
  call: Call,
  endpoint: Endpoint,
  receive: () => Promise<ResourceRow> | ResourceRow = () => ({}),
): Promise<ResourceRow> {
  const entry = { action: endpoint.name, resource: { type: endpoint.group }, target_id: null };
  return recordDenial(call, entry, () =>
    translated(undefined, async () => {
      if (endpoint.writes) requireStrongSignIn(call);
      requirePermissions(call, ...endpoint.permissions);
      if (endpoint.operators) refuseUnlessOperator(call.ctx);
      const document = await receive();
      return endpoint.run(call, endpoint.input ? readMeta(endpoint.input, document) : {});
    }),
  );
}

/** Answers a request of an endpoint, with the checks in the order of the records' requests (specification 6.6.1). */
export async function answerEndpoint(call: Call, endpoint: Endpoint, address: Address, req: Request, res: Response): Promise<Reply> {
  const receive = async () => {
    if (endpoint.input) checkContentType(req.headers);
    checkAccept(req.headers);
    readQuery(call, queryParametersOf(address.query), { resource: null, list: false }, '');
    return endpoint.input ? parseDocument(await readBody(req, res, endpoint.maxBytes)) : {};
  };
  const meta = await runEndpoint(call, endpoint, receive);
  const composed = { document: metaDocument(call, `${apiRoot(call)}/${endpoint.path}`, meta), version: null };
  if (endpoint.method === 'GET') return unlessKnown(req, documentReply(200, composed));
  return documentReply(200, composed, { 'Cache-Control': 'no-store' });
}

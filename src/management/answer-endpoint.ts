import type { Request, Response } from 'express';
import { parseDocument, readBody } from './body.js';
import { apiRoot, type Call } from './call.js';
import { metaDocument } from './documents.js';
import { checkAccept, checkContentType } from './negotiation.js';
import { parametersOf, readQuery } from './query.js';
import { documentReply, unlessKnown, type Reply } from './reply.js';
import type { Address } from './routes.js';
import type { Endpoint } from './calls/endpoint.js';
import type { EndpointsByMethod } from './calls/index.js';
import { runEndpoint } from './run-endpoint.js';

/** The methods that an address with endpoints answers. */
export const methodsOfEndpoints = (found: EndpointsByMethod): string[] =>
  Object.keys(found).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));

/** The endpoint that a request asks for; HEAD is GET (RFC 9110 9.3.2). */
export const endpointFor = (found: EndpointsByMethod, method: string): Endpoint | undefined => found[method === 'HEAD' ? 'GET' : method];

/** Answers a request of an endpoint, with the checks in the order of the records' requests (specification 6.6.1). */
export async function answerEndpoint(call: Call, endpoint: Endpoint, address: Address, req: Request, res: Response): Promise<Reply> {
  const read = async () => {
    if (endpoint.input) checkContentType(req.headers);
    checkAccept(req.headers);
    readQuery(call, parametersOf(address.query), { resource: null, list: false }, '');
    return endpoint.input ? parseDocument(await readBody(req, res, endpoint.maxBytes)) : {};
  };
  const meta = await runEndpoint(call, endpoint, read);
  const composed = { document: metaDocument(call, `${apiRoot(call)}/${endpoint.path}`, meta), version: null };
  if (endpoint.method === 'GET') return unlessKnown(req, documentReply(200, composed));
  return documentReply(200, composed, { 'Cache-Control': 'no-store' });
}

import type { Request, Response } from 'express';
import { parseDocument, readBody } from './body.js';
import { checkPartType, readPart } from './part.js';
import type { Call } from './call.js';
import { AlreadyDone, repeatableOf } from './idempotency.js';
import { checkAccept, checkContentType } from './media-type.js';
import { notFound } from './problems.js';
import { queryParametersOf, readQuery, type Query } from './query.js';
import { composeRecord, locationOf } from './read.js';
import { documentReply, expectedVersions, noContent, type Reply } from './reply.js';
import { idOf } from './resource.js';
import { answeredResourceOf, type Address, type Route } from './routes.js';
import type { Operation } from './write-kinds.js';
import type { Received, WriteResult } from './write-state.js';
import { perform } from './write-steps.js';

/** Whether a request of this kind bears a document; actions without input and DELETE of a record ignore what is sent. */
function bearsDocument(route: Route, method: string): boolean {
  if (method === 'GET' || method === 'HEAD' || route.kind === 'related' || route.kind === 'download') return false;
  if (route.kind === 'action') return route.resource.actions?.[route.verb]?.input !== undefined;
  return !(route.kind === 'record' && method === 'DELETE');
}

/** The reply to a write. What is shown once must not stay in a cache. */
async function replyTo(call: Call, { kind }: Operation, outcome: WriteResult, query: Query, method: string): Promise<Reply> {
  if (kind !== 'create' && kind !== 'update' && kind !== 'act') return noContent;
  const id = idOf(outcome.resource, outcome.row);
  const self = locationOf(call, outcome.resource, id);
  const created = kind === 'create';
  const headers = { ...(created ? { Location: self } : {}), ...(outcome.once || outcome.meta ? { 'Cache-Control': 'no-store' } : {}) };
  const status = created ? 201 : kind === 'act' && method === 'POST' ? 202 : 200;
  return documentReply(status, await composeRecord(call, outcome.resource, outcome.row, query, { ...outcome, self }), headers);
}

/** A request that writes: where it goes, and what of it is still to be read. */
type Writing = { readonly route: Route; readonly address: Address; readonly req: Request; readonly res: Response };

const linkageKinds = { POST: 'add', DELETE: 'remove' } as const;

/** What a request asks for. @throws {ApiError} 404 */
function operationOf({ route, req: { method } }: Writing): Operation {
  const { resource } = route;
  switch (route.kind) {
    case 'collection':
      return { kind: 'create', resource, id: null };
    case 'action':
      return { kind: 'act', resource, id: route.id, name: route.verb };
    case 'record':
      return { kind: method === 'DELETE' ? 'delete' : 'update', resource, id: route.id };
    case 'linkage':
      return { kind: linkageKinds[method as 'POST'] ?? 'replace', resource, id: route.id, name: route.name };
    case 'download':
    case 'related':
      throw notFound();
  }
}

/** Reads the rest of the request: negotiation, query, body. @throws {ApiError} 400, 406, 413, 415 */
async function receive(call: Call, operation: Operation, { route, address, req, res }: Writing): Promise<Received> {
  const withDocument = bearsDocument(route, req.method);
  const receives = route.kind === 'action' ? route.resource.actions?.[route.verb]?.receives : undefined;
  if (receives) checkPartType(req.headers, receives.mediaType);
  if (withDocument) checkContentType(req.headers);
  checkAccept(req.headers);
  const showsRecord = route.kind !== 'linkage' && req.method !== 'DELETE';
  const rules = { resource: showsRecord ? answeredResourceOf(call.registry, route) : null, list: false };
  const query = readQuery(call, queryParametersOf(address.query), rules, '');
  const bytes = withDocument ? await readBody(req, res, route.resource.maxBytes) : Buffer.alloc(0);
  return {
    ...(receives && { prepared: await readPart(req, res, receives.maxBytes) }),
    document: withDocument ? parseDocument(bytes) : {},
    repeatable: req.method === 'DELETE' || receives ? null : repeatableOf(req, call.actor, address, bytes),
    answer: (tx, outcome) => replyTo(tx, operation, outcome, query, req.method),
  };
}

/** Answers POST, PATCH and DELETE; a repeated Idempotency-Key gets the reply of the first time, but for what that showed once. */
export async function answerWrite(call: Call, writing: Writing): Promise<Reply> {
  const operation = operationOf(writing);
  const expecting = { ...operation, expected: expectedVersions(writing.req) };
  try {
    return (await perform(call, { ...expecting, receive: (authorized) => receive(authorized, operation, writing) })).reply;
  } catch (error) {
    if (error instanceof AlreadyDone) return error.reply;
    throw error;
  }
}

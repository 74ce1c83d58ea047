import type { Request, Response } from 'express';
import { parseDocument, readBody } from './body.js';
import type { Call } from './call.js';
import { changeRelationship } from './change-relationship.js';
import { AlreadyDone, claimKey, repeatableOf, storedReply, storeReply, type Repeatable } from './idempotency.js';
import { readInput, parseLinkage } from './input.js';
import { actOnRecord, createRecord, deleteRecord, updateRecord, type WriteResult, type WriteOptions } from './operations.js';
import { checkAccept, checkContentType } from './negotiation.js';
import { notFound, refuse } from './problems.js';
import { parametersOf, readQuery, type Query } from './query.js';
import { composeRecord, locationOf } from './read.js';
import { documentReply, expectedVersions, noContent, type Reply } from './reply.js';
import { idOf } from './resource.js';
import { answerOf, type Address, type Route } from './routes.js';

/** Whether a request of this kind bears a document; actions without input and DELETE of a record ignore what is sent. */
function bearsDocument(route: Route, method: string): boolean {
  if (method === 'GET' || method === 'HEAD' || route.kind === 'related') return false;
  if (route.kind === 'action') return route.resource.actions?.[route.verb]?.input !== undefined;
  return !(route.kind === 'record' && method === 'DELETE');
}

/** The reply to a write that shows its record. What is shown once must not stay in a cache. */
async function replyTo(
  call: Call,
  route: Route,
  outcome: WriteResult,
  query: Pick<Query, 'include' | 'fields'>,
  method: string,
): Promise<Reply> {
  const id = idOf(outcome.resource, outcome.row);
  const self = locationOf(call, outcome.resource, id);
  const created = route.kind === 'collection';
  const headers = { ...(created ? { Location: self } : {}), ...(outcome.once || outcome.meta ? { 'Cache-Control': 'no-store' } : {}) };
  const status = created ? 201 : route.kind === 'action' && method === 'POST' ? 202 : 200;
  return documentReply(status, await composeRecord(call, outcome.resource, outcome.row, query, { ...outcome, self }), headers);
}

/** The outcome as a repetition of the request tells it: without what is shown once, and saying so. */
function toldAgain(outcome: WriteResult): WriteResult {
  if (!outcome.once && !outcome.metaAgain) return outcome;
  const { once: _once, metaAgain: _metaAgain, ...rest } = outcome;
  return { ...rest, meta: { ...(outcome.metaAgain ?? outcome.meta), secret_shown_before: true } };
}

/** A request that writes: where it goes, and what of it is still to be read. */
type Writing = { readonly route: Route; readonly address: Address; readonly req: Request; readonly res: Response };

/** What it says beside its address. */
type Sent = {
  readonly query: Pick<Query, 'include' | 'fields'>;
  readonly document: Record<string, unknown>;
  readonly repeatable: Repeatable | null;
};

/** Reads the rest of the request: negotiation, query, body. @throws {ApiError} 400, 406, 413, 415 */
async function readSent(call: Call, { route, address, req, res }: Writing): Promise<Sent> {
  const withDocument = bearsDocument(route, req.method);
  if (withDocument) checkContentType(req.headers);
  checkAccept(req.headers);
  const showsRecord = route.kind !== 'linkage' && req.method !== 'DELETE';
  const rules = { resource: showsRecord ? answerOf(call.registry, route) : null, list: false };
  const query = readQuery(call, parametersOf(address.query), rules, '');
  const bytes = withDocument ? await readBody(req, res, route.resource.maxBytes) : Buffer.alloc(0);
  const document = withDocument ? parseDocument(bytes) : {};
  const repeatable = req.method === 'DELETE' ? null : repeatableOf(req, call.actor, address, bytes);
  return { query, document, repeatable };
}

/** The linkage of a document. @throws {ApiError} 400 */
function linkageOf(document: Record<string, unknown>) {
  if (document['data'] === undefined) throw refuse(400, 'malformed_document', 'The document needs "data".', { pointer: '' });
  return parseLinkage(document['data'], 'data');
}

async function perform(call: Call, { route, req }: Writing, document: () => Record<string, unknown>, options: WriteOptions): Promise<void> {
  const { resource } = route;
  switch (route.kind) {
    case 'collection':
      return void (await createRecord(call, resource, () => readInput(document(), resource, null), options));
    case 'action':
      return void (await actOnRecord(call, resource, route.id, route.verb, { ...options, document }));
    case 'record':
      if (req.method === 'DELETE') return deleteRecord(call, resource, route.id, options);
      return void (await updateRecord(call, resource, route.id, () => readInput(document(), resource, route.id), options));
    case 'linkage': {
      const how = req.method === 'POST' ? 'add' : req.method === 'DELETE' ? 'remove' : 'replace';
      return changeRelationship(call, resource, route.id, route.name, how, () => linkageOf(document()), options);
    }
    case 'related':
      throw notFound();
  }
}

/**
 * Answers POST, PATCH and DELETE; a repeated Idempotency-Key gets the reply of the first time, but for what that showed once. The operation
 * asks for the rest of the request once it knows that the caller may send it.
 */
export async function answerWrite(asked: Call, writing: Writing): Promise<Reply> {
  const { route, req } = writing;
  let sent: Sent = { query: { include: null, fields: new Map() }, document: {}, repeatable: null };
  let reply: Reply = noContent;
  const needed = req.headers['idempotency-key'] === undefined || req.method === 'DELETE' ? undefined : new Set<string>();
  const options: WriteOptions = {
    needed,
    expected: expectedVersions(req),
    authorized: async (call) => {
      sent = await readSent(call, writing);
      if (!sent.repeatable) return call;
      const earlier = await storedReply(call, sent.repeatable);
      if (earlier) throw new AlreadyDone(earlier);
      return { ...call, idempotency_key_digest: sent.repeatable.digest };
    },
    begin: async (inner) => {
      if (sent.repeatable) await claimKey(inner, sent.repeatable);
    },
    finish: async (inner, outcome) => {
      reply = outcome ? await replyTo(inner, route, outcome, sent.query, req.method) : noContent;
      if (!sent.repeatable) return;
      const again = outcome ? toldAgain(outcome) : null;
      const kept = again && again !== outcome ? await replyTo(inner, route, again, sent.query, req.method) : reply;
      await storeReply(inner, sent.repeatable, kept, needed ?? []);
    },
  };
  try {
    await perform(asked, writing, () => sent.document, options);
  } catch (error) {
    if (error instanceof AlreadyDone) return error.reply;
    throw error;
  }
  return reply;
}

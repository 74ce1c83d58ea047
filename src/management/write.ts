import type { Request, Response } from 'express';
import { recordDenial, type AuditEntry } from './audit.js';
import { parseDocument, readBody } from './body.js';
import type { Call } from './call.js';
import { changeRelationship } from './change-relationship.js';
import { AlreadyDone, claimKey, repeatableOf, storedReply, storeReply, type Repeatable } from './idempotency.js';
import { readInput, readLinkage } from './input.js';
import { actOnRecord, createRecord, deleteRecord, requireRecord, updateRecord, type Outcome, type WriteOptions } from './operations.js';
import { refuse } from './problems.js';
import { readQuery, type Query } from './query.js';
import { locationOf, recordReply } from './read.js';
import { expectedVersions, noContent, type Reply } from './reply.js';
import { idOf } from './resource.js';
import { answerOf, type Route } from './routes.js';

/** Whether a request of this kind bears a document; actions without input and DELETE of a record ignore what is sent. */
export function bearsDocument(route: Route, method: string): boolean {
  if (method === 'GET' || method === 'HEAD' || route.kind === 'related') return false;
  if (route.kind === 'action') return route.resource.actions?.[route.verb]?.input !== undefined;
  return !(route.kind === 'record' && method === 'DELETE');
}

const noQuery: Pick<Query, 'include' | 'fields'> = { include: null, fields: new Map() };

/** The reply to a write that shows its record. What is shown once must not stay in a cache. */
async function replyTo(
  call: Call,
  route: Route,
  outcome: Outcome,
  query: Pick<Query, 'include' | 'fields'>,
  method: string,
): Promise<Reply> {
  const id = idOf(outcome.resource, outcome.row);
  const self = locationOf(call, outcome.resource, id);
  const created = route.kind === 'collection';
  const headers = { ...(created ? { Location: self } : {}), ...(outcome.once || outcome.meta ? { 'Cache-Control': 'no-store' } : {}) };
  const status = created ? 201 : route.kind === 'action' && method === 'POST' ? 202 : 200;
  return recordReply(call, outcome.resource, outcome.row, query, { status, self, once: outcome.once, meta: outcome.meta, headers });
}

/** The outcome as a repetition of the request tells it: without what is shown once, and saying so. */
function toldAgain(outcome: Outcome): Outcome {
  if (!outcome.once && !outcome.metaAgain) return outcome;
  const { once: _once, metaAgain: _metaAgain, ...rest } = outcome;
  return { ...rest, meta: { ...(outcome.metaAgain ?? outcome.meta), secret_shown_before: true } };
}

type Task = {
  readonly call: Call;
  readonly route: Route;
  readonly req: Request;
  readonly document: Record<string, unknown>;
  readonly options: WriteOptions;
};

async function perform({ call, route, req, document, options }: Task): Promise<void> {
  const { resource } = route;
  if (route.kind === 'collection') {
    await createRecord(call, resource, readInput(document, resource, null), options);
  } else if (route.kind === 'action') {
    await actOnRecord(call, resource, route.id, route.verb, { ...options, document });
  } else if (route.kind === 'record' && req.method === 'DELETE') {
    await deleteRecord(call, resource, route.id, options);
  } else {
    await requireRecord(call.ctx, resource, route.id, options);
    if (route.kind === 'record') {
      await updateRecord(call, resource, route.id, readInput(document, resource, route.id), options);
    } else if (route.kind === 'linkage') {
      if (document['data'] === undefined) throw refuse(400, 'malformed_document', 'The document needs "data".', { pointer: '' });
      const how = req.method === 'POST' ? 'add' : req.method === 'DELETE' ? 'remove' : 'replace';
      await changeRelationship(call, resource, route.id, route.name, how, readLinkage(document['data'], 'data'), { ...options, document });
    }
  }
}

/** Answers POST, PATCH and DELETE; a repeated Idempotency-Key gets the reply of the first time, but for what that showed once. */
export async function answerWrite(call: Call, route: Route, req: Request, res: Response, entry: AuditEntry): Promise<Reply> {
  const shown = answerOf(call.registry, route);
  const showsRecord = route.kind !== 'linkage' && req.method !== 'DELETE';
  const { raw, path } = { raw: req.url.includes('?') ? req.url.slice(req.url.indexOf('?') + 1) : '', path: req.url.split('?')[0] ?? '' };
  const query = showsRecord
    ? readQuery(call, raw, { resource: shown, list: false }, '')
    : (readQuery(call, raw, { resource: null, list: false }, ''), noQuery);
  const withDocument = bearsDocument(route, req.method);
  const bytes = withDocument ? await readBody(req, res) : Buffer.alloc(0);
  const document = withDocument ? parseDocument(bytes) : {};
  const repeatable: Repeatable | null = req.method === 'DELETE' ? null : repeatableOf(req, call.actor, path, bytes);
  const earlier = repeatable && (await recordDenial(call, entry, () => storedReply(call, repeatable)));
  if (earlier) return earlier;

  let reply: Reply = noContent;
  const needed = repeatable ? new Set<string>() : undefined;
  const options: WriteOptions = {
    needed,
    expected: expectedVersions(req),
    begin: async (inner) => {
      if (repeatable) await claimKey(inner, repeatable);
    },
    finish: async (inner, outcome) => {
      reply = outcome ? await replyTo(inner, route, outcome, query, req.method) : noContent;
      if (!repeatable) return;
      const again = outcome ? toldAgain(outcome) : null;
      const kept = again && again !== outcome ? await replyTo(inner, route, again, query, req.method) : reply;
      await storeReply(inner, repeatable, kept, needed ?? []);
    },
  };
  const known = repeatable ? { ...call, idempotency_key_digest: repeatable.digest } : call;
  try {
    await perform({ call: known, route, req, document, options });
  } catch (error) {
    if (error instanceof AlreadyDone) return error.reply;
    throw error;
  }
  return reply;
}

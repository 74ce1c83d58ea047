import type { Request } from 'express';
import { equalDigests, digest } from '../lib/digest.js';
import { findIdempotencyKey, insertIdempotencyKey, lockIdempotencyKey } from '../db/tables/idempotency_keys.js';
import type { Actor } from '../domain/actor.js';
import { isElsewhere, lackedBy } from '../domain/reach/reach.js';
import { reachElsewhere } from '../domain/reach/reach-of.js';
import type { Aad } from '../lib/seal.js';
import type { Call } from './call.js';
import { insufficientScope, refuse } from './problems.js';
import type { Reply } from './reply.js';
import type { Address } from './routes.js';

const lifetimeMs = 86_400_000;

/** A write that may be repeated safely: who, where and with which key, and what exactly was asked. */
export type Repeatable = { readonly digest: Buffer; readonly fingerprint: Buffer };

/**
 * The Idempotency-Key of the request (draft-ietf-httpapi-idempotency-key-header-07), bound to who acts, method and path; the query and the body must be the same again.
 * @throws {ApiError} 400 for a key that isn't 1 to 255 printable characters
 */
export function repeatableOf(
  req: Request,
  { actor_kind, actor_id, organization_id = null }: Actor,
  { path, query }: Address,
  body: Buffer,
): Repeatable | null {
  const key = req.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key) || key.trim() === '') {
    throw refuse(400, 'invalid_idempotency_key', 'The key must be 1 to 255 printable ASCII characters.', { header: 'Idempotency-Key' });
  }
  return {
    digest: digest([actor_kind, actor_id, req.method, path, key, ...(organization_id === null ? [] : [organization_id])].join('\n')),
    fingerprint: digest(`${query}\n${body.toString('latin1')}`),
  };
}

const aadOf = (repeatable: Repeatable): Aad => `idempotency_keys/${repeatable.digest.toString('hex')}`;

/** A stored reply: without attributes that are shown once, and with the permissions that the request needed. */
type StoredReply = { readonly reply: Reply; readonly required: readonly string[] };

/**
 * What the same request was answered within the last 24 hours, or null.
 * @throws {ApiError} 403 when the caller may no longer do it, 422 for another request with that key
 */
export async function storedReply(call: Call, repeatable: Repeatable): Promise<Reply | null> {
  const since = new Date(call.ctx.clock.now().getTime() - lifetimeMs);
  const row = await findIdempotencyKey(call.ctx.scope, repeatable.digest, since);
  if (!row) return null;
  if (!equalDigests(row.fingerprint, repeatable.fingerprint)) {
    throw refuse(422, 'idempotency_key_reused', 'This key was used for another request.', { header: 'Idempotency-Key' });
  }
  const { reply, required } = JSON.parse(call.ctx.crypto.sealer.open(row.reply_sealed, aadOf(repeatable))) as StoredReply;
  const elsewhere = required.some(isElsewhere) ? await reachElsewhere(call.ctx, call.actor) : undefined;
  if (lackedBy({ ...call.actor, ...(elsewhere && { elsewhere }) }, required).length > 0) throw insufficientScope(required);
  return { ...reply, headers: { ...reply.headers, 'Idempotent-Replayed': 'true' } };
}

/** Thrown inside the transaction when another request with the key has completed first; `reply` is that request's. */
export class AlreadyDone extends Error {
  constructor(readonly reply: Reply) {
    super('answered before');
    this.name = 'AlreadyDone';
  }
}

/**
 * Holds the key for the transaction that is about to write.
 * @throws {ApiError} 409 while a request with the same key is at work @throws {AlreadyDone}
 */
export async function claimKey(call: Call, repeatable: Repeatable): Promise<void> {
  if (!(await lockIdempotencyKey(call.ctx.scope, repeatable.digest))) {
    throw refuse(409, 'idempotency_key_in_use', 'A request with this key is being worked on.', { header: 'Idempotency-Key' });
  }
  const earlier = await storedReply(call, repeatable);
  if (earlier) throw new AlreadyDone(earlier);
}

/** Stores the reply in the transaction of the write, sealed: it tells of people. What it shows once must not be in it. */
export async function storeReply(call: Call, repeatable: Repeatable, reply: Reply, required: Iterable<string>): Promise<void> {
  const stored: StoredReply = { reply, required: [...required].sort() };
  const reply_sealed = call.ctx.crypto.sealer.seal(JSON.stringify(stored), aadOf(repeatable));
  await insertIdempotencyKey(call.ctx.scope, { ...repeatable, reply_sealed, created_at: call.ctx.clock.now() });
}

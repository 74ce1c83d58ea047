import type { Actor } from '../domain/actor.js';
import { createContext, type Context } from '../domain/context.js';
import { findEnvironmentById } from '../domain/environments/environments.js';
import { deadlineIn } from '../lib/deadline.js';
import { notFound } from './problems.js';
import type { ResourceRegistry } from './resource.js';

/** One use of the Management operations, by a request under /api or by a page of the dashboard. */
export type Call = {
  readonly ctx: Context;
  readonly actor: Actor;
  readonly registry: ResourceRegistry;
  readonly request_id: string;
  readonly ip_address: string | null;
  readonly user_agent: string | null;
  /** Digest of the Idempotency-Key, for the audit log. */
  readonly idempotency_key_digest?: Buffer | null;
  /** The value of `Read-After`, and for a page whether its reader has written lately: what lists must have. Absent: anything up to `REPORT_MAX_LAG_MS` old. */
  readonly read_after?: string | undefined;
  /** Who asks by now, by another context, for an answer that goes on. @throws what their refusal throws */
  again?(ctx: Context): Promise<Actor>;
};

/** A file takes as long as its reader does, so each piece of it has a deadline of its own. */
const pieceMs = 5_000;

/**
 * The call for the next piece of a file, by who asks as they are by now: what the piece takes is asked of them anew.
 * @throws {ApiError} 404 without its environment @throws what the refusal of who asks throws
 */
export async function forNextPiece(call: Call): Promise<Call> {
  const environment = await findEnvironmentById(call.ctx, call.ctx.environment.id);
  if (!environment || !call.again) throw notFound();
  const ctx = createContext(call.ctx, environment, deadlineIn(pieceMs));
  return { ...call, ctx, actor: await call.again(ctx) };
}

/** The root of every link: `{base_url}/api` of the environment, never taken from the request. */
export const apiRoot = (call: Pick<Call, 'ctx'>): string => `${call.ctx.environment.base_url}/api`;

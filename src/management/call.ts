import type { Actor } from '../domain/actor.js';
import type { Context } from '../domain/context.js';
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
};

/** The root of every link: `{base_url}/api` of the environment, never taken from the request. */
export const apiRoot = (call: Pick<Call, 'ctx'>): string => `${call.ctx.environment.base_url}/api`;

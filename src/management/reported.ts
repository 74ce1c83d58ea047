import { DatabaseFailure } from '../db/connection/failures.js';
import { createScope } from '../db/scope.js';
import type { Call } from './call.js';

/**
 * What lists, figures and exports are read with: the report replica where there is one that has what the caller must see, else the primary, which also does
 * what that fails at (specification 1.10.2).
 */
export async function reported<C extends Pick<Call, 'ctx' | 'read_after'>, T>(call: C, read: (call: C) => Promise<T>): Promise<T> {
  const { ctx, read_after } = call;
  const { report } = ctx.db;
  const knex = ctx.committed ? null : report?.current(read_after);
  if (!report || !knex) return read(call);
  const { environment_id, deadline, organization_id } = ctx.scope;
  try {
    return await read({ ...call, ctx: { ...ctx, scope: createScope(knex, environment_id, deadline, undefined, organization_id) } });
  } catch (error) {
    if (!(error instanceof DatabaseFailure)) throw error;
    report.distrust();
    return read(call);
  }
}

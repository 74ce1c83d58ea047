import { tryAdvisoryLock } from '../db/connection/advisory-lock.js';
import { deleteUnusedClient, listUnusedClients } from '../db/tables/unused_clients.js';
import { startLoop, type Loop } from '../platform/loop.js';
import { recordSecurityEvent } from '../domain/audit/security-trail.js';
import { createContext, transaction, type Deps } from '../domain/context.js';
import { emitClientDeleted } from '../domain/events/clients.js';
import { findServedEnvironment } from '../domain/environments/environments.js';
import { noOrigin } from '../domain/origin.js';
import { forEachRecord } from './each-record.js';

const dayMs = 86_400_000;
const pauseMs = 600_000;
const batch = 500;

/**
 * One pass over unverified clients that came by themselves and that nobody uses: those that signed nobody in within a day, and those that held nothing
 * for `unused_client_lifetime`. They are removed with an audit entry each; an application that still has the id is told 401 `invalid_client` and
 * registers anew. One replica at a time. @returns how many were removed
 */
export async function unusedClientPass(deps: Deps, signal?: AbortSignal): Promise<number> {
  let removed = 0;
  await tryAdvisoryLock(deps.db.knex, 'unused_clients', async () => {
    const now = deps.clock.now();
    const at = { now, unproven: new Date(now.getTime() - dayMs) };
    const unused = await listUnusedClients(deps.db.knex, at, batch);
    const work = async ({ environment_id, id, name }: (typeof unused)[number]) => {
      const environment = await findServedEnvironment(deps, environment_id);
      if (!environment) return;
      await transaction(createContext(deps, environment), async (tx) => {
        if (!(await deleteUnusedClient(tx.scope, id, at))) return;
        const actor = { actor_kind: 'system', actor_id: null, display: null } as const;
        const target = { target_type: 'client', target_id: id };
        await recordSecurityEvent(tx, 'client.removed_unused', { actor, target, origin: noOrigin, detail: { name } });
        await emitClientDeleted(tx, actor, { id, name });
        removed += 1;
      });
    };
    await forEachRecord(unused, work, signal);
  });
  return removed;
}

export const startUnusedClients = (deps: Deps): Loop =>
  startLoop({
    name: 'unused_clients',
    pauseMs,
    logger: deps.logger,
    pass: async (signal) => ((await unusedClientPass(deps, signal)) === batch ? 'more' : 'done'),
  });

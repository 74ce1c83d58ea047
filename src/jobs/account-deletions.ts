import { tryAdvisoryLock } from '../db/connection/advisory-lock.js';
import { listDueDeletions } from '../db/tables/users.js';
import { createContext, transaction, type Deps } from '../domain/context.js';
import { findServedEnvironment } from '../domain/environments/environments.js';
import { deleteDueAccount } from '../domain/users/own-deletion.js';
import { startLoop, type Loop } from '../platform/loop.js';
import { forEachRecord } from './each-record.js';

const pauseMs = 600_000;
const batch = 500;

/** One pass over the accounts that their people asked to delete and whose time to return is over. One replica at a time. @returns how many were deleted */
export async function accountDeletionPass(deps: Deps, signal?: AbortSignal): Promise<number> {
  let deleted = 0;
  await tryAdvisoryLock(deps.db.knex, 'account_deletions', async () => {
    const due = await listDueDeletions(deps.db.knex, deps.clock.now(), batch);
    const work = async ({ environment_id, id }: (typeof due)[number]) => {
      const environment = await findServedEnvironment(deps, environment_id);
      if (environment && (await transaction(createContext(deps, environment), (tx) => deleteDueAccount(tx, id)))) deleted += 1;
    };
    await forEachRecord(due, work, signal);
  });
  return deleted;
}

export const startAccountDeletions = (deps: Deps): Loop =>
  startLoop({
    name: 'account_deletions',
    pauseMs,
    logger: deps.logger,
    pass: async (signal) => ((await accountDeletionPass(deps, signal)) === batch ? 'more' : 'done'),
  });

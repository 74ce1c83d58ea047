import { findStaleHashMix, renewHashMix } from '../db/tables/environments.js';
import { claimUserImport, importLeaseMs } from '../db/tables/user_imports.js';
import { createContext, transaction, type Deps } from '../domain/context.js';
import { findServedEnvironment } from '../domain/environments/environments.js';
import { uuidv7 } from '../lib/random.js';
import { startLoop, type Loop, type PassEnd } from '../platform/loop.js';

const pauseMs = 5_000;
const mixAgeMs = 86_400_000;

/** Counts the password hashes of an environment anew, where that was last done a day ago. */
async function renewStaleMix(deps: Deps): Promise<PassEnd> {
  const id = await findStaleHashMix(deps.db.knex, new Date(deps.clock.now().getTime() - mixAgeMs));
  const environment = id === null ? null : await findServedEnvironment(deps, id);
  if (!environment) return 'done';
  await transaction(createContext(deps, environment), (tx) => renewHashMix(tx.scope, tx.clock.now()));
  return 'more';
}

/** Works on the import that has waited longest, if there is one. What it takes is loaded then: most processes never see an import. */
export async function userImportPass(deps: Deps, signal?: AbortSignal): Promise<PassEnd> {
  const now = deps.clock.now();
  const lease_id = uuidv7(now.getTime());
  const job = await claimUserImport(deps.db.knex, { lease_id, now, leased_until: new Date(now.getTime() + importLeaseMs) });
  if (!job) return renewStaleMix(deps);
  const { runUserImport } = await import('../management/imports/run.js');
  return runUserImport(deps, job, lease_id, signal);
}

export const startUserImports = (deps: Deps): Loop =>
  startLoop({ name: 'user_imports', pauseMs, logger: deps.logger, pass: (signal) => userImportPass(deps, signal) });

import { tryAdvisoryLock } from '../db/connection/advisory-lock.js';
import { listSamlMetadataDue } from '../db/tables/saml_metadata.js';
import { connectionOf } from '../domain/connections/connections.js';
import { refreshSamlMetadata } from '../domain/connections/saml-provider.js';
import { createContext, type Deps } from '../domain/context.js';
import { findServedEnvironment } from '../domain/environments/environments.js';
import { startLoop, type Loop } from '../platform/loop.js';
import { forEachRecord } from './each-record.js';

const dayMs = 86_400_000;
const pauseMs = 600_000;
const batch = 100;

/** One pass over the metadata of SAML providers that was last asked for a day ago or more; one replica at a time. @returns how many were asked for */
export async function samlMetadataPass(deps: Deps, signal?: AbortSignal): Promise<number> {
  let count = 0;
  await tryAdvisoryLock(deps.db.knex, 'saml_metadata', async () => {
    const due = await listSamlMetadataDue(deps.db.knex, new Date(deps.clock.now().getTime() - dayMs), batch);
    const work = async ({ environment_id, connection_id }: (typeof due)[number]) => {
      const environment = await findServedEnvironment(deps, environment_id);
      const ctx = environment && createContext(deps, environment);
      const connection = ctx && (await connectionOf(ctx, connection_id));
      if (!connection) return;
      const found = await refreshSamlMetadata(ctx, connection).catch(() => null);
      count += 1;
      const logged = { environment_id, connection_id };
      if (found?.pending)
        ctx.logger.warn({ event: 'saml_metadata.pending', ...logged }, 'the metadata of a SAML provider names another provider');
      else if (found?.last_error !== null)
        ctx.logger.warn(
          { event: 'saml_metadata.failed', ...logged, detail: found?.last_error ?? null },
          'the metadata of a SAML provider can not be had',
        );
    };
    await forEachRecord(due, work, signal);
  });
  return count;
}

export function startSamlMetadata(deps: Deps): Loop {
  const pass = async (signal: AbortSignal) => ((await samlMetadataPass(deps, signal)) === batch ? 'more' : 'done');
  return startLoop({ name: 'saml_metadata', pauseMs, logger: deps.logger, pass });
}

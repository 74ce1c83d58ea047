import { randomUUID } from 'node:crypto';
import { announceSecretKeys, listSecretKeyHolders, removeSecretKeyHolder } from '../db/tables/secret_keys.js';
import { startLoop, type Loop } from '../platform/loop.js';
import { recordSecurityEvent, serviceActor } from '../domain/audit/security-trail.js';
import { transaction, type Deps } from '../domain/context.js';
import { defaultContext } from '../domain/configuration/bootstrap.js';
import { noOrigin } from '../domain/origin.js';
import { createResealMemory, reseal, logOnce, type ResealMemory } from '../domain/secret-key/reseal.js';
import { pendingCount, secretKeyStatus } from '../domain/secret-key/status.js';

/** Writes the heartbeat; the first process that seals with another key than before records that. */
async function announce(deps: Deps, holder_id: string): Promise<void> {
  const { key_id, key_ids } = deps.crypto.sealer;
  await transaction(await defaultContext(deps), async (tx) => {
    const changed = await announceSecretKeys(tx.scope.knex, { id: holder_id, sealing_key: key_id, opening_keys: key_ids });
    if (!changed) return;
    await recordSecurityEvent(tx, 'secret_key.changed', {
      actor: serviceActor,
      target: { target_type: 'environment', target_id: tx.environment.id, display: tx.environment.name },
      origin: noOrigin,
      detail: { key_id },
    });
  });
}

/** Milliseconds between two heartbeats of a process; it counts as gone after 90 s without one. */
const pauseMs = 30_000;
/**
 * One pass of the process `holder_id`: writes its heartbeat and, if its sealing key is the newest, reseals what earlier keys have sealed. It reseals
 * nothing while another live process doesn't have that key.
 * @returns whether there is more to do at once
 */
export async function secretKeyPass(
  deps: Deps,
  holder_id: string,
  { signal, memory = createResealMemory() }: { signal?: AbortSignal; memory?: ResealMemory } = {},
): Promise<boolean> {
  const { logger, metrics, clock } = deps;
  const { knex } = deps.db;
  const { sealer } = deps.crypto;
  await announce(deps, holder_id);
  const keys = await secretKeyStatus(deps);
  metrics.sealedRowsPending.set(pendingCount(keys));
  const newest = keys.find(({ seals }) => seals);
  if (newest?.id !== sealer.key_id || keys.every(({ seals, may_go_at }) => seals || may_go_at !== null)) return false;
  if (clock.now().getTime() < memory.restsUntil) return false;
  const blind = (await listSecretKeyHolders(knex)).filter(({ opening_keys }) => !opening_keys.includes(sealer.key_id));
  if (blind.length > 0) {
    const sealing_keys = [...new Set(blind.map(({ sealing_key }) => sealing_key))];
    logOnce(memory, `${blind.length} processes with ${sealing_keys.join()}`, () =>
      logger.warn(
        { event: 'secret_key.waiting', key_id: sealer.key_id, processes: blind.length, sealing_keys },
        `${blind.length} processes can not open what key ${sealer.key_id} seals: add it to their SECRET_KEY_PREVIOUS; nothing is sealed anew before`,
      ),
    );
    return false;
  }
  return reseal(deps, memory, signal);
}

/** Runs passes until stopped; then the process counts no longer. */
export function startSecretKeys(deps: Deps): Loop {
  const { logger } = deps;
  const { sealer } = deps.crypto;
  const holder_id = randomUUID();
  const memory = createResealMemory();
  logger.info({ event: 'secret_key.in_use', key_id: sealer.key_id, opening_keys: sealer.key_ids }, `sealing with key ${sealer.key_id}`);
  const pass = async (signal: AbortSignal) => ((await secretKeyPass(deps, holder_id, { signal, memory })) ? 'more' : 'done');
  const loop = startLoop({ name: 'secret_keys', pauseMs, logger, pass });
  return {
    state: loop.state,
    wake: () => loop.wake(),
    async stop() {
      await loop.stop();
      await removeSecretKeyHolder(deps.db.knex, holder_id).catch((error: unknown) =>
        logger.warn({ event: 'secret_keys.holder_left', err: error }, "the note of this process's keys could not be removed"),
      );
    },
  };
}

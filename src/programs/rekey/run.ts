import { randomUUID } from 'node:crypto';
import { removeSecretKeyHolder } from '../../db/tables/secret_keys.js';
import { requirePrimaryKeys } from '../../domain/secret-key/check.js';
import {
  secretKeyProgress,
  secretKeyStatus,
  unnamedKey,
  type SecretKeyProgress,
  type SecretKeyStatus,
} from '../../domain/secret-key/status.js';
import { secretKeyPass } from '../../jobs/secret-keys.js';
import { closeDeps, createDeps, prepareDatabase } from '../../process/service.js';
import { runProgram } from '../../process/run.js';
import { joinDatabase, joinExistingDatabase } from '../../process/startup.js';

/** What it ends with while values wait to be sealed anew, or will. */
const unfinished = 2;

const nameOf = (id: string) => (id === unnamedKey ? 'keys that values don’t name' : `key ${id}`);

/** What keeps the change from being done. */
const waiting = ({ pending, sealing }: SecretKeyProgress): string[] => [
  ...[...pending].map(([id, count]) => `${nameOf(id)} is needed: ${count} values are sealed with it`),
  ...[...new Set(sealing)].map(
    (id) => `${nameOf(id)} is needed: ${sealing.filter((one) => one === id).length} processes still seal with it`,
  ),
];

/** What has become of an earlier key that nothing is sealed with. */
function statusLine({ id, has_sealed, may_go_at }: SecretKeyStatus, now: Date): string {
  if (!has_sealed) return `nothing is sealed with ${nameOf(id)}`;
  if (may_go_at === null) return `nothing is sealed with ${nameOf(id)} any more; when it may go the service notes within a minute`;
  const when = may_go_at <= now ? 'may go' : `may go at ${may_go_at.toISOString()}, when codes and links of its time have run out`;
  return `nothing is sealed with ${nameOf(id)} any more; it ${when}`;
}

/** Seals anew what earlier keys have sealed, and tells how far it is. */
export function rekey(onlyTell: boolean): void {
  runProgram(async (config, logger, stops) => {
    const database = await (onlyTell ? joinExistingDatabase : joinDatabase)(config, logger);
    stops.add(() => database.close());
    const deps = createDeps(config, logger, database);
    stops.add(() => closeDeps(deps));
    if (onlyTell) await requirePrimaryKeys(deps);
    else {
      await prepareDatabase(deps, database.directUrl);
      const holder_id = randomUUID();
      stops.add(() => removeSecretKeyHolder(deps.db.knex, holder_id));
      while (await secretKeyPass(deps, holder_id));
    }
    const progress = await secretKeyProgress(deps);
    const needed = waiting(progress);
    const earlier = (await secretKeyStatus(deps)).filter(
      ({ id }) => id !== deps.crypto.sealer.key_id && !progress.pending.has(id) && !progress.sealing.includes(id),
    );
    const lines = [
      `key ${deps.crypto.sealer.key_id} seals; ${progress.done} values`,
      ...needed,
      ...earlier.map((key) => statusLine(key, deps.clock.now())),
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
    await stops.run();
    process.exit(needed.length > 0 ? unfinished : 0);
  });
}

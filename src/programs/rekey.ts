import { randomUUID } from 'node:crypto';
import { removeSecretKeyHolder } from '../db/tables/secret_keys.js';
import { pendingCount, secretKeyStatus, unnamedKey, type SecretKeyStatus } from '../domain/secret-key/status.js';
import { secretKeyPass } from '../jobs/secret-keys.js';
import { createDeps, prepareDatabase } from '../process/service.js';
import { runProgram } from '../process/run.js';
import { joinDatabase } from '../process/startup.js';

/** What `--status` ends with while values wait to be sealed anew. */
const unfinished = 2;

function line({ id, seals, has_sealed, pending_count, may_go_at }: SecretKeyStatus, now: Date): string {
  const name = id === unnamedKey ? 'keys that values don’t name' : `key ${id}`;
  if (seals) return `${name} seals; ${pending_count} values`;
  if (may_go_at === null) return `${name} is needed: ${pending_count} values are sealed with it, or a process still seals with it`;
  if (!has_sealed) return `nothing is sealed with ${name}`;
  const when = may_go_at <= now ? 'may go' : `may go at ${may_go_at.toISOString()}, when codes and links of its time have run out`;
  return `nothing is sealed with ${name} any more; it ${when}`;
}

// Without arguments: seals anew what earlier keys have sealed, beside the running service or without it. --status only tells.
runProgram(async (config, logger, stops) => {
  const database = await joinDatabase(config, logger);
  stops.add(() => database.close());
  const deps = createDeps(config, logger, database);
  stops.add(async () => {
    await deps.mailer?.close();
    await deps.fetch.close();
    await deps.knex.destroy();
  });
  await prepareDatabase(deps, database.directUrl);
  if (!process.argv.includes('--status')) {
    const holder_id = randomUUID();
    stops.add(() => removeSecretKeyHolder(deps.knex, holder_id));
    while (await secretKeyPass(deps, holder_id));
  }
  const keys = await secretKeyStatus(deps);
  for (const key of keys) process.stdout.write(`${line(key, deps.clock.now())}\n`);
  await stops.run();
  process.exit(pendingCount(keys) > 0 ? unfinished : 0);
});

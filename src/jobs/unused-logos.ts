import { tryAdvisoryLock } from '../db/connection/advisory-lock.js';
import { areThereLogos, sweepLogos } from '../db/tables/logos.js';
import type { Deps } from '../domain/context.js';
import { logoExpiry } from '../domain/logos/logos.js';
import { startLoop, type Loop } from '../platform/loop.js';

const pauseMs = 600_000;

/** One pass over logos: those that a branding names stay, the others go 30 days after they were uploaded or last seen named. One replica at a time. @returns how many went */
export async function unusedLogoPass({ db: { knex }, clock }: Pick<Deps, 'db' | 'clock'>): Promise<number> {
  let gone = 0;
  await tryAdvisoryLock(knex, 'unused_logos', async () => {
    if (!(await areThereLogos(knex))) return;
    const now = clock.now();
    gone = await sweepLogos(knex, { now, expires_at: logoExpiry(now) });
  });
  return gone;
}

export function startUnusedLogos(deps: Deps): Loop {
  const pass = async () => {
    await unusedLogoPass(deps);
    return 'done' as const;
  };
  return startLoop({ name: 'unused_logos', pauseMs, logger: deps.logger, pass });
}

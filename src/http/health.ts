import { setTimeout as delay } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { pendingMigrations } from '../db/migrations/migrate.js';
import { isBackgroundAtWork } from '../db/tables/processes.js';
import type { Deps } from '../domain/context.js';
import { opensPrimaryKey } from '../domain/secret-key/check.js';
import { digest, equalDigests } from '../lib/digest.js';
import { isDirectLoopback, isToLoopback } from './request/direct-caller.js';

/** What others judge the process by. */
export const healthPaths = { alive: '/healthz', ready: '/readyz', metrics: '/metrics' } as const;

/** Set when the process was told to stop: no longer ready, still alive. */
export type Lifecycle = { stopping: boolean };

/** GET /healthz: the process is alive. */
export function healthz(_req: Request, res: Response): void {
  res.set('Cache-Control', 'no-store').json({ status: 'ok' });
}

/** How long a successful check is reused, in milliseconds. */
const freshMs = 3000;
/** After so long a look that found all well is followed by the next, so that nobody has to wait for it. */
const renewedMs = 1000;
/** How long checks continue after the last request for them, in milliseconds. */
const watchedMs = 60_000;
/** How long a request waits for the check of the database before it goes by the last one, in milliseconds. */
const patienceMs = 20;
/** How long the last successful check counts while a new one is under way: whatever takes longer than any wait for the database is no mere queue. */
const trustMs = 6000;

/**
 * GET /readyz: 200 when the database answers, its schema is current, its signing key opens and the process isn't stopping; else 503 saying which. Anybody
 * may ask, at any time: those who ask at once share one look at the database, or a flood of them would take the connections from everybody else and then be
 * told that there is none. As long as somebody asks once a minute and all is well, the next look is taken every second, and the answer waits for none. While a
 * look waits behind the requests of a busy process, the last one counts if it found all well less than six seconds ago: a balancer takes no replica out for
 * being busy. A `warning` says that no process has done the background work for 90 seconds: this one leaves it to others, and answers all the same.
 */
export function readyz(deps: Deps, lifecycle: Lifecycle) {
  let looking: Promise<string | null> | null = null;
  let healthyAt = -Infinity;
  let backgroundAway = false;
  let checkedAt = -Infinity;
  let next: NodeJS.Timeout | undefined;
  const probe = async (): Promise<string | null> => {
    const began = performance.now();
    const problem = await databaseProblem(deps);
    if (problem === null && deps.config.backgroundWork === 'off')
      backgroundAway = await isBackgroundAtWork(deps.db.knex).then(
        (found) => !found,
        () => backgroundAway,
      );
    looking = null;
    healthyAt = problem === null ? began : -Infinity;
    clearTimeout(next);
    if (problem === null) next = setTimeout(probeAgain, renewedMs).unref();
    return problem;
  };
  const probeAgain = () => {
    if (!lifecycle.stopping && performance.now() - checkedAt < watchedMs) looking ??= probe();
  };
  const known = (): Promise<string | null> | null => {
    checkedAt = performance.now();
    if (checkedAt - healthyAt < freshMs) return null;
    const current = (looking ??= probe());
    const trusted = () => performance.now() - healthyAt < trustMs;
    if (!trusted()) return current;
    return Promise.race([current, delay(patienceMs, null).then(() => (trusted() ? null : current))]);
  };
  return async (_req: Request, res: Response): Promise<void> => {
    const found = lifecycle.stopping ? null : await known();
    // It may have begun to stop meanwhile.
    const problem = lifecycle.stopping ? 'stopping' : found;
    res.status(problem === null ? 200 : 503).set('Cache-Control', 'no-store');
    if (problem !== null) res.set('Retry-After', '5');
    const warning = backgroundAway && 'no process does the background work: mail, webhooks and clean-up wait (BACKGROUND_WORK)';
    res.json(problem === null ? { status: 'ready', ...(warning && { warning }) } : { status: 'unavailable', reason: problem });
  };
}

async function databaseProblem(deps: Deps): Promise<string | null> {
  try {
    if ((await pendingMigrations(deps.db.knex)).length > 0) return 'migrations are pending';
    if (await opensPrimaryKey(deps)) return null;
    deps.logger.error(
      { event: 'readiness.secret_key', key_ids: deps.crypto.sealer.key_ids },
      'SECRET_KEY does not open the primary signing key',
    );
    return 'SECRET_KEY does not open the signing key';
  } catch (error) {
    deps.logger.warn({ event: 'readiness.database', err: error }, 'the database does not answer the readiness check');
    return 'the database can not be reached';
  }
}

/** GET /metrics (Prometheus): with METRICS_TOKEN; without it only for direct callers on the machine of a service whose BASE_URL is loopback, by a name of the machine. */
export const metrics = (deps: Deps) => async (req: Request, res: Response) => {
  const { metricsToken: token, loopback } = deps.config;
  const authorized = token !== null && equalDigests(digest(req.headers.authorization ?? ''), digest(`Bearer ${token}`));
  if (!authorized && !(loopback && isDirectLoopback(req) && isToLoopback(req))) {
    res.status(401).set('WWW-Authenticate', 'Bearer realm="metrics"').json({ error: 'invalid_token' });
    return;
  }
  res.set('Content-Type', deps.metrics.registry.contentType).send(await deps.metrics.render());
};

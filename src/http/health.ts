import type { Request, Response } from 'express';
import { pendingMigrations } from '../db/migrate.js';
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

/** GET /readyz: 200 when the database answers, its schema is current, its signing key opens and the process isn't stopping; else 503 saying which. */
export function readyz(deps: Deps, lifecycle: Lifecycle) {
  return async (_req: Request, res: Response): Promise<void> => {
    const problem = lifecycle.stopping ? 'stopping' : await databaseProblem(deps);
    res.status(problem === null ? 200 : 503).set('Cache-Control', 'no-store');
    if (problem !== null) res.set('Retry-After', '5');
    res.json(problem === null ? { status: 'ready' } : { status: 'unavailable', reason: problem });
  };
}

async function databaseProblem(deps: Deps): Promise<string | null> {
  try {
    if ((await pendingMigrations(deps.knex)).length > 0) return 'migrations are pending';
    if (await opensPrimaryKey(deps)) return null;
    deps.logger.error({ event: 'readiness.secret_key', key_ids: deps.sealer.key_ids }, 'SECRET_KEY does not open the primary signing key');
    return 'SECRET_KEY does not open the signing key';
  } catch (error) {
    deps.logger.warn({ err: error }, 'readiness.database');
    return 'the database can not be reached';
  }
}

/** GET /metrics (Prometheus): with METRICS_TOKEN; without it only for direct callers on the machine of a service whose BASE_URL is loopback, by a name of the machine. */
export function metrics(deps: Deps) {
  return async (req: Request, res: Response): Promise<void> => {
    const { metricsToken: token, loopback } = deps.config;
    const authorized = token !== null && equalDigests(digest(req.headers.authorization ?? ''), digest(`Bearer ${token}`));
    if (!authorized && !(loopback && isDirectLoopback(req) && isToLoopback(req))) {
      res.status(401).set('WWW-Authenticate', 'Bearer realm="metrics"').json({ error: 'invalid_token' });
      return;
    }
    res.set('Content-Type', deps.metrics.registry.contentType).send(await deps.metrics.render());
  };
}

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { removeProcess, reportProcess, type LoopReport } from '../db/tables/processes.js';
import type { Deps } from '../domain/context.js';
import { ownRelease } from '../domain/diagnostics/own-installation.js';
import { named } from '../lib/named.js';
import { startLoop, type Loop, type LoopState } from '../platform/loop.js';

/** Milliseconds between two reports of a process; it counts as gone after 90 s without one. */
const pauseMs = 30_000;

const seconds = (ms: number) => Math.round(ms / 1000);

const reportOf = ({ pauseMs: pause, runningMs, idleMs, failures }: LoopState): LoopReport => ({
  pause: pause / 1000,
  running: runningMs === null ? null : seconds(runningMs),
  idle: idleMs === null ? null : seconds(idleMs),
  failures,
});

/** Writes every half minute that the process is at work, what runs in it and how its loops fare; takes that back when it ends. */
export function startProcessReports(deps: Deps, loops: Readonly<Record<string, Pick<Loop, 'state'>>>): Loop {
  const { config, logger } = deps;
  const { knex } = deps.db;
  const { forwarded } = deps.notes;
  const id = randomUUID();
  const fixed = { id, host: hostname(), pid: process.pid, release: ownRelease(), node: process.versions.node };
  const pass = async () => {
    const states = named(Object.fromEntries(Object.entries(loops).map(([name, loop]) => [name, reportOf(loop.state())])));
    const own = { base_url: config.baseUrl, pool_max: config.databasePoolMax, loops: states, forwarded: forwarded.report() };
    await reportProcess(knex, { ...fixed, ...own });
    return 'done' as const;
  };
  const loop = startLoop({ name: 'processes', pauseMs, logger, pass });
  return {
    state: loop.state,
    wake: loop.wake,
    async stop() {
      await loop.stop();
      await removeProcess(knex, id).catch((error: unknown) =>
        logger.warn({ event: 'processes.row_left', err: error }, 'the report of this process could not be removed'),
      );
    },
  };
}

import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../config.js';
import type { Logger } from '../platform/log/logger.js';
import { requireSpanPackages } from '../platform/spans/start.js';
import { createMetrics } from '../platform/metrics/metrics.js';
import { answerMetricsRequests, createClusterMetrics } from '../platform/metrics/of-cluster.js';
import { requireFreeAddress } from './listen.js';
import { announce, openDatabase, type ShutdownHooks } from './startup.js';
import { closeDeps, createDeps, createTracedDeps, prepareDatabase, startService, type Storage } from './service.js';

/** From a worker: it is there and wants to know where the database is. */
type Hello = { readonly type: 'hello' };
/** From the primary: where the database is. It travels by message, so that it stands in no environment and no process list. */
type Start = { readonly type: 'start'; readonly storage: Storage };
/** From a worker: it listens. */
type Ready = { readonly type: 'ready'; readonly port: number };

const isMessage = <Message extends { type: string }>(message: unknown, type: Message['type']): message is Message =>
  typeof message === 'object' && message !== null && (message as { type?: unknown }).type === type;

/** A worker that ran for longer than this, in milliseconds, resets the count of failures; the pause before a replacement grows with that count. */
const healthyMs = 60_000;
const longestPauseMs = 30_000;

/** Whether this process is one of several that a primary started. */
export const isWorker = cluster.isWorker;

/**
 * One of `WEB_CONCURRENCY` processes that answer requests. It waits to be told where the database is; the primary has migrated and
 * bootstrapped it. Hashing is shared out, so that all workers together leave signing a processor.
 */
export async function startWorker(config: Config, logger: Logger, stops: ShutdownHooks): Promise<void> {
  const answered = once(process, 'message') as Promise<[unknown]>;
  process.send?.({ type: 'hello' } satisfies Hello);
  const [message] = await answered;
  if (!isMessage<Start>(message, 'start')) throw new Error('a worker is started by its primary');
  const { storage } = message;
  const metrics = createClusterMetrics(createMetrics());
  const deps = await createTracedDeps(config, logger, storage, { metrics });
  const service = await startService(deps, storage.directUrl);
  stops.add(() => service.stop());
  process.send?.({ type: 'ready', port: service.port } satisfies Ready);
}

/** The workers of one primary: starts them, replaces those that die, ends them. */
function createWorkers(logger: Logger, storage: Storage) {
  let stopping = false;
  let failures = 0;

  function fork(): Worker {
    const worker = cluster.fork();
    worker.on('message', (message: unknown) => {
      if (isMessage<Hello>(message, 'hello')) worker.send({ type: 'start', storage } satisfies Start);
    });
    return worker;
  }

  /** Resolves when the worker listens. @throws {Error} when it ends before */
  const ready = async (worker: Worker): Promise<number> =>
    new Promise((resolve, reject) => {
      worker.on('message', (message: unknown) => isMessage<Ready>(message, 'ready') && resolve(message.port));
      worker.once('exit', (code) => {
        if (!stopping) reject(new Error(`a worker ended with ${code} before it listened; its message is above`));
      });
    });

  function replaceWhenDead(worker: Worker): void {
    const born = performance.now();
    worker.once('exit', (code, signal) => {
      if (stopping) return;
      failures = performance.now() - born > healthyMs ? 0 : failures + 1;
      const pause = failures <= 1 ? 0 : Math.min(longestPauseMs, 100 * 2 ** failures);
      logger.error(
        { event: 'worker.died', pid: worker.process.pid, exit_code: code, signal, pause_ms: pause },
        'a worker ended unexpectedly and is replaced',
      );
      setTimeout(() => !stopping && replaceWhenDead(fork()), pause);
    });
  }

  return {
    /** @returns the port that all of them listen on. */
    async start(count: number): Promise<number> {
      const workers = Array.from({ length: count }, fork);
      const ports = await Promise.all(workers.map(ready));
      for (const worker of workers) replaceWhenDead(worker);
      return ports[0] as number;
    },
    /** Lets each finish what it is doing, and waits for all. */
    async stop(): Promise<void> {
      stopping = true;
      const alive = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined && !worker.isDead()) as Worker[];
      const ends = alive.map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
      for (const worker of alive) worker.process.kill('SIGTERM');
      await Promise.all(ends);
    },
  };
}

/**
 * The primary of `WEB_CONCURRENCY` workers: opens the database (the embedded one is its child), migrates and bootstraps it, starts
 * the workers and replaces those that die. It answers no requests itself. At a signal the workers end first, the database last.
 */
export async function startPrimary(config: Config, logger: Logger, stops: ShutdownHooks): Promise<void> {
  requireSpanPackages(config);
  await requireFreeAddress(config);
  const database = await openDatabase(config, logger);
  stops.add(() => database.close());
  const { url, directUrl, secretKey } = database;
  const deps = createDeps(config, logger, database);
  const workers = createWorkers(logger, { url, directUrl, secretKey });
  try {
    await prepareDatabase(deps, directUrl);
    stops.add(() => workers.stop());
    answerMetricsRequests();
    const port = await workers.start(config.webConcurrency);
    await announce(deps, port);
  } finally {
    await closeDeps(deps);
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../platform/log/logger.js';
import { failsAgain } from '../../db/connection/sqlstate.js';
import type { AttemptOutcome, Job, Queue } from './queue.js';

/** Records results in batches: those that come in while a batch is written make up the next one. */
export type Recorder<J, Result> = {
  add(job: J, result: Result): void;
  /** How many results aren't written yet. */
  pending(): number;
  /** Resolves when all that was added is written, or given up. */
  flushed(): Promise<void>;
};

const batch = 600;
const retryMs = 250;
/** A batch of this many results is written at once; a smaller one waits this long for more when another was just written. */
const worthWriting = 300;
const lingerMs = 20;

type Entry<J, Result> = { readonly job: J; readonly result: Result };

/**
 * When the database can't be had, a batch is tried again as long as its leases last; after that another process takes the jobs over.
 * When a batch is refused, its results are written one by one, so that one of them doesn't hold up the others.
 */
function createWriter<J extends Job, Result extends AttemptOutcome>(queue: Queue<J, Result>, logger: Logger) {
  const leased = ({ job }: Entry<J, Result>) => performance.now() - job.claimedAt < queue.leaseMs;
  return async function write(list: readonly Entry<J, Result>[]): Promise<void> {
    for (let left = list; left.length > 0; left = left.filter(leased)) {
      try {
        return await queue.record(left);
      } catch (error) {
        logger.warn(
          { event: 'outbox.not_recorded', err: error, queue: queue.name, results: left.length },
          'results could not be recorded and are written again',
        );
        if (failsAgain(error) && left.length > 1) {
          for (const one of left) await write([one]);
          return;
        }
        if (failsAgain(error)) return;
        await delay(retryMs);
      }
    }
  };
}

/** @param onWritten called after each batch with its results, also of those that had to be given up */
export function createRecorder<J extends Job, Result extends AttemptOutcome>(
  queue: Queue<J, Result>,
  logger: Logger,
  onWritten: (results: readonly Result[]) => void,
): Recorder<J, Result> {
  let entries: Entry<J, Result>[] = [];
  let writing = 0;
  let running: Promise<void> | null = null;
  let enough: (() => void) | null = null;
  let closing = false;

  const write = createWriter(queue, logger);

  /** Waits a moment for more results, so that statements stay few. */
  async function linger(): Promise<void> {
    if (entries.length === 0 || entries.length >= worthWriting || closing) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, lingerMs);
      enough = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    enough = null;
  }

  async function run(): Promise<void> {
    while (entries.length > 0) {
      const next = entries.slice(0, batch);
      entries = entries.slice(batch);
      writing = next.length;
      await write(next);
      writing = 0;
      onWritten(next.map((entry) => entry.result));
      await linger();
    }
    running = null;
  }

  return {
    add(job, result) {
      entries.push({ job, result });
      if (entries.length >= worthWriting) enough?.();
      running ??= run();
    },
    pending: () => entries.length + writing,
    async flushed() {
      closing = true;
      enough?.();
      while (running) await running;
    },
  };
}

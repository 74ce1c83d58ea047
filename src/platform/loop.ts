import type { Logger } from './log/logger.js';

/** How a loop fares, in milliseconds. */
export type LoopState = {
  readonly pauseMs: number;
  /** Since the present pass began; null between passes. */
  readonly runningMs: number | null;
  /** Since the last pass ended, or since the start; null during a pass. */
  readonly idleMs: number | null;
  /** Passes in a row that threw. */
  readonly failures: number;
};

export type Loop = {
  /** For those who look whether it stands still. */
  state(): LoopState;
  /** Ends the current wait: there may be something to do. */
  wake(): void;
  /** Lets the running pass finish (its signal is aborted) and ends the loop. */
  stop(): Promise<void>;
};

/** What follows a pass: the next one at once, or the pause. Words, since a boolean with another meaning would make a loop that never rests. */
export type PassEnd = 'more' | 'done';

type LoopOptions = {
  /** As the log calls it. */
  readonly name: string;
  readonly pauseMs: number;
  readonly logger: Logger;
  readonly pass: (signal: AbortSignal) => Promise<PassEnd>;
};

/**
 * Runs `pass` again and again: at once while it answers `more`, else after `pauseMs` (spread by a quarter, so that
 * replicas don't move in step) or when woken. A pass that throws is logged and tried again after the pause.
 */
export function startLoop(options: LoopOptions): Loop {
  const { name, pauseMs, logger, pass } = options;
  const stopping = new AbortController();
  let woken = false;
  let running = false;
  let since = performance.now();
  let failures = 0;
  const turn = (runs: boolean) => {
    running = runs;
    since = performance.now();
  };
  let endWait: (() => void) | null = null;

  const wait = () =>
    new Promise<void>((resolve) => {
      if (woken || stopping.signal.aborted) return resolve();
      const timer = setTimeout(resolve, pauseMs * (0.75 + Math.random() / 2));
      endWait = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const run = async () => {
    while (!stopping.signal.aborted) {
      woken = false;
      let end: PassEnd = 'done';
      turn(true);
      try {
        end = await pass(stopping.signal);
        failures = 0;
      } catch (error) {
        failures += 1;
        if (!stopping.signal.aborted)
          logger.warn({ event: 'loop.failed', err: error, loop: name }, 'work in the background failed and is tried again');
      }
      turn(false);
      if (end === 'done') await wait();
      endWait = null;
    }
  };
  const finished = run();

  return {
    state() {
      const ms = performance.now() - since;
      return { pauseMs, runningMs: running ? ms : null, idleMs: running ? null : ms, failures };
    },
    wake() {
      woken = true;
      endWait?.();
    },
    async stop() {
      stopping.abort();
      endWait?.();
      await finished;
    },
  };
}

/**
 * Writes what the process has collected, every `pauseMs` and a last time when it stops.
 * @param options.flush writes; keeps what it had taken when it throws
 * @param options.lost is told why the last time failed, when what was collected goes with the process
 */
export function startFlushing(options: Omit<LoopOptions, 'pass'> & { flush: () => Promise<void>; lost: (error: unknown) => void }): Loop {
  const pass = async () => {
    await options.flush();
    return 'done' as const;
  };
  const loop = startLoop({ ...options, pass });
  return {
    state: loop.state,
    wake: loop.wake,
    async stop() {
      await loop.stop();
      await options.flush().catch(options.lost);
    },
  };
}

import type { Logger } from 'pino';

/** A loop in the background. */
export type Loop = {
  /** Ends the current wait: there may be something to do. */
  wake(): void;
  /** Lets the running pass finish (its signal is aborted) and ends the loop. */
  stop(): Promise<void>;
};

/**
 * Runs `pass` again and again: at once while it says that there was work, else after `pauseMs` (spread by a quarter, so that
 * replicas don't move in step) or when woken. A pass that throws is logged and tried again after the pause.
 */
export function startLoop(options: {
  name: string;
  pauseMs: number;
  logger: Logger;
  pass: (signal: AbortSignal) => Promise<boolean>;
}): Loop {
  const { name, pauseMs, logger, pass } = options;
  const stopping = new AbortController();
  let woken = false;
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
      let busy = false;
      try {
        busy = await pass(stopping.signal);
      } catch (error) {
        if (!stopping.signal.aborted) logger.warn({ err: error, loop: name }, 'loop.failed');
      }
      if (!busy) await wait();
      endWait = null;
    }
  };
  const finished = run();

  return {
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

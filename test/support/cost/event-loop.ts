import { readFileSync } from 'node:fs';

/** Processor time of the calling thread in milliseconds (Linux): what other processes take of the machine isn't in it. */
function threadTime(): number {
  const [nanoseconds = '0'] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ');
  return Number(nanoseconds) / 1e6;
}

/**
 * The longest time that the event loop of this process stood still while `work` went on, as processor time of its thread: each turn is measured by
 * itself, so that what is awaited doesn't count, nor what a busy machine takes away.
 */
export async function longestTurn<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  let ends = false;
  let ms = 0;
  const turns = (async () => {
    let before = threadTime();
    while (!ends) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = threadTime();
      ms = Math.max(ms, now - before);
      before = now;
    }
  })();
  try {
    return { result: await work(), get ms() { return ms; } }; // prettier-ignore
  } finally {
    ends = true;
    await turns;
  }
}

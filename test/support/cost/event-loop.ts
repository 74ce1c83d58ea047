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

/** What a request may hold the event loop for, in milliseconds of processor time. */
export const mostHeld = 50;

/** The least of three: what the collector or another test of the process takes comes once. */
export async function costOf(ask: () => Promise<number>): Promise<{ status: number; ms: number }> {
  let least = { status: 0, ms: Number.POSITIVE_INFINITY };
  for (let attempt = 0; attempt < 3 && least.ms > mostHeld; attempt += 1) {
    const turn = await longestTurn(ask);
    if (turn.ms < least.ms) least = { status: turn.result, ms: turn.ms };
  }
  return least;
}

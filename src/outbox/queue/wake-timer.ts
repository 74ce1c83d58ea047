import { isBreakerOpen } from './destination.js';
import type { Destinations } from './destinations.js';

/** Wakes a loop at the earliest of the times that it was told. */
export type WakeTimer = {
  /** Wakes it in so many milliseconds, unless it polls or wakes before anyway. */
  in(ms: number): void;
  stop(): void;
};

/** @param pollMs within which the loop wakes by itself */
export function createWakeTimer(pollMs: number, wake: () => void): WakeTimer {
  let timer: NodeJS.Timeout | undefined;
  let timerAt = Number.POSITIVE_INFINITY;
  let stopped = false;
  return {
    in(ms) {
      const at = performance.now() + Math.ceil(ms) + 1;
      if (stopped || ms >= pollMs || at >= timerAt) return;
      clearTimeout(timer);
      timerAt = at;
      timer = setTimeout(() => {
        timerAt = Number.POSITIVE_INFINITY;
        wake();
      }, at - performance.now());
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Milliseconds until the probes of those destinations whose breaker waits and that have something to send. */
export function* untilProbes(destinations: Destinations<unknown>): Iterable<number> {
  const now = performance.now();
  for (const one of destinations.all()) {
    if (isBreakerOpen(one) && one.probeAt > now && (one.due_at !== null || one.waiting.length > 0)) yield one.probeAt - now;
  }
}

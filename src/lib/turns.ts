import { setImmediate } from 'node:timers/promises';

/** So many milliseconds work goes on before others have their turn. */
const longest = 10;

/** What long work awaits between its items: nothing, or once in a while that everybody else has had a turn of the event loop. */
export function turns(): () => Promise<void> | null {
  let began = performance.now();
  return () => {
    if (performance.now() - began < longest) return null;
    return setImmediate().then(() => {
      began = performance.now();
    });
  };
}

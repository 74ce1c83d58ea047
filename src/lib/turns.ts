import { setImmediate } from 'node:timers/promises';

/** Milliseconds that work goes on before others have their turn. */
const longest = 10;

/** Ends when whoever asked last may go on: one piece of work does in each turn of the event loop, however many there are. */
let lastTurn: Promise<void> = Promise.resolve();

/** What long work awaits between its items: nothing, or once in a while that everybody else has had a turn of the event loop. */
export type Turn = () => Promise<void> | null;

/** A {@link Turn} of work that begins now. */
export function turns(): Turn {
  let began = performance.now();
  return () => {
    if (performance.now() - began < longest) return null;
    lastTurn = lastTurn.then(() => setImmediate());
    return lastTurn.then(() => {
      began = performance.now();
    });
  };
}

import type { Aspects, History, Operation, Outcome } from './history.js';

/** Keeps what happens in a run. All times are readings of one monotonic clock. */
export type Recorder = {
  readonly history: History;
  /** Milliseconds since the run began. */
  now(): number;
  add(operation: Omit<Operation, 'id'>): Operation;
  /** Does something and records it from before it was begun to after it was answered. @throws what `work` throws */
  record<T extends { readonly status: number }>(
    what: { readonly kind: string; readonly replica: string },
    work: () => Promise<T>,
    judge: (answer: T) => { readonly outcome: Outcome } & Aspects,
  ): Promise<Recorded<T>>;
};

export type Recorded<T> = { readonly operation: Operation; readonly outcome: Outcome; readonly answer: T };

export function createRecorder(): Recorder {
  const history: Operation[] = [];
  const began = performance.now();
  const now = () => performance.now() - began;
  const add = (operation: Omit<Operation, 'id'>) => {
    const kept = { id: history.length + 1, ...operation };
    history.push(kept);
    return kept;
  };
  return {
    history,
    now,
    add,
    async record(what, work, judge) {
      const start = now();
      const answer = await work();
      const end = now();
      const operation = add({ ...what, start, end, status: answer.status, ...judge(answer) });
      return { operation, outcome: operation.outcome, answer };
    },
  };
}

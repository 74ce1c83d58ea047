import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

type Answer = { readonly id: number; readonly matches?: boolean; readonly problem?: string };
type Pending = { readonly resolve: (matches: boolean) => void; readonly reject: (cause: Error) => void };

// bcryptjs is plain JavaScript: on the main thread one check would stop every other request for its whole duration.
const program = `
  const { parentPort, workerData } = require('node:worker_threads');
  const bcrypt = require(workerData);
  parentPort.on('message', ({ id, password, hash }) => {
    try {
      parentPort.postMessage({ id, matches: bcrypt.compareSync(password, hash) });
    } catch (error) {
      parentPort.postMessage({ id, problem: String(error) });
    }
  });
`;

/**
 * Checks passwords against bcrypt hashes (imported accounts, until their first login) in a thread of their own. The thread starts
 * at the first check and doesn't keep the process alive. bcrypt itself looks at the first 72 bytes only.
 */
export function createBcryptVerifier() {
  const pending = new Map<number, Pending>();
  let worker: Worker | null = null;
  let last = 0;

  function abandon(cause: Error): void {
    worker = null;
    for (const { reject } of pending.values()) reject(cause);
    pending.clear();
  }

  function settle(started: Worker, { id, matches, problem }: Answer): void {
    const waiting = pending.get(id);
    pending.delete(id);
    if (pending.size === 0) started.unref();
    if (problem === undefined) waiting?.resolve(matches === true);
    else waiting?.reject(new Error(problem));
  }

  function start(): Worker {
    const started = new Worker(program, { eval: true, workerData: createRequire(import.meta.url).resolve('bcryptjs') });
    started.on('message', (answer: Answer) => settle(started, answer));
    started.on('error', abandon);
    started.on('exit', () => abandon(new Error('the bcrypt thread ended')));
    return started;
  }

  return function verifyBcrypt(hash: string, password: string): Promise<boolean> {
    worker ??= start();
    const thread = worker;
    const id = ++last;
    return new Promise<boolean>((resolve, reject) => {
      pending.set(id, { resolve, reject });
      thread.ref();
      thread.postMessage({ id, password, hash });
    });
  };
}

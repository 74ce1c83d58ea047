import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endProcess, pinned } from '../targets/target.js';
import type { Courier, Destination } from './courier.js';

/** Couriers that run in a process of their own. */
export const workerNames = ['ceiling', 'pg-boss', 'graphile-worker'] as const;

export type WorkerName = (typeof workerNames)[number];

/** Starts `<name>-worker.ts`; its commands and answers go over the process's channel. */
export async function startWorker(
  name: WorkerName,
  options: { databaseUrl: string; destinations: readonly Destination[]; processors: string; log: number },
): Promise<Courier> {
  const file = fileURLToPath(new URL(`./${name}-worker.ts`, import.meta.url));
  const [command, args] = pinned(options.processors, [process.execPath, '--import', 'tsx', file]);
  const child = spawn(command, args, {
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_ENV: 'production',
      DATABASE_URL: options.databaseUrl,
      DESTINATIONS: JSON.stringify(options.destinations),
    },
    stdio: ['ignore', options.log, options.log, 'ipc'],
  });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} ended with ${String(code)}; its output is in the log`);
  });
  ended.catch(() => undefined);
  const reply = async () => (await Promise.race([once(child, 'message'), ended]))[0] as unknown;
  const ask = async (command: string, messages?: unknown) => {
    const replied = reply();
    child.send({ command, messages });
    return replied;
  };
  await reply();
  return {
    name,
    pid: child.pid as number,
    destinations: options.destinations,
    load: async (messages) => void (await ask('load', messages)),
    go: async () => void (await ask('go')),
    isDone: async () => (await ask('done?')) === true,
    stop: () => endProcess(child),
  };
}

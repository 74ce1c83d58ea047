import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { programArguments } from './compiled.js';
import { freePort } from './service.js';

/** The service as a process of its own, to be killed, suspended and stopped. */
export type Replica = {
  readonly process: ChildProcess;
  readonly url: string;
  /** What it has logged, as JSON lines. */
  readonly log: string[];
  /** Sends a signal and, if it ends the process, waits for that. Resolves with the exit code (null when killed by the signal). */
  end(signal: NodeJS.Signals): Promise<number | null>;
};

const running = new Set<ChildProcess>();

/** Kills every replica that is still running: call it when a test or script is over, however it went. */
export function killReplicas(): void {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
}

/** Starts a replica on the database and resolves when it is ready. `under` are words in front of its command, `program` is what Node runs: another build of it. */
export async function startReplica(
  databaseUrl: string,
  secretKey: string,
  environment: Record<string, string> = {},
  under: readonly string[] = [],
  program: readonly string[] = [],
): Promise<Replica> {
  const port = await freePort();
  const [file = process.execPath, ...words] = [
    ...under,
    process.execPath,
    ...(program.length > 0 ? program : await programArguments('main')),
  ];
  const child = spawn(file, words, {
    env: {
      PATH: process.env['PATH'],
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      SECRET_KEY: secretKey,
      RATE_LIMITS: 'off',
      LOG_FORMAT: 'json',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const log: string[] = [];
  const exited = once(child, 'exit');
  const ready = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      log.push(line);
      if (line.includes('ready at')) resolve();
    });
    createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
    void once(child, 'close').then(() => reject(new Error(`the replica ended before it was ready:\n${log.join('\n')}`)));
  });
  try {
    await ready;
  } catch (error) {
    // Another program has taken the port since it was free.
    if (log.some((line) => line.includes(`port ${port} is in use`)))
      return startReplica(databaseUrl, secretKey, environment, under, program);
    throw error;
  }
  return {
    process: child,
    url: `http://localhost:${port}`,
    log,
    async end(signal) {
      child.kill(signal);
      const [code] = (await exited) as [number | null];
      return code;
    },
  };
}

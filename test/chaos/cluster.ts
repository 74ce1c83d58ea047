import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/service.js';
import { atEnd, isReady, startPostgres, startReplica, type Replica } from '../faults/harness.js';
import type { Fault } from './schedule.js';

/** Two replicas of the built service on one PostgreSQL of their own, and how to hurt them. */
export type Cluster = {
  /** What the replicas are called to the outside: the host and issuer of both. */
  readonly base: string;
  readonly urls: Readonly<Record<'A' | 'B', string>>;
  query(text: string): Promise<unknown>;
  /** Makes a fault, and resolves when it is undone: the replica is ready again, the database answers. */
  suffer(fault: Fault): Promise<void>;
  /** Resolves when both replicas are ready. */
  ready(): Promise<void>;
};

/** Room for load; small windows, so that many fit into a run; deliveries that are tried again soon, under a lease that suspensions outlast. */
const settings = {
  RATE_LIMITS: 'on',
  RATE_LIMIT_TOKEN: '10/10',
  RATE_LIMIT_LOGIN: '1000000/60',
  RATE_LIMIT_REGISTER: '1000000/60',
  RATE_LIMIT_API: '1000000/60',
  WEBHOOK_TIMEOUT_MS: '2000',
  WEBHOOK_RETRY_BASE_MS: '300',
  WEBHOOK_RETRY_FACTOR: '3',
  LOG_FORMAT: 'json',
  LOG_LEVEL: 'warn',
};

/** @param environment for both replicas, on top of the settings of the run */
export async function startCluster(environment: Record<string, string> = {}): Promise<Cluster> {
  const postgres = await startPostgres();
  const ports = { A: await freePort(), B: await freePort() };
  const base = `http://localhost:${ports.A}`;
  const urls = { A: `http://127.0.0.1:${ports.A}`, B: `http://127.0.0.1:${ports.B}` };
  const start = (name: 'A' | 'B') =>
    startReplica(postgres.url, { ...settings, BASE_URL: base, PORT: String(ports[name]), ...environment }, false);
  const replicas: Record<'A' | 'B', Replica> = { A: await start('A'), B: await start('B') };
  let ending = false;
  atEnd(async () => (ending = true));

  /** Starts the replica again until it stays: it may find the database away. */
  async function raise(name: 'A' | 'B'): Promise<void> {
    while (!ending) {
      replicas[name] = await start(name);
      const ready = await isReady(replicas[name]).then(() => true, () => false); // prettier-ignore
      if (ready) return;
      replicas[name].process.kill('SIGKILL');
      await delay(300);
    }
  }

  async function restartPostgres(signal: 'SIGQUIT' | 'SIGINT'): Promise<void> {
    const old = await postgres.postmaster().catch(() => null);
    if (old === null) return;
    process.kill(old, signal);
    for (let current = old; current === old && !ending; await delay(50)) current = await postgres.postmaster().catch(() => old);
  }

  return {
    base,
    urls,
    query: (text) => postgres.query(text),
    async suffer({ kind, target, forMs }) {
      if (target === 'postgres') return restartPostgres(kind === 'immediate' ? 'SIGQUIT' : 'SIGINT');
      const { process: child, exited } = replicas[target];
      child.kill(kind === 'kill' ? 'SIGKILL' : 'SIGSTOP');
      await delay(forMs);
      if (kind === 'suspend') child.kill('SIGCONT');
      else {
        await exited;
        await raise(target);
      }
    },
    async ready() {
      for (const name of ['A', 'B'] as const) await isReady(replicas[name]).catch(() => raise(name));
    },
  };
}

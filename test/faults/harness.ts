import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { startEmbeddedPostgres } from '../../src/db/postgres/embedded/embedded-postgres.js';
import { freePort } from '../support/service.js';

/** Endings of what a fault script started; run last first, whatever happened. */
const endings: (() => Promise<unknown>)[] = [];
export const atEnd = (ending: () => Promise<unknown>) => void endings.push(ending);
export async function endAll(): Promise<void> {
  for (let ending = endings.pop(); ending; ending = endings.pop()) await ending().catch((error: unknown) => console.error(error));
}

/** A fault script failed its criterion. */
export function must(holds: boolean, what: string): void {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`);
  if (!holds) process.exitCode = 1;
}

/** A file system of its own, of so many MiB, in memory. Only root may have one. */
export function mountDisk(megabytes: number): string {
  const disk = mkdtempSync(join(tmpdir(), 'identity-provider-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`, 'tmpfs', disk]);
  atEnd(async () => {
    execFileSync('umount', ['--lazy', disk]);
    rmSync(disk, { recursive: true, force: true });
  });
  return disk;
}

/** A PostgreSQL of our own, with fsync on; `postmaster` is its process. */
export async function startPostgres(dataDir = mkdtempSync(join(tmpdir(), 'identity-provider-fault-'))): Promise<{
  url: string;
  postmaster(): Promise<number>;
  query(text: string): Promise<pg.QueryResult>;
  hold(text: string): Promise<{ release(): Promise<void> }>;
}> {
  atEnd(async () => rmSync(dataDir, { recursive: true, force: true }));
  const { url, stop } = await startEmbeddedPostgres({ dataDir, logger: pino({ level: 'silent' }) });
  atEnd(stop);
  return {
    url,
    /** The parent of the process that serves a connection. */
    async postmaster() {
      return withClient(url, async (client) => {
        const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
        return Number(
          (
            readFileSync(`/proc/${rows[0]?.pid ?? 0}/stat`, 'utf8')
              .split(') ')
              .at(-1) ?? ''
          ).split(' ')[1],
        );
      });
    },
    query: (text) => withClient(url, (client) => client.query(text)),
    /** Runs the statements on a connection that stays, with what it has locked, until it is released. */
    async hold(text) {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => undefined);
      await client.connect();
      await client.query(text);
      return { release: () => client.end() };
    },
  };
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return work(client).finally(() => client.end());
}

export const secretKey = randomBytes(32).toString('base64');
export const management = { id: 'fault-client', secret: 'a secret of the fault scripts' };

/** The built service as a process. */
export type Replica = { readonly process: ChildProcess; readonly url: string; readonly exited: Promise<number | null>; log(): string };

/** Starts the built service (`npm run build` first), on the `PORT` given or a free one, and, unless told otherwise, waits until it is ready. */
export async function startReplica(databaseUrl: string, environment: Record<string, string> = {}, awaited = true): Promise<Replica> {
  const port = Number(environment['PORT'] ?? (await freePort()));
  // The address that it listens on. Of "localhost" a caller may try ::1 first, where any other program may have the same port.
  const url = `http://127.0.0.1:${port}`;
  const file = join(mkdtempSync(join(tmpdir(), 'identity-provider-log-')), 'log');
  const log = openSync(file, 'w');
  const child = spawn(process.execPath, ['dist/main.js'], {
    env: {
      PATH: process.env['PATH'],
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      SECRET_KEY: secretKey,
      BASE_URL: url,
      RATE_LIMITS: 'off',
      MANAGEMENT_CLIENT_ID: management.id,
      MANAGEMENT_CLIENT_SECRET: management.secret,
      ADMIN_EMAIL: 'admin@example.com',
      ADMIN_PASSWORD: 'a password of the fault scripts',
      ...environment,
    },
    stdio: ['ignore', log, log],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const replica: Replica = { process: child, url, exited, log: () => readFileSync(file, 'utf8') };
  atEnd(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
    closeSync(log);
    rmSync(join(file, '..'), { recursive: true, force: true });
  });
  if (!awaited) return replica;
  try {
    await isReady(replica);
  } catch (error) {
    // Another program has taken the port since it was free.
    if (environment['PORT'] === undefined && replica.log().includes(`port ${port} is in use`))
      return startReplica(databaseUrl, environment);
    throw error;
  }
  return replica;
}

/** Waits until the replica is ready. @returns after how many milliseconds */
export async function isReady(replica: Replica, withinMs = 120_000): Promise<number> {
  const started = performance.now();
  for (;;) {
    const status = await fetch(`${replica.url}/readyz`).then((answer) => answer.status, () => 0); // prettier-ignore
    if (status === 200) return performance.now() - started;
    if (replica.process.exitCode !== null) throw new Error(`the service ended with ${replica.process.exitCode}:\n${replica.log()}`);
    if (performance.now() - started > withinMs)
      throw new Error(`the service is not ready after ${withinMs} ms:\n${replica.log().slice(-3000)}`);
    await delay(50);
  }
}

export const authorization = `Basic ${Buffer.from(`${management.id}:${management.secret.replaceAll(' ', '+')}`).toString('base64')}`;

/** A form to the replica. Status 0 means no answer: refused, reset, or longer than `limitMs`. */
export async function post(
  url: string,
  path: string,
  fields: Record<string, string>,
  limitMs = 12_000,
): Promise<{ status: number; text: string; ms: number }> {
  const started = performance.now();
  try {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(fields),
      signal: AbortSignal.timeout(limitMs),
    });
    return { status: answer.status, text: await answer.text(), ms: performance.now() - started };
  } catch (error) {
    return { status: 0, text: String((error as { cause?: unknown }).cause ?? error), ms: performance.now() - started };
  }
}

/** A JWT, which needs no database; and an introspection, which needs one statement. */
export const signs = (url: string) => post(url, '/oauth/token', { grant_type: 'client_credentials', resource: `${url}/api` });
export const asks = async (url: string) => post(url, '/oauth/introspect', { token: `at_${'x'.repeat(43)}` });

/** Steady requests, `perSecond` of them, until stopped; answers by status. */
export function startLoad(requests: readonly (() => Promise<{ status: number; ms: number }>)[], perSecond: number) {
  const statuses = new Map<number, number>();
  const pending = new Set<Promise<void>>();
  let slowest = 0;
  let lastFailure = 0;
  let count = 0;
  const timer = setInterval(() => {
    const request = requests[count++ % requests.length] as () => Promise<{ status: number; ms: number }>;
    const done = request().then(({ status, ms }) => {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      slowest = Math.max(slowest, ms);
      if (status >= 500 || status === 0) lastFailure = performance.now();
      pending.delete(done);
    });
    pending.add(done);
  }, 1000 / perSecond);
  return {
    statuses,
    lastFailure: () => lastFailure,
    async stop() {
      clearInterval(timer);
      await Promise.all(pending);
      return {
        statuses: Object.fromEntries(statuses),
        slowest: Math.round(slowest),
        total: [...statuses.values()].reduce((sum, n) => sum + n, 0),
      };
    },
  };
}

/** A TCP proxy to the database that can fall silent: it accepts and swallows, and answers nothing. */
export async function startProxy(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const pairs = new Set<[Socket, Socket]>();
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    near.pipe(far);
    far.pipe(near);
    for (const [one, other] of [pair, pair.toReversed() as [Socket, Socket]]) {
      one.on('error', () => other.destroy());
      one.on('close', () => {
        other.destroy();
        pairs.delete(pair);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    for (const [near] of pairs) near.destroy();
    server.close();
  };
  atEnd(async () => close());
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    connections: () => pairs.size,
    /** From now on the connections that are open carry nothing any more; new ones are as ever. */
    swallow() {
      for (const [near, far] of pairs) {
        near.unpipe(far);
        far.unpipe(near);
        near.resume();
        far.resume();
      }
    },
  };
}

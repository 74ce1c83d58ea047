import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Binaries } from './binaries.js';
import { EmbeddedPostgresError } from './error.js';
import { plainEnvironment, runCommand, type SystemUser } from './system-user.js';

/** A server process of a cluster: one of ours, or one that a killed process left behind. */
export type Postmaster = { readonly pid: number; readonly port: number };

/** One that this process started. `ended` tells how it ended, with the end of its log. */
export type OwnPostmaster = Postmaster & { readonly ended: Promise<string> };

/** PostgreSQL refused to start; `retry` when the reason (a taken port, a predecessor that is still ending) passes by itself. */
export class LaunchError extends EmbeddedPostgresError {
  constructor(
    message: string,
    readonly retry: boolean,
  ) {
    super(message);
  }
}

const readyWithinMs = 120_000;
const fastShutdownWithinMs = 20_000;
const logFileLimit = 5_000_000;

/** A process id above every system's maximum, so that PostgreSQL takes the lock file for that of a dead process. */
const nobodysPid = 2_147_483_646;

const passing = /Address already in use|lock file "postmaster.pid"|pre-existing shared memory block|could not create any TCP\/IP sockets/;

/** Errors go to the log without statements and values, which may hold what no log should. */
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '128MB',
  idle_in_transaction_session_timeout: '30s',
  password_encryption: 'scram-sha-256',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
  log_timezone: 'UTC',
  timezone: 'UTC',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
};

/**
 * Starts PostgreSQL and waits until it takes connections. It gets a process group of its own, so that Ctrl-C in the terminal
 * reaches this process alone, which ends it in order, or at least asks it to end when this process exits unexpectedly.
 * @throws {LaunchError} when it ends, or takes no connections in time
 */
export async function launch(options: {
  binaries: Binaries;
  clusterDir: string;
  user: SystemUser;
  port: number;
  logFile: string;
  overrides: Readonly<Record<string, string>>;
}): Promise<OwnPostmaster> {
  const { binaries, clusterDir, user, port, logFile, overrides } = options;
  const args = ['-D', clusterDir, '-p', String(port)];
  for (const [name, value] of Object.entries({ ...settings, ...overrides })) args.push('-c', `${name}=${value}`);
  const log = await openLog(logFile);
  const child = spawn(binaries.postgres, args, {
    ...user,
    env: plainEnvironment,
    cwd: '/',
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  await log.close();
  child.unref();
  const endWithProcess = () => child.pid !== undefined && signalTo(child.pid, 'SIGINT');
  process.once('exit', endWithProcess);
  child.once('exit', () => process.off('exit', endWithProcess));
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once(
      'exit',
      (code, signal) => void readLog(logFile, log.size).then((text) => resolve(`${signal ?? `exit code ${code}`}: ${text}`)),
    );
  });
  let running = true;
  const refused = ended.then((end): never => {
    running = false;
    throw new LaunchError(`PostgreSQL didn't start (${end})`, passing.test(end));
  });
  await Promise.race([waitUntilReady(clusterDir, () => running && child.pid), refused]);
  return { pid: child.pid as number, port, ended };
}

async function openLog(file: string) {
  const found = await stat(file).catch(() => null);
  if (found !== null && found.size > logFileLimit) await rename(file, `${file}.1`);
  const handle = await open(file, 'a', 0o600);
  const { size } = await handle.stat();
  return { fd: handle.fd, size, close: () => handle.close() };
}

async function readLog(file: string, from: number): Promise<string> {
  const text = await readFile(file).catch(() => Buffer.alloc(0));
  return text.subarray(from).toString('utf8').trim().split('\n').slice(-4).join(' | ');
}

/** As pg_ctl does: the eighth line of the lock file says how far the server is. */
async function waitUntilReady(clusterDir: string, pid: () => number | undefined | false): Promise<void> {
  for (const deadline = performance.now() + readyWithinMs; performance.now() < deadline; await delay(25)) {
    if (pid() === false) return;
    const lines = await readLockFile(clusterDir);
    if (Number(lines[0]) === pid() && lines[7]?.trim() === 'ready') return;
  }
  throw new LaunchError(`PostgreSQL didn't become ready within ${readyWithinMs / 1000} seconds`, false);
}

async function readLockFile(clusterDir: string): Promise<string[]> {
  const text = await readFile(join(clusterDir, 'postmaster.pid'), 'utf8').catch(() => '');
  return text.split('\n');
}

/**
 * The server that runs on this cluster, if any. A lock file whose process id meanwhile belongs to some other program
 * would stop PostgreSQL from starting, so that id is struck out; the rest of the file stays, from which PostgreSQL
 * itself proves that no process of the old server is left.
 */
export async function findRunning(clusterDir: string): Promise<Postmaster | null> {
  const lines = await readLockFile(clusterDir);
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return null;
  if (await serves(pid, clusterDir)) return { pid, port: Number(lines[3]) };
  await writeFile(join(clusterDir, 'postmaster.pid'), [nobodysPid, ...lines.slice(1)].join('\n'));
  return null;
}

/** Whether the process is a server of this cluster; one that has ended and wasn't waited for yet has no command any more. */
async function serves(pid: number, clusterDir: string): Promise<boolean> {
  const command = await commandOf(pid);
  return command.includes('postgres') && command.includes(clusterDir);
}

async function commandOf(pid: number): Promise<string> {
  const linux = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null);
  return linux ?? (await runCommand(null, 'ps', ['-ww', '-o', 'command=', '-p', String(pid)])).output;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Fast shutdown: sessions are ended, everything is written, then the server is gone. If that takes too long, it is made to quit.
 * @throws {EmbeddedPostgresError} when it doesn't end
 */
export async function stopPostmaster(clusterDir: string, pid: number): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    signalTo(pid, signal);
    for (const deadline = performance.now() + fastShutdownWithinMs; performance.now() < deadline; await delay(25)) {
      // The process, not the lock file: a server that is about to go takes its file with it, and nobody must write it again.
      if (!isAlive(pid) || !(await serves(pid, clusterDir))) return;
    }
  }
  throw new EmbeddedPostgresError(`PostgreSQL (process ${pid}) doesn't end; end it by hand and start again.`);
}

/** Sends a signal to a process that may be gone already. */
function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A port of 127.0.0.1 that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

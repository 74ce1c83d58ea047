import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** A server under load, and what a client of it must know. */
export type Target = {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly paths: Readonly<Record<'token' | 'par' | 'introspect' | 'authorize' | 'userinfo' | 'jwks' | 'discovery', string>>;
  readonly client: { readonly id: string; readonly secret: string };
  readonly publicClient: { readonly id: string };
  /** Of others than the service's operator: people are asked. */
  readonly othersClient: { readonly id: string };
  /** By token format, or by the algorithm of its JWTs. */
  readonly resources: Readonly<Record<'jwt' | 'opaque' | 'ES256' | 'EdDSA', string>>;
  readonly redirect_uri: string;
  /** Scenarios that it has no endpoint for. */
  readonly lacks?: readonly string[];
  /** A new live session as a Cookie header. */
  session(): Promise<string>;
  stop(): Promise<void>;
};

/** The clients and resources that every target is given. */
export const fixtures = {
  client: { id: 'bench', secret: 'cs_0123456789012345678901234567890123456789012' },
  publicClient: { id: 'bench-public' },
  othersClient: { id: 'bench-others' },
  person: { email: 'bench@example.com', password: 'a password of the bench' },
  /** Who signs in over each connection, with the password of `person`: no service takes many sign-ins of one person at once for ordinary. */
  people: Array.from({ length: 32 }, (_none, index) => `bench-${index}@example.com`),
  resources: {
    jwt: 'https://jwt.bench.example',
    opaque: 'https://opaque.bench.example',
    ES256: 'https://es256.bench.example',
    EdDSA: 'https://eddsa.bench.example',
  },
  redirect_uri: 'https://app.bench.example/cb',
} as const;

const canPin = spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/** The command that runs another one on the given processors only (where `taskset` exists). */
export function pinned(processors: string, command: readonly string[]): [string, string[]] {
  const whole = canPin && processors !== '' ? ['taskset', '-c', processors, ...command] : [...command];
  return [whole[0] as string, whole.slice(1)];
}

/** Moves a running process, with all its threads, to the given processors. */
export function pin(pid: number, processors: string): void {
  if (canPin && processors !== '') spawnSync('taskset', ['-a', '-c', '-p', processors, String(pid)]);
}

/** A port that is free right now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A started server process. */
export type Started = { readonly process: ChildProcess; readonly pid: number; readonly seconds: number };

/**
 * Starts a server process whose output goes to the open file `log` (as an operator's would) and waits until `readyUrl` answers 200.
 * `seconds` is how long that took.
 */
export async function startProcess(
  command: readonly string[],
  options: { processors: string; env: Record<string, string>; readyUrl: string; log: number },
): Promise<Started> {
  const [file, args] = pinned(options.processors, command);
  const started = performance.now();
  const child = spawn(file, args, {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', NODE_ENV: 'production', ...options.env },
    stdio: ['ignore', options.log, options.log],
  });
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${command.join(' ')} ended with ${child.exitCode}; its output is in the log`);
    if (performance.now() - started > 180_000) throw new Error(`${command.join(' ')} did not become ready`);
    const status = await fetch(options.readyUrl).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return { process: child, pid: child.pid as number, seconds: (performance.now() - started) / 1000 };
    await delay(50);
  }
}

/** What another server is started with: its empty database, its processors, and the open file that its output goes to. */
export type ServerOptions = { readonly databaseUrl: string; readonly processors: string; readonly log: number };

/** Starts a server of this folder, by the name of its file, that is compared with the service. */
export async function startServer(name: string, { databaseUrl, processors, log }: ServerOptions): Promise<Started & { port: number }> {
  const port = await freePort();
  const started = await startProcess([process.execPath, '--import', 'tsx', fileURLToPath(new URL(`./${name}`, import.meta.url))], {
    processors,
    env: { PORT: String(port), DATABASE_URL: databaseUrl },
    readyUrl: `http://127.0.0.1:${port}/jwks`,
    log,
  });
  return { ...started, port };
}

/** Ends a server process and waits for it. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 12_000);
  await ended;
  clearTimeout(timer);
}

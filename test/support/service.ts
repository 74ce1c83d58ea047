import { createServer } from 'node:net';
import { randomBytes, randomInt } from 'node:crypto';
import { readConfig, type Config } from '../../src/config.js';
import { defaultContext } from '../../src/domain/configuration/bootstrap.js';
import { createContext, type Context, type Deps } from '../../src/domain/context.js';
import { findEnvironmentById } from '../../src/domain/environments/environments.js';
import { createPasswordHasher } from '../../src/domain/passwords/passwords.js';
// What a process loads with the first request for it is compiled here first, which no request has the time to wait for.
import '../../src/dashboard/shell/router.js';
import '../../src/management/reference/router.js';
import '../../src/management/router.js';
import '../../src/sso/router.js';
import {
  createDeps,
  prepareDatabase,
  prepareMigrated,
  startService,
  type Overrides,
  type RunningService,
} from '../../src/process/service.js';
import type { Clock } from '../../src/platform/clock.js';
import { ownRelease } from '../../src/domain/diagnostics/own-installation.js';
import { createMetrics } from '../../src/platform/metrics/metrics.js';
import { openTracer } from '../../src/platform/spans/start.js';
import type { Tracer } from '../../src/platform/spans/tracer.js';
import { traceableLog } from '../../src/platform/log/logger.js';
import { createTestDatabase } from './database.js';
import { keyPairsInTurn } from './key-pairs.js';

/** A clock that tests move; it starts at the machine's time and runs on with it. */
export type TestClock = Clock & { advance(ms: number): void };

export function createTestClock(): TestClock {
  let offset = 0;
  return {
    now: () => new Date(Date.now() + offset),
    elapsed: () => performance.now() + offset,
    advance(ms) {
      offset += ms;
    },
  };
}

/** The service under test: listening, on a database of its own. */
export type TestService = {
  readonly url: string;
  readonly config: Config;
  readonly deps: Deps;
  readonly clock: TestClock;
  /** Everything that was logged, as JSON lines. */
  readonly log: string[];
  readonly databaseUrl: string;
  readonly secretKey: string;
  context(): Promise<Context>;
  contextOf(environment_id: string): Promise<Context>;
  stop(): Promise<void>;
};

/**
 * A port on loopback that nobody listens on. Below those that the system gives to connections (from 32768 on, as a rule): between the look and the use
 * one of those may be taken by anything that runs beside the tests.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/**
 * Hashes as the service does, for the least that argon2id takes. Tests about passwords themselves (what is stored, what it costs) hand in
 * `createPasswordHasher()` instead.
 */
export const cheapPasswords = (tracer: Tracer | null = null) => {
  const cost = { memoryCost: 8, timeCost: 1 };
  return createPasswordHasher({ cost, earlierCost: cost, tracer });
};

/**
 * Starts a service with the settings of a fresh installation (rate limits off unless asked for, nobody outside asked about passwords, which are hashed cheaply without PASSWORD_HASH, key pairs
 * from the worker's stock) on a database of its own, or on the given one (a second replica). What goes by the clock beside the requests (expiry, rotation, checks,
 * reports) runs with `upkeep`, and on a given database.
 */
export async function startTestService(
  environment: Record<string, string> = {},
  options: { database?: { url: string; secretKey: string }; overrides?: Overrides; clock?: TestClock; upkeep?: boolean } = {},
): Promise<TestService> {
  const own = options.database ? null : await createTestDatabase();
  const databaseUrl = options.database?.url ?? (own as { url: string }).url;
  const secretKey = options.database?.secretKey ?? randomBytes(32).toString('base64');
  const port = await freePort();
  const defaults = { RATE_LIMITS: 'off', LOG_LEVEL: 'info', LOG_FORMAT: 'json', BREACHED_PASSWORDS_URL: 'off' };
  const config = readConfig({ PORT: String(port), ...defaults, ...environment });
  const clock = options.clock ?? createTestClock();
  const log: string[] = [];
  const logger = traceableLog({ level: config.logLevel }, { write: (line: string) => void log.push(line) });
  const storage = { url: databaseUrl, directUrl: databaseUrl, secretKey };
  const { metrics = createMetrics() } = options.overrides ?? {};
  const tracer = await openTracer(config, ownRelease(), { logger, metrics });
  const deps = createDeps(config, logger, storage, {
    clock,
    metrics,
    tracer,
    ...(!('PASSWORD_HASH' in environment) && { passwords: cheapPasswords(tracer) }),
    ...(own && { newKeyPair: keyPairsInTurn() }),
    ...options.overrides,
  });
  await (own ? prepareMigrated(deps) : prepareDatabase(deps, databaseUrl));
  const running: RunningService = await startService(deps, databaseUrl, { upkeep: options.upkeep ?? own === null });
  return {
    url: config.baseUrl,
    config,
    deps,
    clock,
    log,
    databaseUrl,
    secretKey,
    context: () => defaultContext(deps),
    async contextOf(environment_id) {
      const found = await findEnvironmentById(deps, environment_id);
      if (!found) throw new Error(`no environment ${environment_id}`);
      return createContext(deps, found);
    },
    async stop() {
      await running.stop();
      await own?.drop();
    },
  };
}

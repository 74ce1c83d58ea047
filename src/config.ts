import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import { inspectVariables, type ConfigInspection } from './lib/config-inspection.js';
import { earlierKeyProblem, randomKeyProblem } from './lib/random-key.js';
import { contradictionsOf, isOwnMachine, namesLoopback } from './lib/variable-contradictions.js';
import { fileVariable, withFiles, withPassword, type ResolvedVariables } from './lib/variable-files.js';
import {
  cellName,
  collectorUrl,
  fraction,
  integer,
  commaList,
  onOff,
  origin,
  passwordCost,
  publicRangeUrl,
  rangeUrl,
  rateLimit,
  redisAddress,
  sampler,
  securityContact,
  smtpAddress,
  sound,
  trustProxy,
} from './lib/variable-kinds.js';

export type { RateLimit } from './lib/variable-kinds.js';

/** Lists every problem of the environment variables; `process/run.ts` prints them and exits 78 (sysexits EX_CONFIG). */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`invalid configuration:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

export { isOwnMachine } from './lib/variable-contradictions.js';

const postgresAddress = z.string().regex(/^postgres(ql)?:\/\//, 'must be a postgres:// address');

const variables = z.object({
  PORT: integer(3000, 0, 65535),
  HOST: z.string().default('127.0.0.1'),
  BASE_URL: origin.optional(),
  DATABASE_URL: postgresAddress.optional(),
  DATABASE_DIRECT_URL: postgresAddress.optional(),
  DATABASE_REPLICA_URL: postgresAddress.optional(),
  DATABASE_REPLICA_URLS: z.string().transform(commaList).pipe(z.array(postgresAddress)).optional(),
  DATABASE_REPORT_URL: postgresAddress.optional(),
  REPORT_MAX_LAG_MS: integer(5000, 100, 60_000),
  DATABASE_PASSWORD: z.string().optional(),
  DATABASE_POOL_MAX: integer(10, 4, 1000),
  DATABASE_PREPARED_STATEMENTS: onOff.default(true),
  DATA_DIR: z.string().default('.data'),
  SECRET_KEY: sound(randomKeyProblem).optional(),
  SECRET_KEY_PREVIOUS: sound((text) => commaList(text).map(earlierKeyProblem).find(Boolean) ?? null)
    .transform(commaList)
    .default([]),
  ADMIN_EMAIL: z.email('must be an email address').optional(),
  ADMIN_PASSWORD: z.string().min(8, 'must have at least 8 characters').max(128).optional(),
  MANAGEMENT_CLIENT_ID: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters')
    .optional(),
  MANAGEMENT_CLIENT_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
  SMTP_URL: smtpAddress.optional(),
  EMAIL_FROM: z.string().default('no-reply@localhost'),
  DEV_MAILBOX: z.enum(['local', 'on', 'off'], 'must be local, on or off').default('local'),
  TRUST_PROXY: trustProxy.default(false),
  RATE_LIMITS: onOff.default(true),
  RATE_LIMIT_LOGIN: rateLimit('10/60'),
  RATE_LIMIT_REGISTER: rateLimit('10/60'),
  RATE_LIMIT_TOKEN: rateLimit('10/60'),
  RATE_LIMIT_API: rateLimit('100/60'),
  RATE_LIMIT_SCIM: rateLimit('1500/60'),
  RATE_LIMIT_ASSERTIONS: rateLimit('60/60'),
  RATE_LIMIT_STORE: z.enum(['postgres', 'redis', 'memory']).default('postgres'),
  REDIS_URL: redisAddress.optional(),
  WEB_CONCURRENCY: z
    .string()
    .regex(/^(auto|[1-9]\d{0,2})$/, 'must be a number of processes or auto')
    .default('1')
    .transform((text) => (text === 'auto' ? availableParallelism() : Number(text))),
  CELL: cellName.optional(),
  BACKGROUND_WORK: z.enum(['on', 'off', 'only'], 'must be on, off or only').default('on'),
  SHUTDOWN_DELAY_MS: integer(0, 0, 60_000),
  ALLOW_PRIVATE_NETWORK: onOff.optional(),
  PASSWORD_HASH: passwordCost('19456/2'),
  BREACHED_PASSWORDS_URL: rangeUrl.optional(),
  BREACHED_PASSWORDS_FILE: z.string().optional(),
  WEBHOOK_RETRY_BASE_MS: integer(5000, 1, 3_600_000),
  WEBHOOK_RETRY_FACTOR: z.coerce.number().min(1).max(100).default(8),
  WEBHOOK_TIMEOUT_MS: integer(10_000, 10, 60_000),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LOG_FORMAT: z.enum(['pretty', 'json']).optional(),
  EVENT_DAYS: integer(30, 1, 3650),
  SECURITY_EVENT_DAYS: integer(180, 1, 3650),
  METRICS_TOKEN: z.string().min(16, 'must have at least 16 characters').optional(),
  SECURITY_CONTACT: securityContact.optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z.enum(['http/protobuf'], 'must be http/protobuf, the only one that there is').optional(),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: z.string().optional(),
  OTEL_TRACES_SAMPLER: sampler.optional(),
  OTEL_TRACES_SAMPLER_ARG: fraction.optional(),
  OTEL_SDK_DISABLED: z.enum(['true', 'false'], 'must be true or false').optional(),
});

/** What may stand in a file, which a variable of its name with `_FILE` names. */
const secrets = [
  'SECRET_KEY',
  'SECRET_KEY_PREVIOUS',
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'DATABASE_REPLICA_URL',
  'DATABASE_REPLICA_URLS',
  'DATABASE_REPORT_URL',
  'DATABASE_PASSWORD',
  'ADMIN_PASSWORD',
  'MANAGEMENT_CLIENT_SECRET',
  'SMTP_URL',
  'REDIS_URL',
  'METRICS_TOKEN',
  'OTEL_EXPORTER_OTLP_HEADERS',
] as const;

/** Problems of single variables, then of variables that contradict each other, as sentences for the operator. */
function problemsOf(present: Readonly<Record<string, string | undefined>>, parsed: ReturnType<typeof variables.safeParse>): string[] {
  const problems = parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
  return [...problems, ...contradictionsOf(present, parsed.success ? parsed.data.WEB_CONCURRENCY : 1)];
}

const databaseUrls = secrets.filter((name) => /^DATABASE_.*URLS?$/.test(name));

/** The variables that have a value; an empty one counts as absent, what stands in a file as set. */
function resolved(environment: NodeJS.ProcessEnv): ResolvedVariables {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const { values, problems } = withFiles(present, secrets, (path) => readFileSync(path, 'utf8'));
  const password = values['DATABASE_PASSWORD'];
  const owned = databaseUrls.map((name) => [name, withPassword(values[name], password)]);
  const useless =
    password !== undefined && values['DATABASE_URL'] === undefined ? ['DATABASE_PASSWORD needs DATABASE_URL, whose password it is'] : [];
  return { values: { ...values, ...Object.fromEntries(owned) }, problems: [...problems, ...useless] };
}

const collectorOf = ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS, OTEL_SDK_DISABLED }: z.output<typeof variables>) =>
  url === undefined || OTEL_SDK_DISABLED === 'true' ? null : { url, headers: OTEL_EXPORTER_OTLP_HEADERS ?? null };

const rateLimitsOf = (v: z.output<typeof variables>) => ({
  enabled: v.RATE_LIMITS,
  login: v.RATE_LIMIT_LOGIN,
  register: v.RATE_LIMIT_REGISTER,
  token: v.RATE_LIMIT_TOKEN,
  api: v.RATE_LIMIT_API,
  scim: v.RATE_LIMIT_SCIM,
  assertions: v.RATE_LIMIT_ASSERTIONS,
  store: v.RATE_LIMIT_STORE,
  redisUrl: v.REDIS_URL ?? null,
});

const passwordsOf = (v: z.output<typeof variables>, loopback: boolean) => ({
  passwordCost: v.PASSWORD_HASH,
  /** Where new passwords are looked for: a service to whose `url` five digits are added, by `ownUrl` the operator's, which may be private; a file; null: not there. */
  breachedPasswords: {
    url: v.BREACHED_PASSWORDS_URL === 'off' ? null : (v.BREACHED_PASSWORDS_URL ?? (loopback ? null : publicRangeUrl)),
    ownUrl: v.BREACHED_PASSWORDS_URL !== undefined,
    file: v.BREACHED_PASSWORDS_FILE === undefined ? null : resolve(v.BREACHED_PASSWORDS_FILE),
  },
});

/**
 * Reads the configuration from environment variables (README, "Configuration"). An empty variable counts as absent.
 * @throws {ConfigError} with every problem found, never only the first.
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env) {
  const { values, problems: unread } = resolved(environment);
  const parsed = variables.safeParse(values);
  const problems = [...unread, ...problemsOf(values, parsed)];
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);

  const v = parsed.data;
  const baseUrl = new URL(v.BASE_URL ?? `http://localhost:${v.PORT}`).origin;
  const loopback = namesLoopback(baseUrl);
  return {
    port: v.PORT,
    host: v.HOST,
    baseUrl,
    /** The host of `baseUrl`, with its port if that isn't the usual one. */
    baseHost: new URL(baseUrl).host,
    /** True while BASE_URL names this machine: development defaults apply. */
    loopback,
    /** True when other machines may connect. */
    listensBeyondLoopback: !isOwnMachine(v.HOST),
    secureCookies: baseUrl.startsWith('https:'),
    databaseUrl: v.DATABASE_URL ?? null,
    /** A connection without a transaction pooler in between, for LISTEN and migrations. */
    databaseDirectUrl: v.DATABASE_DIRECT_URL ?? v.DATABASE_URL ?? null,
    /** Streaming standbys of DATABASE_URL that introspection may ask. */
    databaseReplicaUrls: v.DATABASE_REPLICA_URLS ?? (v.DATABASE_REPLICA_URL === undefined ? [] : [v.DATABASE_REPLICA_URL]),
    /** A streaming standby that lists are read from while it is at most so many milliseconds behind. */
    databaseReport: v.DATABASE_REPORT_URL === undefined ? null : { url: v.DATABASE_REPORT_URL, maxLagMs: v.REPORT_MAX_LAG_MS },
    databasePoolMax: v.DATABASE_POOL_MAX,
    /** Off behind a transaction pooler that doesn't know named statements (pgbouncer before 1.21). */
    databasePreparedStatements: v.DATABASE_PREPARED_STATEMENTS,
    dataDir: resolve(v.DATA_DIR),
    secretKey: v.SECRET_KEY ?? null,
    /** Keys that open what SECRET_KEY doesn't: earlier ones, and the one that comes next. */
    secretKeyPrevious: v.SECRET_KEY_PREVIOUS,
    admin: v.ADMIN_EMAIL && v.ADMIN_PASSWORD ? { email: v.ADMIN_EMAIL, password: v.ADMIN_PASSWORD } : null,
    managementClient:
      v.MANAGEMENT_CLIENT_ID && v.MANAGEMENT_CLIENT_SECRET
        ? { client_id: v.MANAGEMENT_CLIENT_ID, client_secret: v.MANAGEMENT_CLIENT_SECRET }
        : null,
    smtpUrl: v.SMTP_URL ?? null,
    emailFrom: v.EMAIL_FROM,
    /** Who may read captured mail: `local` this machine, `on` any caller, `off` nobody. `on` needs a loopback BASE_URL. */
    devMailbox: v.DEV_MAILBOX,
    trustProxy: v.TRUST_PROXY,
    rateLimits: rateLimitsOf(v),
    webConcurrency: v.WEB_CONCURRENCY,
    /** The name of the cell whose environments are here: a host that is none of theirs is refused. Null: it is the default environment's. */
    cell: v.CELL ?? null,
    /** Whether this process sends and tidies what requests leave behind: beside them (`on`), not at all (`off`), or instead of them (`only`). */
    backgroundWork: v.BACKGROUND_WORK,
    /** Milliseconds for which a stopping process still answers requests while /readyz says 503, so that its load balancer takes it out. */
    shutdownDelayMs: v.SHUTDOWN_DELAY_MS,
    allowPrivateNetwork: v.ALLOW_PRIVATE_NETWORK ?? loopback,
    ...passwordsOf(v, loopback),
    webhook: { retryBaseMs: v.WEBHOOK_RETRY_BASE_MS, retryFactor: v.WEBHOOK_RETRY_FACTOR, timeoutMs: v.WEBHOOK_TIMEOUT_MS },
    logLevel: v.LOG_LEVEL,
    logFormat: v.LOG_FORMAT ?? (process.stdout.isTTY ? ('pretty' as const) : ('json' as const)),
    eventDays: v.EVENT_DAYS,
    securityEventDays: v.SECURITY_EVENT_DAYS,
    metricsToken: v.METRICS_TOKEN ?? null,
    /** The URI that /.well-known/security.txt names; null: there is no such file. */
    securityContact: v.SECURITY_CONTACT ?? null,
    /** Where spans are sent (`headers` as `name=value,...`); null: nowhere, and none are made. Name, attributes and sampler are read by OpenTelemetry itself. */
    collector: collectorOf(v),
  };
}

export type Config = ReturnType<typeof readConfig>;

/** What stands in the environment variables, sound or not, for somebody who wants to know what is wrong with them. Never throws. */
export function inspectConfig(environment: NodeJS.ProcessEnv = process.env): ConfigInspection<Config> {
  const known = [...Object.keys(variables.shape), ...secrets.map(fileVariable)];
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  return inspectVariables(present, {
    known,
    problemsOf(sound) {
      const { values, problems } = resolved(sound);
      return [...problems, ...problemsOf(values, variables.safeParse(values))];
    },
    read: readConfig,
  });
}

import { randomBytes } from 'node:crypto';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { readConfig } from '../../src/config.js';
import { defaultContext } from '../../src/domain/configuration/bootstrap.js';
import { transaction, type Context } from '../../src/domain/context.js';
import { changeEnvironment } from '../../src/domain/configuration/settings.js';
import { generateKeysFor } from '../../src/domain/signing-keys/algorithms.js';
import { proofNow } from '../../src/domain/proofs/proofs.js';
import { startSession } from '../../src/domain/sessions/sessions.js';
import { insertApiResource } from '../../src/db/tables/api_resources.js';
import { insertClientGrant } from '../../src/db/tables/client_grants.js';
import { insertClient } from '../../src/db/tables/clients.js';
import { insertPermission } from '../../src/db/tables/permissions.js';
import { insertUser } from '../../src/db/tables/users.js';
import { digest } from '../../src/lib/digest.js';
import { uuidv7 } from '../../src/lib/random.js';
import { closeDeps, createDeps, prepareDatabase } from '../../src/process/service.js';
import { endProcess, fixtures, freePort, startProcess, type Started, type Target } from './target.js';

const root = new URL('../../', import.meta.url);

/** What `npm start` runs, with further arguments of Node: so that what is measured is what operators run. */
export const startCommand = (nodeArguments: readonly string[]): string[] => [
  'sh',
  fileURLToPath(new URL('bin/start.sh', root)),
  ...nodeArguments,
];

/** With the Node that runs this in front. */
export const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);

/** A collector of traces that the caller has named: what spans cost is measured by naming one. */
const collector = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('OTEL_'))) as Record<string, string>;

const stamp = (ctx: Context) => {
  const now = ctx.clock.now();
  return { id: uuidv7(now.getTime()), created_at: now, updated_at: now };
};

/** The limit that an operator gives a busy client; high enough never to be met here, and counted all the same. */
const token_rate_limit = 100_000_000;

async function seed(ctx: Context): Promise<string> {
  const base = { ...stamp(ctx), redirect_uris: [fixtures.redirect_uri], token_rate_limit, first_party: true };
  await insertClient(ctx.scope, {
    ...base,
    id: fixtures.client.id,
    name: 'Bench',
    application_type: 'web',
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials', 'urn:ietf:params:oauth:grant-type:device_code'],
    token_endpoint_auth_method: 'client_secret_basic',
    secret_digest: digest(fixtures.client.secret),
  });
  await insertClient(ctx.scope, {
    ...base,
    id: fixtures.publicClient.id,
    name: 'Bench in the browser',
    application_type: 'spa',
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
    require_pkce: true,
  });
  await insertClient(ctx.scope, {
    ...base,
    id: fixtures.othersClient.id,
    name: 'Bench of others',
    application_type: 'spa',
    grant_types: ['authorization_code'],
    token_endpoint_auth_method: 'none',
    require_pkce: true,
    first_party: false,
  });
  const { environment } = ctx;
  const signing_algorithms = ['RS256', 'ES256', 'EdDSA'] as const;
  const keys = await generateKeysFor(ctx, signing_algorithms, environment.signing_algorithms);
  await transaction(ctx, (tx) => changeEnvironment(tx, environment, { signing_algorithms: [...signing_algorithms] }, keys));
  for (const kind of ['jwt', 'opaque', 'ES256', 'EdDSA'] as const) {
    const resource = await insertApiResource(ctx.scope, {
      ...stamp(ctx),
      identifier: fixtures.resources[kind],
      name: kind,
      token_format: kind === 'opaque' ? 'opaque' : 'jwt',
      ...(kind === 'ES256' || kind === 'EdDSA' ? { signing_alg: kind } : {}),
      access_token_lifetime: 3600,
    });
    for (const name of ['read', 'write']) await insertPermission(ctx.scope, { ...stamp(ctx), api_resource_id: resource.id, name });
    const grant = { client_id: fixtures.client.id, api_resource_id: resource.id, scopes: ['read', 'write'] };
    await insertClientGrant(ctx.scope, { ...stamp(ctx), ...grant });
  }
  const password_hash = await ctx.crypto.passwords.hash(fixtures.person.password);
  const insertPerson = (email: string) =>
    insertUser(ctx.scope, {
      ...stamp(ctx),
      email,
      email_key: email,
      email_verified: true,
      first_name: 'Grace',
      last_name: 'Hopper',
      password_hash,
    });
  for (const email of fixtures.people) await insertPerson(email);
  const user = await insertPerson(fixtures.person.email);
  return user.id;
}

/** The service itself, further open to the bench: its context, how long it took to start, and further processes on its database. */
export type Product = Target & { readonly ctx: Context; readonly started: Started; replica(env?: Record<string, string>): Promise<Target> };

const paths: Target['paths'] = {
  token: '/oauth/token',
  par: '/oauth/par',
  introspect: '/oauth/introspect',
  authorize: '/oauth/authorize',
  userinfo: '/oauth/userinfo',
  jwks: '/.well-known/jwks.json',
  discovery: '/.well-known/openid-configuration',
};

/** Starts the built service in its ordinary configuration: logging, limits, headers and validation on. */
export async function startProduct(options: {
  databaseUrl: string;
  processors: string;
  log: number;
  env?: Record<string, string>;
  nodeArguments?: readonly string[];
  /** Of what is seeded, before the service starts. */
  prepare?: (ctx: Context) => Promise<void>;
}): Promise<Product> {
  const port = await freePort();
  const secretKey = randomBytes(32).toString('base64');
  const env = { PORT: String(port), DATABASE_URL: options.databaseUrl, SECRET_KEY: secretKey, ...collector, ...options.env };
  const config = readConfig(env);
  const deps = createDeps(config, pino({ level: 'warn' }), { url: options.databaseUrl, directUrl: options.databaseUrl, secretKey });
  await prepareDatabase(deps, options.databaseUrl);
  const ctx = await defaultContext(deps);
  const user_id = await seed(ctx);
  await options.prepare?.(ctx);
  const processes: Started[] = [];
  const start = async (own: Record<string, string>): Promise<Started> => {
    const started = await startProcess(startCommand(options.nodeArguments ?? []), {
      processors: options.processors,
      env: { ...own, PATH: path },
      readyUrl: `http://127.0.0.1:${own['PORT']}/readyz`,
      log: options.log,
    });
    processes.push(started);
    return started;
  };
  const started = await start(env);
  let stopped = false;
  const target = (pid: number, at: number): Target => ({
    ...fixtures,
    name: 'product',
    pid,
    port: at,
    paths,
    async session() {
      const { token } = await startSession(ctx, {
        user_id,
        proofs: [proofNow('password', ctx.clock.now())],
        ip_address: '127.0.0.1',
        user_agent: 'bench',
      });
      return `idp_session=${token}`;
    },
    async stop() {
      if (stopped) return;
      stopped = true;
      await Promise.all(processes.map((one) => endProcess(one.process)));
      await closeDeps(deps);
    },
  });
  return {
    ...target(started.pid, port),
    ctx,
    started,
    async replica(more = {}) {
      const own = await freePort();
      const replica = await start({ ...env, ...more, PORT: String(own) });
      return { ...target(replica.pid, own), stop: () => endProcess(replica.process) };
    },
  };
}

import { randomUUID } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { emit } from '../src/domain/events/emit.js';
import { transaction, type Context } from '../src/domain/context.js';
import { createWebhook } from '../src/domain/webhooks/webhooks.js';
import { prepareEnvironment } from '../src/domain/environments/bootstrap.js';
import { insertClient } from '../src/db/tables/clients.js';
import { insertConnection } from '../src/db/tables/connections.js';
import { insertEnvironment } from '../src/db/tables/environments.js';
import { insertPermission } from '../src/db/tables/permissions.js';
import { digest } from '../src/lib/digest.js';
import { uuidv7 } from '../src/lib/random.js';
import { closedLoop, requestText, type Operation, type Reply } from './driver.js';
import { median, percentile, type Plan } from './measure.js';
import { familyTime, processorTime, residentMiB, usedBetween } from './processor-time.js';
import { scenarios } from './scenarios.js';
import type { Product } from './targets/product.js';

/** What an operation costs while there are so many of something. Microseconds of processor time; medians of the rounds. */
export type ManySize = {
  readonly size: number;
  readonly server_us: number;
  readonly postgres_us: number;
  readonly p99_ms: number;
  readonly resident_mib: number;
};

export type ManyResult = { readonly name: string; readonly title: string; readonly sizes: readonly ManySize[] };

/** A thing of which there may be many. `grow` tops it up from so many to so many; `open` makes the operation that meets them. */
type Many = {
  readonly name: string;
  readonly title: string;
  readonly sizes: readonly [number, number];
  grow(target: Product, from: number, to: number): Promise<void>;
  open(target: Product, size: number): Promise<Operation>;
};

const secret = 'cs_many_0123456789012345678901234567890123456';
const basic = (id: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

const stamp = (ctx: Context) => {
  const now = ctx.clock.now();
  return { id: uuidv7(now.getTime()), created_at: now, updated_at: now };
};

function expectThat(right: boolean, what: string, { status, body }: Reply): void {
  if (!right) throw new Error(`${what}: ${status} ${body.slice(0, 300)}`);
}

/** Calls `each` for every number from `from` on below `to`, some at a time. */
async function forEach(from: number, to: number, each: (n: number) => Promise<unknown>): Promise<void> {
  let next = from;
  const work = async () => {
    while (next < to) await each(next++);
  };
  await Promise.all(Array.from({ length: 6 }, work));
}

const addClient = (ctx: Context, id: string, redirect_uris: string[] = []) =>
  insertClient(ctx.scope, {
    ...stamp(ctx),
    id,
    name: id,
    application_type: redirect_uris.length > 0 ? 'web' : 'machine',
    grant_types: redirect_uris.length > 0 ? ['authorization_code'] : ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
    secret_digest: digest(secret),
    redirect_uris,
    first_party: true,
    token_rate_limit: 100_000_000,
  });

/** Introspection by one of many clients, of a token that isn't there: the client is looked up, and one row isn't found. */
const openIntrospection =
  (pick: (n: number) => { readonly host: string; readonly id: string }) =>
  async (target: Product, size: number): Promise<Operation> => {
    let turn = 0;
    return async (connection) => {
      const { host, id } = pick((turn++ * 7919) % size);
      const headers = { Host: `${host}:${target.port}`, Authorization: basic(id) };
      const reply = await connection.send(requestText('POST', target.paths.introspect, headers, { token: `at_${'x'.repeat(43)}` }));
      expectThat(reply.body.includes('"active":false'), 'expected to hear that there is no such token', reply);
    };
  };

/** A page or a redirection that is asked for again and again. */
const openPage =
  (path: (target: Product) => string, cookie: boolean, status: number) =>
  async (target: Product): Promise<Operation> => {
    const headers = { Host: `localhost:${target.port}`, Accept: 'text/html', ...(cookie && { Cookie: await target.session() }) };
    const text = requestText('GET', path(target), headers);
    return async (connection) => {
      const reply = await connection.send(text);
      expectThat(reply.status === status, `expected ${status}`, reply);
    };
  };

const lastOf = (n: number) => `https://app.bench.example/callback/${n}`;

async function growRoles(target: Product, from: number, to: number): Promise<void> {
  const { ctx } = target;
  const [resource] = await ctx.knex('api_resources').where({ identifier: target.resources.opaque }).select('id');
  const [user] = await ctx.knex('users').where({ email: 'bench@example.com' }).select('id');
  await forEach(from, to, async (n) => {
    const permission = await insertPermission(ctx.scope, { ...stamp(ctx), api_resource_id: resource.id, name: `part:${n}` });
    const role_id = randomUUID();
    await ctx.knex.raw(
      `with role as (insert into roles (environment_id, id, name, created_at, updated_at) values (?, ?, ?, now(), now()) returning environment_id, id),
            holds as (insert into role_permissions (environment_id, role_id, permission_id) select environment_id, id, ? from role)
       insert into user_roles (environment_id, user_id, role_id) select environment_id, ?, id from role`,
      [ctx.environment.id, role_id, `role ${n}`, permission.id, user.id],
    );
  });
}

/** All of them but the webhooks, which take their cost from the deliveries. */
const all: readonly Many[] = [
  {
    name: 'environments',
    title: 'introspection in one of so many environments',
    sizes: [100, 1000],
    grow: ({ ctx }, from, to) =>
      forEach(from, to, async (n) => {
        const row = await insertEnvironment(ctx.knex, { ...stamp(ctx), name: `many ${n}`, slug: `many-${n}`, kind: 'staging' });
        await addClient(await prepareEnvironment(ctx, row.id), 'many');
      }),
    open: openIntrospection((n) => ({ host: `many-${n}.localhost`, id: 'many' })),
  },
  {
    name: 'clients',
    title: 'introspection by one of so many clients',
    sizes: [1000, 10_000],
    grow: ({ ctx }, from, to) => forEach(from, to, (n) => addClient(ctx, `many-${n}`)),
    open: openIntrospection((n) => ({ host: 'localhost', id: `many-${n}` })),
  },
  {
    name: 'connections',
    title: 'the login page beside so many connections',
    sizes: [100, 1000],
    grow: ({ ctx }, from, to) =>
      forEach(from, to, (n) =>
        insertConnection(ctx.scope, {
          ...stamp(ctx),
          name: `many-${n}`,
          display_name: `Company ${n}`,
          strategy: 'oidc',
          status: 'enabled',
          provider_client_id: 'many',
          issuer: `https://idp-${n}.bench.example`,
          scopes: ['openid'],
          domains: [`company-${n}.example`],
          required: true,
        }),
      ),
    open: openPage(() => '/login', false, 200),
  },
  {
    name: 'roles',
    title: 'authorize and token for a person with so many roles',
    sizes: [200, 2000],
    grow: growRoles,
    open: (target) => (scenarios.find(({ name }) => name === 'code_flow') as (typeof scenarios)[number]).open(target),
  },
  {
    name: 'redirect_uris',
    title: 'authorize for a client with so many redirect URIs',
    sizes: [100, 1000],
    async grow({ ctx }, _, to) {
      await ctx.knex('clients').where({ id: 'many-addresses' }).delete();
      await addClient(ctx, 'many-addresses', Array.from({ length: to }, (__, n) => lastOf(n))); // prettier-ignore
    },
    open: (target, size) => {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: 'many-addresses',
        redirect_uri: lastOf(size - 1),
        scope: 'openid',
      });
      query.set('code_challenge', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
      query.set('code_challenge_method', 'S256');
      return openPage(() => `${target.paths.authorize}?${query.toString()}`, true, 303)(target);
    },
  },
];

async function measureSize(many: Many, target: Product, size: number, plan: Plan, postgres: number): Promise<ManySize> {
  const operations = await Promise.all(Array.from({ length: 8 }, () => many.open(target, size)));
  // Each of them has been met once, and what is remembered is.
  await closedLoop(target.port, operations, plan.warmUp * 2);
  const rounds: Omit<ManySize, 'size' | 'resident_mib'>[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const before = { server: processorTime(target.pid), postgres: familyTime(postgres) };
    const { operations: done, latencies } = await closedLoop(target.port, operations, plan.seconds);
    rounds.push({
      server_us: (processorTime(target.pid) - before.server) / 1000 / done,
      postgres_us: usedBetween(before.postgres, familyTime(postgres)) / 1000 / done,
      p99_ms: percentile(latencies, 0.99),
    });
  }
  const of = (key: keyof (typeof rounds)[number]) => median(rounds.map((round) => round[key]));
  return { size, server_us: of('server_us'), postgres_us: of('postgres_us'), p99_ms: of('p99_ms'), resident_mib: residentMiB(target.pid) };
}

/** Answers every POST on loopback with 200, for next to nothing. */
async function startSink() {
  const answer = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (data) => {
      for (let at = data.indexOf('POST '); at >= 0; at = data.indexOf('POST ', at + 5)) socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

/** What one event costs for each of so many webhooks that want it, from the commit until the last delivery is recorded. */
async function measureWebhookCount(target: Product, postgres: number): Promise<ManyResult> {
  const { ctx } = target;
  const sink = await startSink();
  const sizes: ManySize[] = [];
  let made = 0;
  for (const size of [500, 5000]) {
    await forEach(made, size, (n) =>
      transaction(ctx, (tx) => createWebhook(tx, { name: `Many ${n}`, url: `${sink.url}/${n}`, events: ['role.created'] })),
    );
    made = size;
    const before = { server: processorTime(target.pid), postgres: familyTime(postgres) };
    const began = performance.now();
    const at = ctx.clock.now().toISOString();
    await transaction(ctx, (tx) =>
      emit(tx, 'role.created', {
        id: randomUUID(),
        name: 'many',
        description: null,
        is_default: false,
        permissions: [],
        created_at: at,
        updated_at: at,
      }),
    );
    const isOpen = () => ctx.knex('webhook_deliveries').whereNotNull('next_attempt_at').first('id');
    while (await isOpen()) await delay(20);
    sizes.push({
      size,
      server_us: (processorTime(target.pid) - before.server) / 1000 / size,
      postgres_us: usedBetween(before.postgres, familyTime(postgres)) / 1000 / size,
      p99_ms: performance.now() - began,
      resident_mib: residentMiB(target.pid),
    });
  }
  sink.close();
  return { name: 'webhooks', title: 'one event for so many webhooks, each of its deliveries (ms: until the last is recorded)', sizes };
}

/** Each of the many in a service of its own, at a tenth of the number and at all of it. */
export async function measureMany(start: (name: string) => Promise<Product>, plan: Plan, postgres: number): Promise<ManyResult[]> {
  const results: ManyResult[] = [];
  for (const many of all) {
    console.error(`... ${many.title}`);
    const target = await start(many.name);
    const sizes: ManySize[] = [];
    let made = 0;
    for (const size of many.sizes) {
      await many.grow(target, made, size);
      made = size;
      sizes.push(await measureSize(many, target, size, plan, postgres));
    }
    results.push({ name: many.name, title: many.title, sizes });
  }
  console.error('... webhooks');
  results.push(await measureWebhookCount(await start('webhooks'), postgres));
  return results;
}

/** The figures in words: what one operation costs, and how much more with ten times as many. */
export function manyText(results: readonly ManyResult[]): string {
  return results
    .flatMap(({ name, title, sizes }) => [
      `${name}: ${title}`,
      ...sizes.map(
        (one) =>
          `  ${String(one.size).padStart(6)}: server ${one.server_us.toFixed(0)} us, PostgreSQL ${one.postgres_us.toFixed(0)} us, p99 ${one.p99_ms.toFixed(1)} ms, ${one.resident_mib.toFixed(0)} MiB`,
      ),
      `  ten times as many: ${((sizes[1]?.server_us ?? 0) / (sizes[0]?.server_us ?? 1)).toFixed(2)} times the server's time, ${((sizes[1]?.postgres_us ?? 0) / (sizes[0]?.postgres_us || 1)).toFixed(2)} times PostgreSQL's`,
    ])
    .join('\n');
}

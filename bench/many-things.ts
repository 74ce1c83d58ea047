import { randomUUID } from 'node:crypto';
import type { Context } from '../src/domain/context.js';
import { prepareEnvironment } from '../src/domain/configuration/bootstrap.js';
import { findSystemApiResource } from '../src/db/tables/api_resources.js';
import { insertClientGrant } from '../src/db/tables/client_grants.js';
import { insertClient } from '../src/db/tables/clients.js';
import { insertConnection } from '../src/db/tables/connections.js';
import { insertEnvironment } from '../src/db/tables/environments.js';
import { insertPermission } from '../src/db/tables/permissions.js';
import { digest } from '../src/lib/digest.js';
import { uuidv7 } from '../src/lib/random.js';
import { newKeyPair, type NewKeyPair } from '../src/platform/key-pair.js';
import { requestText, type Operation, type Reply } from './driver.js';
import { scenarios } from './scenarios.js';
import type { Product } from './targets/product.js';

/** A thing of which there may be many. `grow` tops it up from so many to so many; `open` makes the operation that meets them, all of them in turn. */
export type Many = {
  readonly name: string;
  readonly title: string;
  readonly sizes: readonly [number, number];
  grow(target: Product, from: number, to: number): Promise<void>;
  open(target: Product, size: number, turns: Turns): Promise<Operation>;
};

/** Whose turn it is, the same for all connections: a number, one higher each time. */
export type Turns = () => number;

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
export async function forEach(from: number, to: number, each: (n: number) => Promise<unknown>): Promise<void> {
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

/** Each number below `size` in turn, in an order that has nothing to do with the one that they were made in: 7919 is prime to all sizes here. */
const numberOf = (turn: number, size: number): number => (turn * 7919) % size;

/** Introspection by one of many clients, of a token that isn't there: the client is looked up, and one row isn't found. */
const openIntrospection =
  (pick: (n: number) => { readonly host: string; readonly id: string }) =>
  async (target: Product, size: number, turns: Turns): Promise<Operation> => {
    return async (connection) => {
      const { host, id } = pick(numberOf(turns(), size));
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

const callback = (n: number) => `https://app.bench.example/callback/${n}`;

async function growRoles(target: Product, from: number, to: number): Promise<void> {
  const { ctx } = target;
  const [resource] = await ctx.db.knex('api_resources').where({ identifier: target.resources.opaque }).select('id');
  const [user] = await ctx.db.knex('users').where({ email: 'bench@example.com' }).select('id');
  await forEach(from, to, async (n) => {
    const permission = await insertPermission(ctx.scope, { ...stamp(ctx), api_resource_id: resource.id, name: `part:${n}` });
    const role_id = randomUUID();
    await ctx.db.knex.raw(
      `with role as (insert into roles (environment_id, id, name, created_at, updated_at) values (?, ?, ?, now(), now()) returning environment_id, id),
            holds as (insert into role_permissions (environment_id, role_id, permission_id) select environment_id, id, ? from role)
       insert into user_roles (environment_id, user_id, role_id) select environment_id, ?, id from role`,
      [ctx.environment.id, role_id, `role ${n}`, permission.id, user.id],
    );
  });
}

/** RSA keys for environments, made once and used in turn: each environment seals, stores and opens its own all the same. */
function keyStock(): NewKeyPair {
  const made = Array.from({ length: 8 }, () => newKeyPair('RS256'));
  let turn = 0;
  return (algorithm) => (algorithm === 'RS256' ? (made[turn++ % made.length] as ReturnType<NewKeyPair>) : newKeyPair(algorithm));
}

/** Environments as the Management API makes them, each with a client that may have JWTs for its Management API. */
async function growEnvironments({ ctx }: Product, from: number, to: number): Promise<void> {
  const deps = { ...ctx, crypto: { ...ctx.crypto, newKeyPair: keyStock() } };
  await forEach(from, to, async (n) => {
    const row = await insertEnvironment(ctx.db.knex, { ...stamp(ctx), name: `many ${n}`, slug: `many-${n}`, kind: 'staging' });
    const own = await prepareEnvironment(deps, row.id);
    await addClient(own, 'many');
    const resource = await findSystemApiResource(own.scope);
    const grant = { client_id: 'many', api_resource_id: resource?.id as string, scopes: ['users:read'] };
    await insertClientGrant(own.scope, { ...stamp(ctx), ...grant });
  });
}

/** A token signed with the environment's own key, and that of nobody introspected there. */
async function openEnvironments(target: Product, size: number, turns: Turns): Promise<Operation> {
  let at = 0;
  const introspect = await openIntrospection((n) => ({ host: `many-${n}.localhost`, id: 'many' }))(target, size, () => at);
  return async (connection) => {
    at = turns();
    const host = `many-${numberOf(at, size)}.localhost:${target.port}`;
    const headers = { Host: host, Authorization: basic('many') };
    const fields = { grant_type: 'client_credentials', resource: `http://${host}/api`, scope: 'users:read' };
    const reply = await connection.send(requestText('POST', target.paths.token, headers, fields));
    expectThat(reply.status === 200 && reply.body.includes('"access_token":"ey'), 'expected a signed token', reply);
    await introspect(connection);
  };
}

/** All of them but the webhooks, which take their cost from the deliveries. */
export const manyThings: readonly Many[] = [
  {
    name: 'environments',
    title: 'a signed token, and an introspection, in one of so many environments',
    sizes: [100, 1000],
    grow: growEnvironments,
    open: openEnvironments,
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
      await ctx.db.knex('clients').where({ id: 'many-addresses' }).delete();
      await addClient(ctx, 'many-addresses', Array.from({ length: to }, (__, n) => callback(n))); // prettier-ignore
    },
    open: (target, size) => {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: 'many-addresses',
        redirect_uri: callback(size - 1),
        scope: 'openid',
      });
      query.set('code_challenge', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
      query.set('code_challenge_method', 'S256');
      return openPage(() => `${target.paths.authorize}?${query.toString()}`, true, 303)(target);
    },
  },
];

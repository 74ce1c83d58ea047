import { beforeAll } from 'vitest';
import { request as send } from 'undici';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import type { ClientGrantRow } from '../../src/db/tables/client_grants.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { insertExternalServer, type ExternalServerRow } from '../../src/db/tables/external_servers.js';
import { insertIdentity } from '../../src/db/tables/identities.js';
import type { OrganizationRow } from '../../src/db/tables/organizations.js';
import { insertOutboundGrant, type OutboundGrantRow } from '../../src/db/tables/outbound_grants.js';
import type { UserRow } from '../../src/db/tables/users.js';
import type { Context } from '../../src/domain/context.js';
import { jwtBearerGrantType, tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { idJagTokenType, idJagTyp } from '../../src/lib/identity-assertions.js';
import { randomToken, uuidv7 } from '../../src/lib/random.js';
import { addConnection } from './connections.js';
import { addClient, addEnvironment, addGrant, addResource, addUser, type TestClient } from './data.js';
import { authorizeCode, basic, redeem as redeemCode, tokenRequest, type TokenAnswer } from './oauth.js';
import { addDomain, addOrganization } from './organizations.js';
import type { TestService } from './service.js';
import { signedIn } from './signed-in.js';
import { startWorkloadIssuer, type WorkloadIssuer } from './workload-issuer.js';

export const idTokenType = 'urn:ietf:params:oauth:token-type:id_token';
export const refreshTokenType = 'urn:ietf:params:oauth:token-type:refresh_token';

const stamps = ({ clock }: Pick<Context, 'clock'>) => {
  const now = clock.now();
  return { id: uuidv7(now.getTime()), created_at: now, updated_at: now };
};

/**
 * A is the environment where somebody is at home and signed in to the application; B the one whose API the application is to call. B's connection of an organization takes
 * the assertions of A, and those of a scripted issuer by another connection, `theirs`.
 */
export type AssertionWorld = {
  readonly a: Context;
  readonly b: Context;
  readonly app: TestClient;
  readonly server: ExternalServerRow;
  readonly outbound: OutboundGrantRow;
  readonly user: UserRow;
  readonly api: ApiResourceRow;
  readonly client: TestClient;
  readonly organization: OrganizationRow;
  readonly connection: ConnectionRow;
  readonly issuer: WorkloadIssuer;
  readonly theirs: ConnectionRow;
  /** The person in B whose account at `theirs` is `remote`. */
  readonly person: UserRow;
};

export const domain = 'initech.example';
export const apiIdentifier = 'https://mcp.example/';

/** Makes it in a service of the file. Members are there from the first test on. */
export function sharedAssertionWorld(service: TestService): AssertionWorld {
  const world = {} as { -readonly [Name in keyof AssertionWorld]: AssertionWorld[Name] };
  beforeAll(async () => {
    const a = await service.context();
    const b = await addEnvironment(service.deps, 'elsewhere');
    const client = await addClient(b, { name: 'Their name of it', grant_types: [jwtBearerGrantType] });
    const api = await addResource(b, { identifier: apiIdentifier, user_access: 'granted', assertion_access: 'granted' });
    await addGrant(b, client, api, ['read', 'write'], 'user', { assertions: true });
    const organization = await addOrganization(b, { auto_membership: 'connection' });
    const ofOrganization = { organization_id: organization.id, trusted: false, assertions: 'on' as const };
    const connection = await addConnection(b, { ...ofOrganization, issuer: a.environment.issuer });
    await addDomain(b, organization, domain, { connection_id: connection.id });
    const issuer = await startWorkloadIssuer(() => service.clock.now());
    const theirs = await addConnection(b, { issuer: issuer.url, assertions: 'on' });
    const person = await addUser(b);
    await addIdentity(b, theirs, person, 'remote');
    const app = await addClient(a, { grant_types: ['authorization_code', 'refresh_token', tokenExchangeGrantType] });
    const user = await addUser(a, { email: `ada@${domain}` });
    const server = await addExternalServer(a, {
      issuer: b.environment.issuer,
      audiences: ['https://b.example'],
      resources: [{ identifier: apiIdentifier, scopes: ['read', 'write'] }],
      include_email: true,
    });
    const outbound = await addOutboundGrant(a, { client_id: app.id, external_server_id: server.id, external_client_id: client.id });
    Object.assign(world, { a, b, app, server, outbound, user, api, client, organization, connection, issuer, theirs, person });
  });
  return world;
}

export async function addExternalServer(ctx: Context, row: Partial<ExternalServerRow>): Promise<ExternalServerRow> {
  const server = await insertExternalServer(ctx.scope, { ...stamps(ctx), name: `Server ${randomToken('').slice(0, 8)}`, ...row });
  ctx.cache.invalidate(ctx.environment.id, 'external_servers');
  return server;
}

export async function addOutboundGrant(ctx: Context, row: Partial<OutboundGrantRow>): Promise<OutboundGrantRow> {
  const grant = await insertOutboundGrant(ctx.scope, { ...stamps(ctx), ...row });
  ctx.cache.invalidate(ctx.environment.id, 'outbound_grants');
  return grant;
}

export async function addIdentity(ctx: Context, connection: ConnectionRow, user: Pick<UserRow, 'id'>, subject: string): Promise<string> {
  const { id: connection_id, generation } = connection;
  const row = { ...stamps(ctx), user_id: user.id, connection_id, generation, subject, email: null, claims: {} };
  return (await insertIdentity(ctx.scope, row)).id;
}

/** Another client of B that may bring assertions for the API. */
export async function addBringer(world: AssertionWorld, row: Parameters<typeof addClient>[1] = {}, grant: Partial<ClientGrantRow> = {}) {
  const client = await addClient(world.b, { grant_types: [jwtBearerGrantType], ...row });
  await addGrant(world.b, client, world.api, ['read'], 'user', { assertions: true, ...grant });
  return client;
}

/** Changes a row as another process would. */
export async function changed(ctx: Context, name: string, where: Record<string, unknown>, changes: Record<string, unknown>): Promise<void> {
  await ctx.db.knex(name).where({ environment_id: ctx.environment.id, ...where }).update(changes); // prettier-ignore
  ctx.cache.invalidate(ctx.environment.id, name);
}

/** What a sign-in to the application gives it in A. */
export async function signInToApp(service: TestService, { app, user }: Pick<AssertionWorld, 'app' | 'user'>, parameters = {}) {
  const browser = await signedIn(service, user);
  const { body } = await redeemCode(
    service.url,
    app,
    await authorizeCode(browser, app, { scope: 'openid email offline_access', ...parameters }),
  );
  return { browser, id_token: body.id_token as string, refresh_token: body.refresh_token as string, access_token: body.access_token };
}

export const askForAssertion = (
  service: Pick<TestService, 'url'>,
  { app, b }: Pick<AssertionWorld, 'app' | 'b'>,
  fields: Record<string, string>,
  client: TestClient = app,
): Promise<TokenAnswer> =>
  tokenRequest(service.url, client, {
    grant_type: tokenExchangeGrantType,
    requested_token_type: idJagTokenType,
    audience: b.environment.issuer,
    resource: apiIdentifier,
    subject_token_type: idTokenType,
    ...fields,
  });

/** POST to an OAuth endpoint of B, which is at a name of its own. */
export async function postToB(
  { url }: Pick<TestService, 'url'>,
  { b }: Pick<AssertionWorld, 'b'>,
  path: string,
  client: TestClient | null,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<TokenAnswer> {
  const isPublic = client?.token_endpoint_auth_method === 'none';
  const answer = await send(`${url}${path}`, {
    method: 'POST',
    headers: {
      host: new URL(b.environment.issuer).host,
      'content-type': 'application/x-www-form-urlencoded',
      ...(client && !isPublic ? { authorization: basic(client) } : {}),
      ...headers,
    },
    body: new URLSearchParams(isPublic ? { client_id: client.id, ...fields } : fields).toString(),
  });
  const text = await answer.body.text();
  const body = (text === '' ? {} : JSON.parse(text)) as TokenAnswer['body'];
  return { status: answer.statusCode, headers: new Headers(answer.headers as Record<string, string>), body };
}

/** Brings an assertion to B. */
export const bring = (
  service: Pick<TestService, 'url'>,
  world: Pick<AssertionWorld, 'b' | 'client'>,
  assertion: string,
  fields: Record<string, string> = {},
  { client = world.client, ...headers }: { client?: TestClient; dpop?: string } = {},
): Promise<TokenAnswer> =>
  postToB(service, world, '/oauth/token', client, { grant_type: jwtBearerGrantType, assertion, ...fields }, headers);

/** An assertion of the scripted issuer, with other claims or header members in place; undefined leaves one out. */
export function scripted(
  { b, client, issuer }: Pick<AssertionWorld, 'b' | 'client' | 'issuer'>,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  key = issuer.key,
): Promise<string> {
  const aud = b.environment.issuer;
  const all = { sub: 'remote', aud, client_id: client.id, jti: randomToken(''), resource: apiIdentifier, scope: 'read', ...claims };
  return issuer.sign(all, { ...key, sign: (said) => key.sign(said, { typ: idJagTyp, ...header }) });
}

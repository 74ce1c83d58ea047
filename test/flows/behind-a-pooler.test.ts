// The service through a real pgbouncer in transaction mode: what needs a session (LISTEN, migrations) goes past it.
import { randomBytes } from 'node:crypto';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect } from 'vitest';
import { runBeside, type Beside } from '../support/beside.js';
import { Browser } from '../support/browser.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { manage, managementClient, type Api } from '../support/management.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { needs } from '../support/programs.js';
import { startReceiver } from '../support/receiver.js';
import { killReplicas, startReplica, type Replica } from '../support/replica.js';
import { freePort } from '../support/service.js';
import { openContext } from '../support/standalone.js';
import { addWebhook, emitRoles, eventually } from '../support/webhooks.js';

const test = needs('pgbouncer');
const serverConnections = 4;
const secretKey = randomBytes(32).toString('base64');
let database: TestDatabase;
let pooler: Beside;
let replicas: Replica[];
let opened: Awaited<ReturnType<typeof openContext>>;
let client: TestClient;
let api: Api;

/** pgbouncer in transaction mode, with prepared statements off, as every version has it. */
function configuration(database_url: string, port: number): string {
  const server = new URL(database_url);
  return `[databases]
* = host=${server.hostname} port=${server.port} user=${server.username} password=${decodeURIComponent(server.password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
auth_type = any
pool_mode = transaction
default_pool_size = ${serverConnections}
max_client_conn = 200
unix_socket_dir =
logfile =
`;
}

beforeAll(async () => {
  database = await createEmptyDatabase();
  const port = await freePort();
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  pooler = await runBeside(
    'pgbouncer',
    (directory) => ['-q', ...user, `${directory}/pgbouncer.ini`],
    () => ({ 'pgbouncer.ini': configuration(database.url, port) }),
    port,
  );
  const pooled = new URL(database.url);
  pooled.host = `127.0.0.1:${port}`;
  const origin = `http://localhost:${await freePort()}`;
  const environment = {
    BASE_URL: origin,
    DATABASE_DIRECT_URL: database.url,
    DATABASE_PREPARED_STATEMENTS: 'off',
    RATE_LIMITS: 'on',
    RATE_LIMIT_TOKEN: '100000/60',
    RATE_LIMIT_API: '100000/60',
    MANAGEMENT_CLIENT_ID: managementClient.id,
    MANAGEMENT_CLIENT_SECRET: managementClient.client_secret,
  };
  // Both start on an empty database: the migrations run past the pooler, the service through it.
  replicas = await Promise.all([
    startReplica(pooled.href, secretKey, { ...environment, PORT: new URL(origin).port }),
    startReplica(pooled.href, secretKey, environment),
  ]);
  replicas[0] = { ...(replicas[0] as Replica), url: origin };
  opened = await openContext(database.url, secretKey, { PORT: new URL(origin).port });
  client = await addClient(opened.ctx);
  await addUser(opened.ctx, { email: 'ada@example.com' });
  api = await manage(origin);
});
afterAll(async () => {
  killReplicas();
  await opened?.close();
  await pooler?.stop();
  await database?.drop();
});

const url = (n = 0) => (replicas[n] as Replica).url;

test('sign-in, code flow, refresh, userinfo, introspection and revocation', async () => {
  const browser = new Browser(url());
  expect((await browser.login('ada@example.com', password)).status).toBe(303);
  const first = await redeem(url(), client, await authorizeCode(browser, client));
  expect(first.status).toBe(200);
  const fields = { grant_type: 'refresh_token', refresh_token: first.body.refresh_token as string };
  const second = await tokenRequest(url(1), client, fields);
  expect(second.status).toBe(200);
  const userinfo = await fetch(`${url()}/oauth/userinfo`, { headers: { authorization: `Bearer ${second.body.access_token}` } });
  expect(await userinfo.json()).toMatchObject({ email: 'ada@example.com' });
  const active = async (n: number) => (await oauthPost(url(n), '/oauth/introspect', client, { token: second.body.access_token })).body;
  expect(await active(1)).toMatchObject({ active: true });
  expect((await oauthPost(url(), '/oauth/revoke', client, { token: second.body.access_token })).status).toBe(200);
  expect(await active(1)).toEqual({ active: false });
});

test('a code is redeemed once, however many ask through however few connections', async () => {
  const browser = new Browser(url());
  await browser.login('ada@example.com', password);
  const grant = await authorizeCode(browser, client);
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => redeem(url(i % 2), client, grant)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ body }) => body.error === 'invalid_grant')).toHaveLength(29);
});

test('two hundred requests at once of two replicas share four server connections', async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => oauthPost(url(i % 2), '/oauth/introspect', client, { token: `at_${i}` })),
  );
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  const { rows } = (await opened.ctx.db.knex.raw(
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and application_name = 'identity-provider' and pid <> pg_backend_pid()`,
  )) as { rows: { n: number }[] };
  // Those of this test's own context come on top.
  expect(rows[0]?.n).toBeLessThanOrEqual(serverConnections + 10);
});

test('webhooks go out: the notification is heard past the pooler, the queue is worked through it', async () => {
  const receiver = await startReceiver();
  await addWebhook(opened.ctx, receiver.url);
  await emitRoles(opened.ctx, 20);
  expect(await receiver.received(20)).toHaveLength(20);
  await receiver.close();
});

test('a rotated signing key signs on both replicas within a second, and what the old one signed still verifies', async () => {
  const jwks = createRemoteJWKSet(new URL(`${url(1)}/.well-known/jwks.json`), { cooldownDuration: 0 });
  const sign = async (n: number) => {
    const fields = { grant_type: 'client_credentials', resource: `${url()}/api` };
    const answer = await tokenRequest(url(n), { id: managementClient.id, client_secret: managementClient.client_secret }, fields);
    return answer.body.access_token;
  };
  const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid;
  const old = await sign(1);
  const next = await api.create('signing_keys', {});
  expect((await api.patch(`/signing_keys/${next['id']}/activate`)).status).toBe(200);
  await eventually(async () => kidOf(await sign(0)) === next['id'] && kidOf(await sign(1)) === next['id']);
  for (const token of [old, await sign(0), await sign(1)]) expect((await jwtVerify(token, jwks)).payload.iss).toBe(url());
});

test('a client that is disabled is refused by both replicas within a second', async () => {
  const gone = await addClient(opened.ctx, { grant_types: ['client_credentials'] });
  const ask = async (n: number) => (await oauthPost(url(n), '/oauth/introspect', gone, { token: 'at_none' })).status;
  expect([await ask(0), await ask(1)]).toEqual([200, 200]);
  await opened.ctx.db.knex('clients').where({ id: gone.id }).update({ status: 'disabled' });
  const changed = performance.now();
  await eventually(async () => (await ask(0)) === 401 && (await ask(1)) === 401);
  expect(performance.now() - changed).toBeLessThan(5000);
});

test('no replica has failed a statement', () => {
  expect(replicas.flatMap(({ log }) => log).filter((line) => /"level":(50|60)/.test(line))).toEqual([]);
});

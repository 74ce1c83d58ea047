// An environment moves from one cell to another under load, behind the files of examples/cells: what was told is judged as by `npm run test:ha`.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { runBeside, type Beside } from '../support/beside.js';
import { selfSigned } from '../support/certificates.js';
import { beginMove, newSecretKey, startCell, type Cell } from '../support/cells.js';
import { addUser, password } from '../support/data.js';
import { managementClient as operator } from '../support/management.js';
import { basic } from '../support/oauth.js';
import { needs } from '../support/programs.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { freePort } from '../support/service.js';
import { eventually } from '../support/webhooks.js';
import { check, checkPlanted } from './checks.js';
import { manage, type Credentials } from './client.js';
import { startLoad } from './load.js';
import { createSend, managementClient, type Answer, type Door } from './replicas.js';

const test = needs('haproxy');
const name = 'acme.id.localhost';
const certificate = selfSigned({ name });

let port: number;
let north: Cell;
let south: Cell;
let proxy: Beside;
let socket: string;
let receiver: Receiver;
let door: Door;
let credentials: Credentials;

const example = (file: string, changes: readonly (readonly [string, string])[]): string =>
  changes.reduce(
    (text, [from, to]) => {
      expect(text).toContain(from);
      return text.replaceAll(from, to);
    },
    readFileSync(`examples/cells/${file}`, 'utf8'),
  );

const addressOf = ({ address }: Cell) => new URL(address).host;

/** One line for HAProxy's socket, and what it answers. */
const tellProxy = (line: string) =>
  new Promise<string>((resolve, reject) => {
    let answer = '';
    const client = connect(socket, () => client.write(`${line}\n`));
    client.on('data', (data) => (answer += String(data))).on('end', () => resolve(answer)).on('error', reject); // prettier-ignore
  });

const parsed = <T>({ status, text }: Answer): T => {
  if (status < 200 || status >= 300) throw new Error(`${status} ${text}`);
  return JSON.parse(text) as T;
};

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const tokenOf = async (at: Door, client: { id: string; client_secret: string }, resource: string) => {
  const fields = new URLSearchParams({ grant_type: 'client_credentials', resource }).toString();
  return parsed<{ access_token: string }>(await at.send('POST', '/oauth/token', { ...form, authorization: basic(client) }, fields))
    .access_token;
};

/** An environment with a client, a webhook and a session of somebody. */
async function prepare(origin: string): Promise<Credentials> {
  const { baseUrl } = north.service.config;
  const operators: Door = {
    send: createSend(north.address, { host: new URL(baseUrl).host, origin: baseUrl, 'x-forwarded-proto': 'https' }),
  };
  const made = await manage(operators, await tokenOf(operators, operator, `${baseUrl}/api`), 'POST', '/environments', {
    type: 'environment',
    attributes: { name: 'Acme', slug: 'acme', kind: 'staging' },
  });
  const { data, meta } = parsed<{ data: { id: string }; meta: { management_client: { client_id: string; client_secret: string } } }>(made);
  const own = { id: meta.management_client.client_id, client_secret: meta.management_client.client_secret };
  const ctx = await north.service.contextOf(data.id);
  await ctx.db.knex('clients').where({ environment_id: data.id, id: own.id }).update({ introspection_allowed: true });
  const send = createSend(`https://127.0.0.1:${port}`, { host: new URL(origin).host, origin }, { ca: certificate.cert, servername: name });
  // The load authenticates as the client that every installation of test:ha has: here it is the environment's.
  door = {
    send: (method, path, headers = {}, body) =>
      send(method, path, headers['authorization'] === basic(managementClient) ? { ...headers, authorization: basic(own) } : headers, body),
  };
  const managementToken = await tokenOf(door, own, `${origin}/api`);
  const application = parsed<{ data: { id: string } }>(
    await manage(door, managementToken, 'POST', '/clients', {
      type: 'client',
      attributes: {
        name: 'Application',
        application_type: 'native',
        redirect_uris: ['https://app.example.com/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
        first_party: true,
      },
    }),
  ).data.id;
  const webhook = { type: 'webhook', attributes: { name: 'Receiver', url: receiver.url, events: ['user.created'] } };
  parsed(await manage(door, managementToken, 'POST', '/webhooks', webhook));
  const { email } = await addUser(ctx);
  const signIn = await door.send('POST', '/login', { 'content-type': 'application/json' }, JSON.stringify({ email, password }));
  expect([signIn.status, signIn.text]).toEqual([200, expect.any(String)]);
  return { cookie: signIn.cookies.map((one) => one.split(';')[0]).join('; '), managementToken, application };
}

beforeAll(async () => {
  port = await freePort();
  const environment = {
    BASE_URL: `https://id.localhost:${port}`,
    TRUST_PROXY: '1',
    ALLOW_PRIVATE_NETWORK: 'on',
    MANAGEMENT_CLIENT_ID: operator.id,
    MANAGEMENT_CLIENT_SECRET: operator.client_secret,
  };
  const secretKey = newSecretKey();
  north = await startCell('north', secretKey, { environment });
  south = await startCell('south', secretKey, { environment });
  receiver = await startReceiver();
  proxy = await runBeside(
    'haproxy',
    (directory) => ['-db', '-f', `${directory}/haproxy.cfg`],
    (directory) => {
      socket = `${directory}/admin.sock`;
      return {
        'both.pem': certificate.cert + certificate.key,
        'cells.map': example('cells.map', [['id.example.com', 'id.localhost']]),
        'haproxy.cfg': example('haproxy.cfg', [
          ['bind :443 ', `bind 127.0.0.1:${port} `],
          ['/etc/haproxy/certificates', `${directory}/both.pem`],
          ['/run/haproxy/admin.sock', socket],
          ['/etc/haproxy/cells.map', `${directory}/cells.map`],
          ['10.0.1.11:3000', addressOf(north)],
          ['10.0.1.12:3000', addressOf(north)],
          ['10.0.2.11:3000', addressOf(south)],
          ['10.0.2.12:3000', addressOf(south)],
        ]),
      };
    },
    port,
  );
  credentials = await prepare(`https://${name}:${port}`);
});
afterAll(async () => {
  await proxy?.stop();
  await receiver?.close();
  await north?.stop();
  await south?.stop();
});

test('a move under load loses nothing, and nothing is used twice; meanwhile there is only 503 (fault F87)', async () => {
  const since = performance.now();
  const load = startLoad([door, door], door, credentials);
  const { history } = load;
  const scene = { history, replicas: [door, door], credentials, receiver };
  try {
    await eventually(async () => history.successors.size > 20 && history.users.size > 10, 60_000);
    // The first mover is killed when nobody may write any more; the second goes on.
    const killed = await beginMove('acme', north, south);
    await killed.prints('closed');
    killed.kill('SIGKILL');
    await killed.ended;
    const mover = await beginMove('acme', north, south);
    await mover.prints('moved');
    expect(await tellProxy(`set map ${socket.replace('admin.sock', 'cells.map')} ${name} south`)).toBe('\n');
    const { code, stderr } = await mover.ended;
    expect([code, stderr]).toEqual([0, '']);
    const moved = { successors: history.successors.size, users: history.users.size };
    await eventually(async () => history.successors.size > moved.successors + 20 && history.users.size > moved.users + 5, 60_000);
    const { looked, wrong } = await check(scene, since);
    expect(wrong).toEqual([]);
    for (const kind of ['codes', 'spent', 'tokens', 'users', 'deliveries'])
      expect([kind, looked[kind]]).toEqual([kind, expect.toSatisfy((n: number) => n > 0)]);
    // A code that is presented twice at once is refused to one of both.
    const others = history.answers.filter(({ status }) => status >= 400 && ![400, 503].includes(status));
    expect(others).toEqual([]);
    expect(history.answers.filter(({ status }) => status === 503).length).toBeGreaterThan(0);
  } finally {
    await load.stop();
  }
  const { planted, found } = await checkPlanted(scene);
  expect(found).toBe(planted);
});

// Follows one request at a time through the sources: which files and functions of src/ run for it, and how many statements it sends. `npm run walks`
// prints a table; `npm run walks -- "webhook changed"` the files and functions of one walk and its statements.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { startEmbeddedPostgres } from '../src/db/postgres/embedded/embedded-postgres.js';
import { signedInWith } from '../test/support/administrators.js';
import { Browser, csrfOf, locationParameters, pkcePair } from '../test/support/browser.js';
import { addClient, addGrant, addResource, addUser } from '../test/support/data.js';
import { formValues } from '../test/support/dashboard-forms.js';
import { givePasskey, optionsAt } from '../test/support/factors.js';
import { Api, link, managementToken, startManagedService } from '../test/support/management.js';
import { tokenRequest } from '../test/support/oauth.js';
import { observeApp } from '../test/support/observed-app.js';
import { startReceiver } from '../test/support/receiver.js';
import { signedInBy, proofsNow } from '../test/support/signed-in.js';
import { SoftwareAuthenticator } from '../test/support/software-authenticator.js';
import { addWebhook, emitRoles } from '../test/support/webhooks.js';
import { managementPermissions } from '../src/domain/reach/management-permissions.js';

const dataDir = await mkdtemp(join(tmpdir(), 'identity-provider-walks-'));
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
const postgres = await startEmbeddedPostgres({ dataDir, logger: pino({ level: 'warn' }), settings });
const database = { url: postgres.url, secretKey: randomBytes(32).toString('base64') };
const service = await startManagedService({ RATE_LIMITS: 'on', ALLOW_PRIVATE_NETWORK: 'on' }, { database });
const ctx = await service.context();
const app = await observeApp(service.deps);
const receiver = await startReceiver();
const session = new Session();
session.connect();
await session.post('Profiler.enable');

const api = new Api(app.origin, await managementToken(service.url));
const machine = await addClient(ctx, { grant_types: ['client_credentials', 'authorization_code'] });
const resource = await addResource(ctx, { identifier: 'https://api.example', token_format: 'opaque' });
await addGrant(ctx, machine, resource);
const person = Object.assign(await signedInBy(service, await addUser(ctx), proofsNow(ctx, 'password')), { origin: app.origin });
const browser = Object.assign(await signedInWith(service, ...managementPermissions), { origin: app.origin });
const authenticator = new SoftwareAuthenticator();
await givePasskey(service, await addUser(ctx), authenticator);
/** Passkeys are for the host of the issuer: the app is asked under that name. */
const signInByPasskey = ({ cookie = '', body = '' }: Record<string, string>) =>
  new Promise<{ status: number | undefined }>((resolve, reject) => {
    const headers = { host: new URL(service.url).host, 'content-type': 'application/json', cookie };
    const posted = request(`${app.origin}/login/passkey`, { method: 'POST', headers }, (res) => {
      res.resume().on('end', () => resolve({ status: res.statusCode }));
    });
    posted.on('error', reject).end(body);
  });
const role = await api.create('roles', { name: 'editor' });
const webhook = (await addWebhook(ctx, receiver.url, { events: ['role.created'] })).webhook;
const form = await (await browser.get(`/dashboard/roles/${role['id']}/edit`)).text();
const redirect_uri = machine.redirect_uris[0] as string;
let turn = 0;

const authorize = (challenge: string) =>
  person.get(
    `/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id: machine.id, redirect_uri, code_challenge: challenge, code_challenge_method: 'S256' })}`, // prettier-ignore
  );
/** A request, or what `prepare` made for it. */
type Walk = { prepare?: () => Promise<Record<string, string>>; run: (prepared: Record<string, string>) => Promise<unknown> };

const walks: Record<string, Walk> = {
  'token, client credentials': { run: () => tokenRequest(app.origin, machine, { grant_type: 'client_credentials', resource: resource.identifier }) }, // prettier-ignore
  authorize: { run: () => authorize(pkcePair().challenge) },
  'token, authorization code': {
    async prepare() {
      const { verifier, challenge } = pkcePair();
      const code = locationParameters(await authorize(challenge)).get('code') as string;
      return { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier };
    },
    run: (fields) => tokenRequest(app.origin, machine, fields),
  },
  'passkey sign-in': {
    async prepare() {
      const visitor = new Browser(service.url);
      const credential = authenticator.get(await optionsAt(visitor, '/login/passkey/options'), { origin: service.url });
      const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      return { cookie, body: JSON.stringify({ credential }) };
    },
    run: signInByPasskey,
  },
  'list of users': { run: () => api.get('/users') },
  'webhook created': { run: () => api.create('webhooks', { name: `${turn++}`, url: receiver.url, events: ['user.created'] }) }, // prettier-ignore
  'webhook changed': { run: () => api.patch(`/webhooks/${webhook.id}`, { data: { ...link('webhook', webhook.id).data, attributes: { name: `${turn++}` } } }) }, // prettier-ignore
  'role changed': { run: () => api.patch(`/roles/${role['id']}`, { data: { ...link('role', role['id'] as string).data, attributes: { description: `${turn++}` } } }) }, // prettier-ignore
  'role saved in the dashboard': {
    prepare: async () => ({ _version: String((await api.get(`/roles/${role['id']}`)).body['data'].meta.version) }),
    run: (version) => browser.post(`/dashboard/roles/${role['id']}`, { ...formValues(form), _csrf: csrfOf(form), ...version, description: `${turn++}` }), // prettier-ignore
  },
  'configuration applied': { run: () => api.post('/config/apply', { meta: { document: { version: 1, roles: [{ name: `role ${turn++}`, permissions: [] }] } } }) }, // prettier-ignore
  'delivery of an event': {
    prepare: async () => ({ posts: String((await emitRoles(ctx), receiver.posts.length)) }),
    run: ({ posts }) => receiver.received(Number(posts) + 1),
  },
};

/** The functions that have run since coverage was last taken, by the file of src/ that has them. */
async function taken(): Promise<Map<string, string[]>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const own = result.filter(({ url }) => url.includes('/src/') && !url.includes('node_modules'));
  const ran = own.map(({ url, functions }): [string, string[]] => {
    const called = functions.filter(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0);
    return [url.slice(url.indexOf('/src/') + 1).replace(/\?.*/, ''), called.map(({ functionName }) => functionName)];
  });
  return new Map(ran.filter(([, called]) => called.length > 0).sort(([one], [other]) => (one < other ? -1 : 1)));
}

async function followOnce({ prepare, run }: Walk) {
  const prepared = (await prepare?.()) ?? {};
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  app.take();
  const answer = (await run(prepared)) as { status?: number } | undefined;
  const files = await taken();
  await session.post('Profiler.stopPreciseCoverage');
  if ((answer?.status ?? 200) >= 400) throw new Error(`answered ${answer?.status}: ${JSON.stringify(answer)}`);
  return { files, statements: app.take() };
}

/** The shortest of some: the process remembers what rarely changes, and a loop of the background may run beside one. */
async function follow(walk: Walk) {
  const walked = [];
  for (let time = 0; time < 5; time++) walked.push(await followOnce(walk));
  return walked.slice(1).reduce((shortest, one) => (one.files.size < shortest.files.size ? one : shortest));
}

const [one] = process.argv.slice(2);
for (const [name, walk] of Object.entries(walks).filter(([name]) => one === undefined || name === one)) {
  const { files, statements } = await follow(walk);
  const functions = [...files.values()].flat().length;
  console.log(`${name.padEnd(30)} ${String(files.size).padStart(4)} files ${String(functions).padStart(5)} functions ${String(statements.length).padStart(3)} statements`); // prettier-ignore
  if (one) for (const [file, names] of files) console.log(`  ${file}: ${names.join(', ')}`);
  if (one) for (const statement of statements) console.log(`  ${statement.slice(0, 160)}`);
}
session.disconnect();
await receiver.close();
await app.close();
await service.stop();
await postgres.stop();
await rm(dataDir, { recursive: true, force: true });
process.exit(0);

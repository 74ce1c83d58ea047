// Uses of DPoP proofs in Redis: good once on every replica, without a statement; without Redis no bound token, but bearer tokens as before.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { addClient, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { createProofKey, type ProofKey } from '../support/dpop.js';
import { authorizeCode, oauthPost } from '../support/oauth.js';
import { locate, needs } from '../support/programs.js';
import { freePort, startTestService, type TestService } from '../support/service.js';
import { signedIn } from '../support/signed-in.js';

const redisServer = locate('redis-server');
const test = needs('redis-server');
let redis: ChildProcess;
let directory: string;
let service: TestService;
let replica: TestService;
let client: TestClient;
let api: ApiResourceRow;
let key: ProofKey;

beforeAll(async () => {
  if (!redisServer) return;
  directory = await mkdtemp(join(tmpdir(), 'redis-'));
  const port = await freePort();
  redis = spawn(redisServer, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory], { stdio: 'ignore' });
  const environment = { RATE_LIMIT_STORE: 'redis', REDIS_URL: `redis://127.0.0.1:${port}` };
  service = await startTestService(environment);
  const database = { url: service.databaseUrl, secretKey: service.secretKey };
  replica = await startTestService({ ...environment, BASE_URL: service.url }, { database });
  const ctx = await service.context();
  client = await addClient(ctx, { grant_types: ['authorization_code', 'client_credentials'] });
  api = await addResource(ctx);
  await addGrant(ctx, client, api);
  key = await createProofKey();
});
afterAll(async () => {
  await replica?.stop();
  await service?.stop();
  redis?.kill('SIGKILL');
  if (directory) await rm(directory, { recursive: true, force: true });
});

const ask = (dpop: string | null, at = service.url) =>
  oauthPost(at, '/oauth/token', client, { grant_type: 'client_credentials', resource: api.identifier }, dpop === null ? {} : { dpop });
const proof = () => key.proof({ htu: `${service.url}/oauth/token` });
const stored = async () => Number((await service.deps.db.knex('dpop_proofs').count('* as count'))[0]?.['count']);

test('a proof is good once, at either replica, and no table knows of it (attack 27.461)', async () => {
  const one = await proof();
  const at = [service, replica].map(({ config }) => `http://127.0.0.1:${config.port}`);
  const answers = await Promise.all([...at, ...at].map((origin) => ask(one, origin)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
  expect(answers.find(({ status }) => status === 400)?.body['error_description']).toBe('the DPoP proof was used before');
  expect(await stored()).toBe(0);
});

test('a code outlives a proof that was used before, and userinfo takes each proof once (attack 27.461) (attack 27.473)', async () => {
  const user = await addUser(await service.context());
  const browser = await signedIn(service, user);
  const { code, redirect_uri, verifier } = await authorizeCode(browser, client);
  const fields = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier };
  const used = await proof();
  await ask(used);
  const refused = await oauthPost(service.url, '/oauth/token', client, fields, { dpop: used });
  expect(refused.body['error']).toBe('invalid_dpop_proof');
  const { body } = await oauthPost(service.url, '/oauth/token', client, fields, { dpop: await proof() });
  expect(body['token_type']).toBe('DPoP');
  const url = `${service.url}/oauth/userinfo`;
  const dpop = await key.proof({ htu: url, htm: 'GET', token: body.access_token });
  const headers = { authorization: `DPoP ${body.access_token}`, dpop };
  expect([(await fetch(url, { headers })).status, (await fetch(url, { headers })).status]).toEqual([200, 401]);
  expect(await stored()).toBe(0);
});

test('while Redis is away proofs are 503, and bearer tokens go on', async () => {
  redis.kill('SIGKILL');
  await expect.poll(async () => (await ask(await proof())).status, { timeout: 20_000 }).toBe(503);
  expect((await ask(null)).status).toBe(200);
});

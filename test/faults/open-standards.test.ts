// What holds of pushed requests, devices, DPoP, exchange, workloads and registration while a table that they need is locked, and then at two processes at once.
import pg from 'pg';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInitialAccessToken } from '../../src/domain/clients/initial-access-tokens.js';
import { transaction, type Context } from '../../src/domain/context.js';
import { tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { authorizeGet } from '../support/authorize.js';
import { Browser, pkcePair } from '../support/browser.js';
import { addClient, addGrant, addResource, addUser, password, type TestClient } from '../support/data.js';
import { deviceCode, questionOf, startDevice, typeUserCode } from '../support/device.js';
import { createProofKey, type ProofKey } from '../support/dpop.js';
import { basic } from '../support/oauth.js';
import { startReplica, type Replica } from '../support/replica.js';
import { startTestService, type TestService } from '../support/service.js';
import { setEnvironment } from '../support/signed-in.js';
import { createClientKey, type ClientKey } from '../support/signed-jwt.js';

let service: TestService;
let replica: Replica;
let ctx: Context;
let client: TestClient;
let signing: TestClient;
let signer: ClientKey;
let browser: Browser;
let proofKey: ProofKey;

beforeAll(async () => {
  service = await startTestService();
  replica = await startReplica(service.databaseUrl, service.secretKey, { BASE_URL: service.url });
  await setEnvironment(service, { client_registration_policy: 'initial_access_token' });
  ctx = await service.context();
  const grant_types = ['authorization_code', 'refresh_token', 'client_credentials', deviceCode, tokenExchangeGrantType];
  client = await addClient(ctx, { grant_types, redirect_uris: ['https://app.example/cb'], first_party: true });
  signer = await createClientKey('ES256');
  const keys = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [signer.jwk] } } as const;
  signing = await addClient(ctx, { ...keys, jwks: { keys: [signer.jwk] }, secret_digest: null, grant_types: ['client_credentials'] });
  const api = await addResource(ctx, { identifier: 'https://api.example', token_format: 'opaque' });
  await addGrant(ctx, signing, api, ['read']);
  await addGrant(ctx, client, api, ['read'], 'user', { token_exchange: 'delegation' });
  const user = await addUser(ctx);
  browser = new Browser(service.url);
  await browser.login(user.email, password);
  proofKey = await createProofKey('ES256');
});
afterAll(async () => {
  await replica?.end('SIGTERM');
  await service?.stop();
});

/** Sends it to one of the processes. */
type Sent = (to: { readonly url: string }) => Promise<Response>;
const issuer = () => ctx.environment.issuer;

const form =
  (path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Sent =>
  ({ url }) =>
    fetch(url + path, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(fields['client_assertion'] ? {} : { authorization: basic(client) }),
        ...headers,
      },
      body: new URLSearchParams(fields),
    });
const token = (fields: Record<string, string>, proof?: string) => form('/oauth/token', fields, proof === undefined ? {} : { dpop: proof });
const bodyOf = async (sent: Promise<Response>) => (await (await sent).json()) as Record<string, string>;
const proof = (path = '/oauth/token', access?: string) =>
  proofKey.proof({ htu: issuer() + path, htm: access === undefined ? 'POST' : 'GET', ...(access === undefined ? {} : { token: access }) });

const { verifier, challenge } = pkcePair();
const redirect_uri = 'https://app.example/cb';
const request = { response_type: 'code', redirect_uri, scope: 'openid', code_challenge: challenge, code_challenge_method: 'S256' };

/** The same browser at one of the processes. */
const there = ({ url }: { readonly url: string }) => Object.assign(Object.create(browser) as Browser, { origin: url });

/** A code of the browser, bound to nothing. */
async function code(): Promise<string> {
  const pushed = await bodyOf(form('/oauth/par', request)(service));
  const query = new URLSearchParams({ client_id: client.id, request_uri: pushed['request_uri'] ?? '' });
  const location = (await authorizeGet(browser, query.toString())).headers.get('location') ?? '';
  return new URL(location).searchParams.get('code') ?? '';
}

/** Everything that is used once, as it is sent, and the table that it needs. */
async function single(): Promise<Record<string, { table: string; sent: Sent; good: number }>> {
  const now = Math.floor(ctx.clock.now().getTime() / 1000);
  const { token: initial } = await transaction(ctx, (tx) => createInitialAccessToken(tx, { name: 'One', max_uses: 1 }));
  const approved = await startDevice(service.url, client);
  await browser.post('/device/answer', {
    ...questionOf(await (await typeUserCode(browser, approved.user_code)).text()),
    decision: 'allow',
  });
  const asked = await startDevice(service.url, client);
  const answer = { ...questionOf(await (await typeUserCode(browser, asked.user_code)).text()), decision: 'allow' };
  const assertion = await signer.sign({ iss: signing.id, sub: signing.id, aud: issuer(), jti: randomUUID(), iat: now, exp: now + 300 });
  const bound = await bodyOf(
    token({ grant_type: 'authorization_code', code: await code(), redirect_uri, code_verifier: verifier }, await proof())(service),
  );
  const plain = await bodyOf(
    token({ grant_type: 'authorization_code', code: await code(), redirect_uri, code_verifier: verifier })(service),
  );
  const type = 'urn:ietf:params:oauth:token-type:access_token';
  const pushed = await bodyOf(form('/oauth/par', request)(service));
  const access = bound['access_token'] ?? '';
  const userinfoProof = await proof('/oauth/userinfo', access);
  return {
    'a pushed request': {
      table: 'pushed_requests',
      good: 303,
      sent: (to) =>
        authorizeGet(there(to), new URLSearchParams({ client_id: client.id, request_uri: pushed['request_uri'] ?? '' }).toString()),
    },
    'a device code': { table: 'device_codes', good: 200, sent: token({ grant_type: deviceCode, device_code: approved.device_code }) },
    'an answer to a device': {
      table: 'device_codes',
      good: 200,
      sent: (to) => there(to).post('/device/answer', answer, { origin: service.url }),
    },
    'a proof beside a code': {
      table: 'dpop_proofs',
      good: 200,
      sent: token({ grant_type: 'authorization_code', code: await code(), redirect_uri, code_verifier: verifier }, await proof()),
    },
    'a proof at userinfo': {
      table: 'dpop_proofs',
      good: 200,
      sent: ({ url }) => fetch(`${url}/oauth/userinfo`, { headers: { authorization: `DPoP ${access}`, dpop: userinfoProof } }),
    },
    'a proof beside an exchange': {
      table: 'dpop_proofs',
      good: 200,
      sent: token(
        {
          grant_type: tokenExchangeGrantType,
          subject_token: plain['access_token'] ?? '',
          subject_token_type: type,
          resource: 'https://api.example',
        },
        await proof(),
      ),
    },
    'a client assertion': {
      table: 'client_assertions',
      good: 200,
      sent: token({
        grant_type: 'client_credentials',
        resource: 'https://api.example',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion,
      }),
    },
    'a registration token': {
      table: 'registration_tokens',
      good: 201,
      sent: ({ url }) =>
        fetch(`${url}/oauth/register`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${initial}` },
          body: JSON.stringify({ redirect_uris: [redirect_uri] }),
        }),
    },
  };
}

const outcome = async (sent: Promise<Response>) => {
  const answer = await sent;
  await answer.text();
  return { status: answer.status, retry_after: answer.headers.get('retry-after') };
};

test('a locked table is 503 with Retry-After within ten seconds, and spends nothing: two processes then have one winner each (fault F10)', async () => {
  const all = Object.entries(await single());
  const locking = new pg.Client({ connectionString: service.databaseUrl });
  await locking.connect();
  const tables = [...new Set(all.map(([, { table }]) => table))];
  await locking.query(`begin; lock table ${tables.join(', ')} in access exclusive mode`);
  const started = performance.now();
  const blocked = await Promise.all(all.map(async ([name, { sent }]) => [name, await outcome(sent(service))] as const));
  const took = performance.now() - started;
  await locking.query('rollback');
  await locking.end();
  for (const [name, { status, retry_after }] of blocked) expect([name, status, Number(retry_after) > 0]).toEqual([name, 503, true]);
  expect(took).toBeLessThan(10_500);
  for (const [name, { sent, good }] of all) {
    const answers = await Promise.all([service, replica, service, replica].map((to) => outcome(sent(to))));
    const statuses = answers.map(({ status }) => status);
    expect([name, statuses.filter((one) => one === good).length, statuses.filter((one) => one >= 500)]).toEqual([name, 1, []]);
  }
}, 60_000);

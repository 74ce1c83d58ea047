// Two replicas whose machines are ten minutes apart: what holds goes by the database's clock (fault F14).
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { proofNow } from '../../src/domain/proofs/proofs.js';
import { startSession } from '../../src/domain/sessions/sessions.js';
import type { Context } from '../../src/domain/context.js';
import { addClient, addGrant, addResource, addUser } from '../support/data.js';
import { Browser } from '../support/browser.js';
import { createTestDatabase } from '../support/database.js';
import { authorizeCode, claimsOf, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { locate, needs, pathOf } from '../support/programs.js';
import { startReceiver } from '../support/receiver.js';
import { killReplicas, startReplica, type Replica } from '../support/replica.js';
import { freePort } from '../support/service.js';
import { openContext } from '../support/standalone.js';
import { addWebhook, emitRoles, settledDeliveries } from '../support/webhooks.js';

const test = needs('faketime');

/** What makes a program believe that its machine is so far from the truth. */
function bent(by: string): Record<string, string> {
  const told = execFileSync(pathOf('faketime'), ['-m', '-f', by, 'env'], { encoding: 'utf8' });
  const LD_PRELOAD = /^LD_PRELOAD=(.+)$/m.exec(told)?.[1] as string;
  return { LD_PRELOAD, FAKETIME: by, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}

const cleanups: (() => unknown)[] = [];
let ctx: Context;
let ahead: Replica;
let behind: Replica;

beforeAll(async () => {
  if (locate('faketime') === null) return;
  const database = await createTestDatabase();
  cleanups.push(() => database.drop());
  const secretKey = randomBytes(32).toString('base64');
  const opened = await openContext(database.url, secretKey);
  cleanups.push(() => opened.close());
  ctx = opened.ctx;
  const settings = { BASE_URL: `http://localhost:${await freePort()}`, WEBHOOK_TIMEOUT_MS: '1000', RATE_LIMITS: 'on' };
  ahead = await startReplica(database.url, secretKey, { ...settings, ...bent('+5m') });
  behind = await startReplica(database.url, secretKey, { ...settings, ...bent('-5m') });
}, 120_000);

afterAll(async () => {
  killReplicas();
  for (const cleanup of cleanups.reverse()) await cleanup();
});

const pairs = () => [[ahead, behind], [behind, ahead]] as const; // prettier-ignore

test('each finds out how wrong its machine is, and says so (fault F14)', () => {
  for (const [replica, offset] of [
    [ahead, -300_000],
    [behind, 300_000],
  ] as const) {
    const said = replica.log.map((line) => JSON.parse(line) as { time: number; event?: string; offset_ms: number }).find(({ event }) => event === 'clock.differs'); // prettier-ignore
    expect(Math.abs((said?.offset_ms ?? 0) - offset)).toBeLessThan(2000);
    // The machine's own clock, which stamps the log, is as wrong as it was made.
    expect(Math.abs((said?.time ?? 0) - Date.now() + offset)).toBeLessThan(60_000);
  }
});

test('the tokens of one are good at the other, for as long as they say (fault F14)', async () => {
  const client = await addClient(ctx, { grant_types: ['client_credentials'], application_type: 'machine' });
  for (const token_format of ['jwt', 'opaque'] as const) {
    const resource = await addResource(ctx, { identifier: `https://${token_format}.example`, token_format, access_token_lifetime: 60 });
    await addGrant(ctx, client, resource);
    for (const [one, other] of pairs()) {
      const { body } = await tokenRequest(one.url, client, { grant_type: 'client_credentials', resource: resource.identifier });
      const told = (await oauthPost(other.url, '/oauth/introspect', client, { token: body.access_token })).body;
      expect(told).toMatchObject({ active: true });
      expect(Math.abs(Number(told['iat']) - Date.now() / 1000)).toBeLessThan(5);
      if (token_format === 'jwt') expect(Math.abs(Number(claimsOf(body.access_token)['exp']) - Date.now() / 1000 - 60)).toBeLessThan(5);
    }
  }
});

test('a session, a code and a refresh token of one are taken by the other, once (fault F14)', async () => {
  const user = await addUser(ctx);
  const client = await addClient(ctx);
  const { token } = await startSession(ctx, {
    user_id: user.id,
    proofs: [proofNow('password', ctx.clock.now())],
    ip_address: '127.0.0.1',
    user_agent: 'test',
  });
  for (const [one, other] of pairs()) {
    const browser = new Browser(one.url);
    browser.cookies.set('idp_session', token);
    const grant = await authorizeCode(browser, client, { scope: 'openid offline_access' });
    const redeemed = await redeem(other.url, client, grant);
    expect(redeemed.status).toBe(200);
    expect(Math.abs(Number(claimsOf(redeemed.body.id_token ?? '')['iat']) - Date.now() / 1000)).toBeLessThan(5);
    const refresh_token = redeemed.body.refresh_token ?? '';
    expect((await tokenRequest(one.url, client, { grant_type: 'refresh_token', refresh_token })).status).toBe(200);
    expect((await redeem(one.url, client, grant)).body.error).toBe('invalid_grant');
  }
});

test('a limit counts what both let through (fault F14)', async () => {
  const client = await addClient(ctx, { grant_types: ['client_credentials'], application_type: 'machine' });
  const resource = await addResource(ctx, { identifier: 'https://limited.example' });
  await addGrant(ctx, client, resource);
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) {
    const { url } = i % 2 === 0 ? ahead : behind;
    statuses.push((await tokenRequest(url, client, { grant_type: 'client_credentials', resource: resource.identifier })).status);
  }
  expect(statuses).toEqual([...Array<number>(10).fill(200), 429, 429]);
});

test('deliveries are sent once, soon, and with the time of the event (fault F14)', async () => {
  const receiver = await startReceiver();
  cleanups.push(() => receiver.close());
  const { webhook } = await addWebhook(ctx, receiver.url);
  await emitRoles(ctx, 200);
  const rows = await settledDeliveries(ctx, webhook.id, 200, 30_000);
  expect(rows.filter(({ status, attempt_count }) => status === 'succeeded' && attempt_count === 1)).toHaveLength(200);
  expect(new Set(receiver.posts.map(({ event_id }) => event_id)).size).toBe(200);
  expect(receiver.posts).toHaveLength(200);
  for (const row of rows) expect(Math.abs((row.completed_at?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
});

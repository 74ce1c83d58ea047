// What one process withdraws, another must stop honouring within a second, also when notifications get lost.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateSigningKey } from '../../src/domain/signing-keys/signing-keys.js';
import { transaction } from '../../src/domain/context.js';
import { insertSigningKey } from '../../src/db/tables/signing_keys.js';
import { updateClient } from '../../src/db/tables/clients.js';
import { digest } from '../../src/lib/digest.js';
import { randomToken } from '../../src/lib/random.js';
import { addClient, addGrant, addResource, type TestClient } from '../support/data.js';
import { oauthPost, tokenRequest } from '../support/oauth.js';
import { startReplica } from '../support/replica.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const replica = shared(() => startReplica(service.databaseUrl, service.secretKey, { BASE_URL: service.url }));
afterAll(async () => replica?.end('SIGTERM'));

/** The processes that another one started. */
const workersOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

const withinMs = 1000;

/** Asks the other process until it refuses; an answer to a request that was sent more than a second after the change must be a refusal. */
async function refusedInTime(accepted: () => Promise<boolean>): Promise<void> {
  const changed = performance.now();
  for (;;) {
    const sent = performance.now();
    if (!(await accepted())) return;
    expect(sent - changed).toBeLessThan(withinMs);
  }
}

type Machine = {
  client: TestClient;
  resource: Awaited<ReturnType<typeof addResource>>;
  token(): Promise<{ status: number; access_token: string }>;
};

/** A machine client with a grant, which the other process remembers from now on. */
async function machine(): Promise<Machine> {
  const client = await addClient(ctx, { grant_types: ['client_credentials'], application_type: 'machine' });
  const resource = await addResource(ctx, { identifier: `https://${client.id}.example` });
  await addGrant(ctx, client, resource);
  const token = async () => {
    const answer = await tokenRequest(replica.url, client, { grant_type: 'client_credentials', resource: resource.identifier });
    return { status: answer.status, access_token: answer.body.access_token };
  };
  expect((await token()).status).toBe(200);
  return { client, resource, token };
}

const withdrawals: Record<string, () => Promise<void>> = {
  async 'a disabled client'() {
    const { client, token } = await machine();
    await updateClient(ctx.scope, client.id, { status: 'disabled' });
    await refusedInTime(async () => (await token()).status === 200);
  },
  async 'a rotated secret: the new one works at once, the old one ends'() {
    const { client, token } = await machine();
    const client_secret = randomToken('cs_');
    await updateClient(ctx.scope, client.id, { secret_digest: digest(client_secret) });
    const fresh = await oauthPost(replica.url, '/oauth/introspect', { ...client, client_secret }, { token: 'at_none' });
    expect(fresh.status).toBe(200);
    await refusedInTime(async () => (await token()).status === 200);
  },
  async 'a withdrawn grant'() {
    const { client, token } = await machine();
    await ctx.scope.knex('client_grants').where({ client_id: client.id }).delete();
    await refusedInTime(async () => (await token()).status === 200);
  },
  async 'a deactivated signing key: its tokens are dead (fault F20)'() {
    const { client, token } = await machine();
    const { access_token } = await token();
    const introspect = async () =>
      (await oauthPost(replica.url, '/oauth/introspect', client, { token: access_token })).body['active'] === true;
    expect(await introspect()).toBe(true);
    const key = await generateSigningKey(ctx, 'RS256');
    const now = ctx.clock.now();
    await transaction(ctx, async (tx) => {
      await tx.scope.knex('signing_keys').where({ status: 'primary' }).update({ status: 'deactivated', updated_at: now });
      await insertSigningKey(tx.scope, {
        ...key,
        algorithm: 'RS256',
        status: 'primary',
        activated_at: now,
        created_at: now,
        updated_at: now,
      });
    });
    await refusedInTime(introspect);
    expect((await token()).status).toBe(200);
  },
};

describe('with notifications', () => {
  test.each(Object.keys(withdrawals))('%s', async (name) => withdrawals[name]?.());
});

describe('with every notification lost', () => {
  beforeAll(async () => {
    // What a listener misses while its connection is down, for good: the change rows alone are left.
    const { rows } = await ctx.scope.knex.raw<{ rows: { source: string }[] }>(
      `select pg_get_functiondef('note_change'::regproc) as source`,
    );
    const silent = (rows[0]?.source ?? '').replace(/perform pg_notify\([^;]*;/, '');
    expect(silent).not.toContain('pg_notify');
    await ctx.scope.knex.raw(silent);
  });
  test.each(Object.keys(withdrawals))('%s', async (name) => withdrawals[name]?.());
});

test('two processes count one limit', async () => {
  const other = await startReplica(service.databaseUrl, service.secretKey, { BASE_URL: service.url, RATE_LIMITS: 'on' });
  const another = await startReplica(service.databaseUrl, service.secretKey, { BASE_URL: service.url, RATE_LIMITS: 'on' });
  try {
    const { client, resource } = await machine();
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, i) =>
        tokenRequest(i % 2 === 0 ? other.url : another.url, client, { grant_type: 'client_credentials', resource: resource.identifier }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(14);
  } finally {
    await Promise.all([other.end('SIGTERM'), another.end('SIGTERM')]);
  }
});

test('a dead worker is replaced, and a signal ends all of them in order', async () => {
  const cluster = await startReplica(service.databaseUrl, service.secretKey, { BASE_URL: service.url, WEB_CONCURRENCY: '2' });
  const { client, resource } = await machine();
  const fields = { grant_type: 'client_credentials', resource: resource.identifier };
  expect((await tokenRequest(cluster.url, client, fields)).status).toBe(200);
  const metrics = await (await fetch(`${cluster.url}/metrics`)).text();
  expect(metrics).toContain('oauth_tokens_issued_total{grant_type="client_credentials",format="jwt"} 1');
  process.kill(workersOf(cluster.process.pid as number)[0] as number, 'SIGKILL');
  await expect.poll(() => cluster.log.filter((line) => line.includes('worker.died')).length, { timeout: 20_000 }).toBe(1);
  await expect.poll(() => workersOf(cluster.process.pid as number).length, { timeout: 20_000 }).toBe(2);
  expect((await tokenRequest(cluster.url, client, fields)).status).toBe(200);
  expect(await cluster.end('SIGTERM')).toBe(0);
}, 90_000);

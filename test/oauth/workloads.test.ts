// Workload identity (RFC 7523): a platform's token instead of a secret, with a real issuer on loopback.
import { createHmac, createPublicKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { insertFederatedCredential, type ClaimCondition } from '../../src/db/tables/federated_credentials.js';
import { insertTrustedIssuer } from '../../src/db/tables/trusted_issuers.js';
import { listWorkloadRefusals } from '../../src/db/tables/workload_refusals.js';
import type { ClientRow } from '../../src/db/tables/clients.js';
import { jwtBearerGrantType } from '../../src/lib/grant-types.js';
import { uuidv7 } from '../../src/lib/random.js';
import { addType } from '../support/authorization-details.js';
import { addClient, addGrant, addResource, type TestClient } from '../support/data.js';
import { claimsOf, oauthPost, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { createClientKey, unsignedJwt } from '../support/signed-jwt.js';
import { gitHubClaims, kubernetesClaims, startWorkloadIssuer } from '../support/workload-issuer.js';

const service = sharedService();
const ctx = contextOf(service);
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const api = shared(() => addResource(ctx, { identifier: 'https://api.example' }));
const platform = shared(
  () => startWorkloadIssuer(() => service.clock.now()),
  (one) => one.close(),
);
const stamp = () => ({ id: uuidv7(service.clock.now().getTime()), created_at: service.clock.now(), updated_at: service.clock.now() });
const aud = () => ctx.environment.issuer;

/** A client without secret and keys, and what a token of the platform has to say to be it. */
async function workload(claims: Record<string, ClaimCondition>, row: Partial<ClientRow> = {}): Promise<TestClient> {
  const client = await addClient(ctx, {
    application_type: 'machine',
    grant_types: ['client_credentials', jwtBearerGrantType],
    redirect_uris: [],
    token_endpoint_auth_method: 'private_key_jwt',
    secret_digest: null,
    ...row,
  });
  await addGrant(ctx, client, api, ['read']);
  await insertFederatedCredential(ctx.scope, { ...stamp(), client_id: client.id, trusted_issuer_id: issuer.id, audience: aud(), claims });
  ctx.cache.invalidate(ctx.environment.id, 'federated_credentials');
  return client;
}

const issuer = shared(() => insertTrustedIssuer(ctx.scope, { ...stamp(), name: 'Platform', issuer: platform.url }));

const job = shared(() => workload({ repository_id: '74', sub: { prefix: 'repo:octo-org/octo-repo:' }, environment: ['prod', 'staging'] }));
const pod = shared(() => workload({ sub: 'system:serviceaccount:orders:worker', 'kubernetes.io.namespace': 'orders' }));

const asClient = (client: { id: string }, client_assertion: string, fields: Record<string, string> = {}) =>
  tokenRequest(service.url, null, {
    grant_type: 'client_credentials',
    resource: api.identifier,
    client_id: client.id,
    client_assertion_type: assertionType,
    client_assertion,
    ...fields,
  });

const asGrant = (assertion: string, fields: Record<string, string> = {}) =>
  tokenRequest(service.url, null, { grant_type: jwtBearerGrantType, assertion, resource: api.identifier, ...fields });

describe('a token of the platform does without a secret', () => {
  test('a GitHub-shaped one as the client assertion, again and again: platforms repeat it', async () => {
    const assertion = await platform.sign(gitHubClaims(aud()));
    for (let time = 0; time < 2; time++) {
      const { status, body } = await asClient(job, assertion);
      expect(status).toBe(200);
      expect(claimsOf(body.access_token)).toMatchObject({ sub: job.id, client_id: job.id, aud: api.identifier, scope: 'read' });
    }
    const introspected = await oauthPost(service.url, '/oauth/introspect', null, {
      token: (await asClient(job, assertion)).body.access_token,
      client_id: job.id,
      client_assertion_type: assertionType,
      client_assertion: assertion,
    });
    expect(introspected.body).toMatchObject({ active: true, client_id: job.id });
  });

  test('a Kubernetes-shaped one, whose aud is a list of one, as the grant itself', async () => {
    const assertion = await platform.sign(kubernetesClaims(aud()));
    const { status, body } = await asGrant(assertion);
    expect(status).toBe(200);
    expect(claimsOf(body.access_token)).toMatchObject({ sub: pod.id, client_id: pod.id, scope: 'read' });
    expect(body.refresh_token).toBeUndefined();
    expect((await asGrant(assertion, { client_id: pod.id })).status).toBe(200);
    expect((await asGrant(assertion, { resource: '' })).body.error).toBe('invalid_request');
    expect((await asGrant(assertion, { scope: 'write' })).body.error).toBe('invalid_scope');
  });

  test('and authorization details of types that its client may ask for (specification 23.2.1)', async () => {
    const fields = [{ name: 'to', kind: 'text' as const, required: true }];
    await addType(ctx, api, 'deployment', { fields, sentence: { en: 'Deploy to {to}' } });
    ctx.cache.invalidate(ctx.environment.id, 'api_resources');
    const ask = async (authorization_details: object[]) =>
      asGrant(await platform.sign(kubernetesClaims(aud())), { authorization_details: JSON.stringify(authorization_details) });
    const details = [{ type: 'deployment', to: 'production' }];
    expect((await ask(details)).body.error).toBe('invalid_authorization_details');
    await ctx.db
      .knex('clients')
      .where({ id: pod.id })
      .update({ authorization_details_types: ['deployment'] });
    ctx.cache.invalidate(ctx.environment.id, 'clients');
    const { body } = await ask(details);
    expect(body).toMatchObject({ authorization_details: details });
    expect(claimsOf(body.access_token)['authorization_details']).toEqual(details);
    expect((await ask([{ type: 'deployment' }])).body.error).toBe('invalid_authorization_details');
  });

  test.each(['ES256', 'PS256', 'EdDSA'] as const)('signed with %s by keys that were given by value', async (alg) => {
    const key = await createClientKey(alg);
    const own = `https://${alg.toLowerCase()}.example`;
    const trusted = await insertTrustedIssuer(ctx.scope, { ...stamp(), name: alg, issuer: own, jwks: { keys: [key.jwk] } });
    const row = { client_id: pod.id, trusted_issuer_id: trusted.id, audience: aud(), claims: { sub: 'worker' } };
    await insertFederatedCredential(ctx.scope, { ...stamp(), ...row });
    ctx.cache.clear();
    expect((await asGrant(await platform.sign({ iss: own, aud: aud(), sub: 'worker' }, key))).status).toBe(200);
  });

  test('discovery names the grant', async () => {
    const document = (await (await fetch(`${service.url}/.well-known/openid-configuration`)).json()) as { grant_types_supported: string[] };
    expect(document.grant_types_supported).toContain(jwtBearerGrantType);
  });
});

describe('keys', () => {
  test('a key that is new is fetched once, made-up ids are not fetched for', async () => {
    const next = await createClientKey('RS256', 'platform-2');
    platform.publish([platform.key, next]);
    const before = platform.fetched();
    const rotated = await Promise.all([1, 2, 3].map(async () => asClient(job, await platform.sign(gitHubClaims(aud()), next))));
    expect(rotated.map(({ status }) => status)).toEqual([200, 200, 200]);
    const after = platform.fetched();
    expect(after - before).toBeLessThanOrEqual(1);
    const stranger = await createClientKey('RS256', 'made up');
    for (let time = 0; time < 3; time++) expect((await asClient(job, await platform.sign(gitHubClaims(aud()), stranger))).status).toBe(401);
    expect(platform.fetched() - after).toBeLessThanOrEqual(1);
  });

  test('why they could not be had stands with the issuer until they can', async () => {
    const dead = await startWorkloadIssuer(() => service.clock.now());
    const trusted = await insertTrustedIssuer(ctx.scope, { ...stamp(), name: 'Dead', issuer: dead.url });
    const row = { client_id: pod.id, trusted_issuer_id: trusted.id, audience: aud(), claims: { sub: 'worker' } };
    await insertFederatedCredential(ctx.scope, { ...stamp(), ...row });
    const error = async () => (await ctx.db.knex('trusted_issuers').where({ id: trusted.id }).first()).last_error as string | null;
    dead.publish(null);
    const assertion = await dead.sign({ aud: aud(), sub: 'worker' });
    expect((await asGrant(assertion)).body).toMatchObject({
      error: 'invalid_grant',
      error_description: expect.stringContaining('status 500'),
    });
    expect(await error()).toContain('status 500');
    dead.publish([dead.key]);
    service.clock.advance(11_000);
    expect((await asGrant(assertion)).status).toBe(200);
    expect(await error()).toBeNull();
    await dead.close();
  });

  test('serve for an hour while their issuer is away, and nobody waits for it then (fault F41)', async () => {
    const away = await startWorkloadIssuer(() => service.clock.now());
    const trusted = await insertTrustedIssuer(ctx.scope, { ...stamp(), name: 'Away', issuer: away.url });
    const row = { client_id: pod.id, trusted_issuer_id: trusted.id, audience: aud(), claims: { sub: 'away' } };
    await insertFederatedCredential(ctx.scope, { ...stamp(), ...row });
    const asked = async () => (await asGrant(await away.sign({ aud: aud(), sub: 'away' }))).body;
    expect(await asked()).toHaveProperty('access_token');
    away.publish(null);
    service.clock.advance(120_000);
    expect(await asked()).toHaveProperty('access_token');
    service.clock.advance(120_000);
    const release = away.hold();
    const started = performance.now();
    expect(await asked()).toHaveProperty('access_token');
    expect(performance.now() - started).toBeLessThan(3_000);
    release();
    service.clock.advance(3_600_000);
    await expect.poll(asked).toMatchObject({ error: 'invalid_grant' });
    away.publish([away.key]);
    service.clock.advance(11_000);
    await expect.poll(asked).toHaveProperty('access_token');
    await away.close();
  });

  test('a made-up id takes the known keys from nobody, nor has anybody else wait, while the issuer hangs (fault F41)', async () => {
    const slow = await startWorkloadIssuer(() => service.clock.now());
    const trusted = await insertTrustedIssuer(ctx.scope, { ...stamp(), name: 'Slow', issuer: slow.url });
    const row = { client_id: pod.id, trusted_issuer_id: trusted.id, audience: aud(), claims: { sub: 'slow' } };
    await insertFederatedCredential(ctx.scope, { ...stamp(), ...row });
    const good = await slow.sign({ aud: aud(), sub: 'slow' });
    expect((await asGrant(good)).status).toBe(200);
    const stranger = await createClientKey('RS256', 'made up');
    const forged = await slow.sign({ aud: aud(), sub: 'slow' }, stranger);
    const release = slow.hold();
    const before = slow.fetched();
    const [first, ...others] = Array.from({ length: 20 }, () => asGrant(forged));
    const started = performance.now();
    for (let time = 0; time < 3; time++) expect((await asGrant(good)).status).toBe(200);
    expect(performance.now() - started).toBeLessThan(3_000);
    for (const one of [first, ...others]) expect((await one)?.status).toBe(400);
    expect((await asGrant(good)).status).toBe(200);
    expect(slow.fetched() - before).toBeLessThanOrEqual(1);
    release();
    await slow.close();
  }, 30_000);
});

test('the grant of a workload proves nobody where no grant is brought (attack 29.786)', async () => {
  const assertion = await platform.sign(kubernetesClaims(aud()));
  const grant = { grant_type: jwtBearerGrantType, assertion };
  const { access_token } = (await asGrant(assertion)).body;
  for (const path of ['/oauth/par', '/oauth/introspect', '/oauth/revoke', '/oauth/device_authorization'])
    for (const named of [{}, { client_id: pod.id }]) {
      const { status, body } = await oauthPost(service.url, path, null, { ...grant, ...named, token: access_token, response_type: 'code' });
      expect([path, status, body.error]).toEqual([path, 401, 'invalid_client']);
    }
  const told = await oauthPost(service.url, '/oauth/introspect', null, {
    token: access_token,
    client_id: pod.id,
    client_assertion_type: assertionType,
    client_assertion: assertion,
  });
  expect(told.body['active']).toBe(true);
});

describe('refusals name the claim and no value', () => {
  /** Both ways of bringing it: 401 `invalid_client`, and 400 `invalid_grant`. */
  async function refused(assertion: string, client = job): Promise<string> {
    const one = await asClient(client, assertion);
    expect([one.status, one.body.error]).toEqual([401, 'invalid_client']);
    const other = await asGrant(assertion, { client_id: client.id });
    expect([other.status, other.body.error]).toEqual([400, 'invalid_grant']);
    expect(other.body['error_description']).toBe(one.body['error_description']);
    return String(one.body['error_description']);
  }

  test('another repository (attack 29.611)', async () => {
    const reason = await refused(await platform.sign({ ...gitHubClaims(aud()), repository_id: '75', sub: 'repo:evil/octo-repo:ref:x' }));
    expect(reason).toContain('repository_id');
    expect(reason).toContain('sub');
    expect(reason).not.toContain('evil');
    expect(reason).not.toContain('75');
    expect(await refused(await platform.sign({ ...gitHubClaims(aud()), sub: 'repo:octo-org/octo-repo-evil:ref:x' }))).toContain('sub');
    expect(await refused(await platform.sign({ ...gitHubClaims(aud()), environment: undefined }))).toContain('environment');
  });

  test('another audience, several, none (attack 29.612)', async () => {
    for (const other of ['https://sts.example', [aud(), 'https://sts.example'], [], undefined, `${aud()}/`])
      expect(await refused(await platform.sign({ ...gitHubClaims(''), aud: other }))).toContain('aud');
  });

  test('another issuer, signed by the same key or by its own (attack 29.613)', async () => {
    const claims = gitHubClaims(aud());
    expect(await refused(await platform.sign({ ...claims, iss: 'https://token.actions.example' }))).toContain('iss');
    expect(await refused(await platform.sign({ ...claims, iss: `${platform.url}/` }))).toContain('iss');
    const stranger = await createClientKey('RS256', 'platform-1');
    expect(await refused(await platform.sign(claims, stranger))).toContain('key of its issuer');
  });

  test('expired, not valid yet, without or with a distant end (attack 29.614)', async () => {
    const now = Math.floor(service.clock.now().getTime() / 1000);
    const times = [{ exp: now - 61 }, { exp: undefined }, { exp: now + 86_400 + 120 }, { exp: 'soon' }];
    for (const time of times) expect(await refused(await platform.sign({ ...gitHubClaims(aud()), ...time }))).toContain('exp');
    expect(await refused(await platform.sign({ ...gitHubClaims(aud()), nbf: now + 120 }))).toContain('nbf');
    expect(await refused(await platform.sign({ ...gitHubClaims(aud()), iat: now + 120 }))).toContain('iat');
    expect((await asClient(job, await platform.sign({ ...gitHubClaims(aud()), exp: now - 30 }))).status).toBe(200);
  });

  test('alg none (attack 29.615)', async () => {
    const now = Math.floor(service.clock.now().getTime() / 1000);
    await refused(unsignedJwt({ ...gitHubClaims(aud()), iss: platform.url, exp: now + 60 }));
  });

  test('HS256 with the public key of the issuer as the secret (attack 29.616)', async () => {
    const now = Math.floor(service.clock.now().getTime() / 1000);
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${part({ alg: 'HS256', kid: 'platform-1' })}.${part({ ...gitHubClaims(aud()), iss: platform.url, exp: now + 60 })}`;
    const pem = createPublicKey({ key: platform.key.jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    await refused(`${signed}.${createHmac('sha256', pem).update(signed).digest('base64url')}`);
  });

  test("another client's workload, and one whose client does not authenticate so (attack 29.617)", async () => {
    expect(await refused(await platform.sign(kubernetesClaims(aud())))).toContain('sub');
    const secret = await workload({ sub: 'elsewhere' }, { token_endpoint_auth_method: 'client_secret_basic' });
    await refused(await platform.sign({ aud: aud(), sub: 'elsewhere' }), secret);
    const disabled = await workload({ sub: 'off' }, { status: 'disabled' });
    expect((await asGrant(await platform.sign({ aud: aud(), sub: 'off' }), { client_id: disabled.id })).body.error).toBe('invalid_grant');
  });

  test('two credentials that fit prove nobody (attack 29.618)', async () => {
    await workload({ sub: 'twice' });
    const second = await workload({ sub: ['twice', 'once'] });
    expect((await asGrant(await platform.sign({ aud: aud(), sub: 'twice' }))).body).toMatchObject({ error: 'invalid_grant' });
    expect(claimsOf((await asGrant(await platform.sign({ aud: aud(), sub: 'once' }))).body.access_token)['sub']).toBe(second.id);
  });

  test('a client that has not the grant type gets nothing by it, nor without an assertion', async () => {
    const plain = await workload({ sub: 'plain' }, { grant_types: ['client_credentials'] });
    const assertion = await platform.sign({ aud: aud(), sub: 'plain' });
    expect((await asGrant(assertion)).body.error).toBe('unauthorized_client');
    expect((await asClient(plain, assertion)).status).toBe(200);
    expect((await tokenRequest(service.url, null, { grant_type: jwtBearerGrantType, resource: api.identifier })).status).toBe(401);
  });

  test('the last ten stand at the client', async () => {
    const watched = await workload({ sub: 'watched' });
    for (let time = 0; time < 12; time++) {
      await asClient(watched, await platform.sign({ aud: aud(), sub: `other ${time}` }));
      service.clock.advance(1_100);
    }
    const rows = await listWorkloadRefusals(ctx.scope, watched.id);
    expect(rows).toHaveLength(10);
    expect(rows[0]?.reason).toContain('sub');
    expect(rows.some(({ reason }) => reason.includes('other'))).toBe(false);
  });
});

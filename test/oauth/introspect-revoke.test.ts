import { describe, expect, test } from 'vitest';
import { updateUser } from '../../src/db/tables/users.js';
import { addMachine, addClient, addEnvironment, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const client = shared(() => addClient(ctx));
const other = shared(() => addClient(ctx));
const resource = shared(() => addResource(ctx));
const machine = shared(() => addMachine(ctx, resource));
const user = shared(() => addUser(ctx));
const browser = shared(() => signedIn(service, user));

const introspect = async (token: string, as: TestClient | null = client, fields: Record<string, string> = {}) =>
  oauthPost(service.url, '/oauth/introspect', as, { token, ...fields });
const revoke = (token: string, as: TestClient | null = client, fields: Record<string, string> = {}) =>
  oauthPost(service.url, '/oauth/revoke', as, { token, ...fields });
const tokens = async (parameters: Record<string, string> = {}) =>
  (await redeem(service.url, client, await authorizeCode(browser, client, parameters))).body;
const machineToken = async () =>
  (await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: resource.identifier })).body.access_token;
const inactive = { active: false };

describe('introspection', () => {
  test('introspection is 401 without client authentication, with a Bearer and with a wrong Basic header (attack 6.79)', async () => {
    const bad = [
      {},
      { authorization: `Bearer ${await machineToken()}` },
      { authorization: `Basic ${Buffer.from(`${client.id}:no`).toString('base64')}` },
    ];
    for (const headers of bad) {
      const answer = await oauthPost(service.url, '/oauth/introspect', null, { token: 'x' }, headers as Record<string, string>);
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client']);
    }
    const spa = await addClient(ctx, { token_endpoint_auth_method: 'none', application_type: 'spa' });
    expect((await introspect('x', spa)).status).toBe(401);
    expect((await oauthPost(service.url, '/oauth/introspect', client, {})).body.error).toBe('invalid_request');
  });

  test('an active token of either format says whose it is, for what, and until when', async () => {
    const { access_token } = await tokens();
    const opaque = await introspect(access_token);
    expect(opaque.headers.get('cache-control')).toBe('no-store');
    expect(opaque.body).toMatchObject({
      active: true,
      scope: 'openid profile email',
      client_id: client.id,
      token_type: 'Bearer',
      sub: user.id,
      iss: service.url,
      aud: service.url,
    });
    expect(opaque.body['exp']).toBe((opaque.body['iat'] as number) + 3600);
    const jwt = await introspect(await machineToken());
    expect(jwt.body).toMatchObject({ active: true, scope: 'read write', client_id: machine.id, sub: machine.id, aud: resource.identifier });
  });

  test('whatever is wrong with a token, the body is exactly {"active":false} (attack 6.81)', async () => {
    const second = await addEnvironment(service.deps, 'staging');
    const foreign = await addClient(second, { application_type: 'machine', grant_types: ['client_credentials'] });
    const foreignResource = await addResource(second);
    await addGrant(second, foreign, foreignResource);
    // The host decides which environment answers; Node's fetch can't set it, so the request goes out by hand.
    const { request } = await import('node:http');
    const { basic } = await import('../support/oauth.js');
    const foreignJwt = await new Promise<string>((resolve, reject) => {
      const body = new URLSearchParams({ grant_type: 'client_credentials', resource: foreignResource.identifier }).toString();
      const headers = {
        host: `staging.localhost:${service.config.port}`,
        authorization: basic(foreign),
        'content-type': 'application/x-www-form-urlencoded',
      };
      const call = request(`${service.url}/oauth/token`, { method: 'POST', headers }, (res) => {
        let text = '';
        res.on('data', (chunk) => (text += chunk));
        res.on('end', () => resolve((JSON.parse(text) as { access_token: string }).access_token));
      });
      call.on('error', reject);
      call.end(body);
    });
    expect(foreignJwt.split('.')).toHaveLength(3);
    const jwt = await machineToken();
    const forged = `${jwt.slice(0, -10)}${jwt.slice(-10).split('').reverse().join('')}`;
    const revoked = await tokens();
    await revoke(revoked.access_token);
    const candidates = [
      'garbage',
      'at_short',
      `at_${'A'.repeat(43)}`,
      `rt_${'A'.repeat(43)}`,
      forged,
      foreignJwt,
      revoked.access_token,
      revoked.id_token as string,
      '\u{1F600}',
    ];
    for (const token of candidates) {
      const response = await introspect(token);
      expect([response.status, response.body]).toEqual([200, inactive]);
    }
    expect((await introspect(revoked.refresh_token as string)).body['active']).toBe(true);
    expect((await introspect(revoked.refresh_token as string, other)).body).toEqual(inactive);
  });

  test('a wrong or unknown token_type_hint changes nothing (attack 6.82)', async () => {
    const { access_token, refresh_token } = await tokens();
    for (const token_type_hint of ['refresh_token', 'access_token', 'nonsense']) {
      expect((await introspect(access_token, client, { token_type_hint })).body['active']).toBe(true);
      expect((await introspect(refresh_token as string, client, { token_type_hint })).body['active']).toBe(true);
    }
  });

  test('a client without introspection_allowed is told of its own tokens only (attack 6.256)', async () => {
    const stranger = await addClient(ctx, { introspection_allowed: false });
    const { access_token } = await tokens();
    const jwt = await machineToken();
    for (const token of [access_token, jwt, 'garbage']) {
      const answer = await introspect(token, stranger);
      expect([answer.status, JSON.stringify(answer.body)]).toEqual([200, '{"active":false}']);
    }
    const own = (await redeem(service.url, stranger, await authorizeCode(browser, stranger))).body;
    expect((await introspect(own.access_token, stranger)).body).toMatchObject({ active: true, client_id: stranger.id });
    expect((await introspect(own.refresh_token as string, stranger)).body['active']).toBe(true);
    expect((await introspect(own.access_token, other)).body['active']).toBe(true);
  });

  test('random tokens are answered alike (attack 6.84)', async () => {
    const bodies = await Promise.all(Array.from({ length: 200 }, (_, i) => introspect(`at_${String(i).padStart(43, 'x')}`)));
    expect(new Set(bodies.map((answer) => JSON.stringify(answer.body)))).toEqual(new Set(['{"active":false}']));
  });

  test('an expired token, and one of a blocked user, are inactive', async () => {
    const person = await addUser(ctx);
    const own = await signedIn(service, person);
    const { body } = await redeem(
      service.url,
      client,
      await authorizeCode(own, client, { scope: 'openid', resource: resource.identifier }),
    );
    const opaque = (await redeem(service.url, client, await authorizeCode(own, client))).body.access_token;
    expect((await introspect(body.access_token)).body['active']).toBe(true);
    await updateUser(ctx.scope, person.id, { status: 'blocked' });
    expect((await introspect(body.access_token)).body).toEqual(inactive);
    expect((await introspect(opaque)).body).toEqual(inactive);
  });
});

describe('revocation', () => {
  test('revocation is 401 unauthenticated, 405 by GET, and never JSONP (attack 6.85)', async () => {
    expect((await revoke('x', null)).status).toBe(401);
    expect((await fetch(`${service.url}/oauth/revoke?token=x`)).status).toBe(405);
    const answer = await revoke('x', client, { callback: 'alert' });
    expect([answer.status, JSON.stringify(answer.body), answer.headers.get('content-type')]).toEqual([
      200,
      '{}',
      expect.stringContaining('application/json'),
    ]);
    expect((await oauthPost(service.url, '/oauth/revoke', client, {})).body.error).toBe('invalid_request');
  });

  test('revoking a refresh token takes its access tokens along; again, or garbage, is 200 (attack 6.87)', async () => {
    const { access_token, refresh_token } = await tokens();
    expect((await revoke(refresh_token as string, client, { token_type_hint: 'access_token' })).status).toBe(200);
    expect((await introspect(access_token)).body).toEqual(inactive);
    expect(
      (await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token: refresh_token as string })).body.error,
    ).toBe('invalid_grant');
    expect((await revoke(refresh_token as string)).status).toBe(200);
    expect((await revoke('garbage')).status).toBe(200);
  });

  test("another client's token: 200 without effect", async () => {
    const { access_token, refresh_token } = await tokens();
    expect((await revoke(access_token, other)).status).toBe(200);
    expect((await revoke(refresh_token as string, other)).status).toBe(200);
    expect((await introspect(access_token)).body['active']).toBe(true);
    expect((await introspect(refresh_token as string)).body['active']).toBe(true);
  });

  test('a revoked JWT is refused by introspection, and only that one', async () => {
    const [one, two] = [await machineToken(), await machineToken()];
    expect((await revoke(one, machine)).status).toBe(200);
    expect((await introspect(one)).body).toEqual(inactive);
    expect((await introspect(two)).body['active']).toBe(true);
  });

  test('when the store fails, revocation is 503 and the token stays as it was (attack 6.88)', async () => {
    const { access_token } = await tokens();
    await ctx.db.knex.raw('alter table access_tokens rename to access_tokens_away');
    try {
      // A missing table stands for a store that fails in the middle; lost connections are told from it by their codes (503).
      const answer = await revoke(access_token);
      expect(answer.status).toBeGreaterThanOrEqual(500);
      expect(JSON.stringify(answer.body)).not.toMatch(/access_tokens|relation/);
    } finally {
      await ctx.db.knex.raw('alter table access_tokens_away rename to access_tokens');
    }
    expect((await introspect(access_token)).body['active']).toBe(true);
  });
});

// Token exchange (RFC 8693): a service that was called with a person's token gets one for another API in the person's name.
import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, test } from 'vitest';
import { endSessions } from '../../src/domain/sessions/sessions.js';
import { transaction } from '../../src/domain/context.js';
import { endGrant } from '../../src/domain/tokens/revoke.js';
import { remove, update } from '../../src/db/scope.js';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import type { ClientGrantRow } from '../../src/db/tables/client_grants.js';
import type { ClientRow } from '../../src/db/tables/clients.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { addClient, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { authorizeCode, claimsOf, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { auditRows } from '../support/security-events.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const access_token_type = 'urn:ietf:params:oauth:token-type:access_token';
/** What people sign in to, and the API that it calls. */
const app = shared(() => addClient(ctx));
const orders = shared(() => addResource(ctx, { identifier: 'https://orders.example' }));
/** The service behind that API, as a client, and the API that it calls in its turn. */
const service_client = shared(() => addClient(ctx, { application_type: 'machine', grant_types: ['client_credentials', tokenExchangeGrantType], redirect_uris: [], first_party: false })); // prettier-ignore
const stock = shared(() => addResource(ctx, { identifier: 'https://stock.example' }));
const opaque = shared(() => addResource(ctx, { identifier: 'https://opaque.example', token_format: 'opaque' }));
const silent = shared(() => addResource(ctx, { identifier: 'https://silent.example' }));
const user: UserRow = shared(() => addUser(ctx));

beforeAll(async () => {
  const policy = { token_exchange: 'delegation', subject_audiences: [orders.identifier, stock.identifier, opaque.identifier] } as const;
  const row = { ...policy, subject_audiences: [...policy.subject_audiences] };
  for (const target of [stock, opaque, orders]) await addGrant(ctx, service_client, target, ['read', 'write'], 'user', row);
  await addGrant(ctx, service_client, silent, ['read'], 'user', { ...row, token_exchange: 'impersonation' });
});

const browsers = new Map<string, Awaited<ReturnType<typeof signedIn>>>();
async function browserOf(who: UserRow) {
  const known = browsers.get(who.id) ?? (await signedIn(service, who));
  browsers.set(who.id, known);
  return known;
}

/** The tokens that the application gets of the person for the API. */
async function tokensOf(who: UserRow, resource: ApiResourceRow, scope = 'openid read', client: TestClient = app) {
  const grant = await authorizeCode(await browserOf(who), client, { resource: resource.identifier, scope });
  return (await redeem(service.url, client, grant)).body;
}

const exchange = (subject_token: string, fields: Record<string, string> = {}, client: TestClient = service_client) =>
  tokenRequest(service.url, client, {
    grant_type: tokenExchangeGrantType,
    subject_token,
    subject_token_type: access_token_type,
    resource: stock.identifier,
    ...fields,
  });

const introspect = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', app, { token })).body;

describe('delegation', () => {
  test('the token is of the person, for the target, by the caller, and says who acts', async () => {
    const { access_token } = await tokensOf(user, orders);
    const { status, body } = await exchange(access_token, { scope: 'read' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ token_type: 'Bearer', issued_token_type: access_token_type, scope: 'read' });
    expect(body.refresh_token).toBeUndefined();
    const act = { sub: service_client.id, client_id: service_client.id };
    const subject = claimsOf(access_token);
    expect(claimsOf(body.access_token)).toMatchObject({
      sub: user.id,
      aud: stock.identifier,
      client_id: service_client.id,
      scope: 'read',
      act,
      sid: subject['sid'],
      gid: subject['gid'],
      auth_time: subject['auth_time'],
      acr: subject['acr'],
    });
    expect(await introspect(body.access_token)).toMatchObject({ active: true, sub: user.id, act });
  });

  test('an opaque one is introspected to the same, and can be brought on: who acted before is inside', async () => {
    const { access_token } = await tokensOf(user, orders);
    const first = (await exchange(access_token, { resource: opaque.identifier })).body.access_token;
    const act = { sub: service_client.id, client_id: service_client.id };
    expect(first).toMatch(/^at_/);
    expect(await introspect(first)).toMatchObject({ active: true, aud: opaque.identifier, scope: 'read write', act });
    const second = (await exchange(first)).body.access_token;
    expect(claimsOf(second)['act']).toEqual({ ...act, act });
  });

  test('with an actor_token it is its sub that acts', async () => {
    const machine = await tokenRequest(service.url, service_client, { grant_type: 'client_credentials', resource: stock.identifier });
    expect(machine.body.error).toBe('invalid_target');
    const colleague = await addUser(ctx);
    const actor_token = (await tokensOf(colleague, orders)).access_token;
    const { access_token } = await tokensOf(user, orders);
    const { body } = await exchange(access_token, { actor_token, actor_token_type: access_token_type });
    expect(claimsOf(body.access_token)['act']).toEqual({ sub: colleague.id, client_id: service_client.id });
    expect((await exchange(access_token, { actor_token })).body.error).toBe('invalid_request');
    expect((await exchange(access_token, { actor_token: 'x.y.z', actor_token_type: access_token_type })).body.error).toBe(
      'invalid_request',
    );
  });

  test('four act one for the other at most', async () => {
    let token = (await tokensOf(user, orders)).access_token;
    for (let hop = 0; hop < 4; hop++) token = (await exchange(token)).body.access_token;
    expect((await exchange(token)).body).toMatchObject({ error: 'invalid_request', error_description: expect.stringContaining('4 act') });
  });

  test('oauth4webapi reads the answer', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true };
    const issuer = new URL(service.url);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
    expect(as.grant_types_supported).toContain(tokenExchangeGrantType);
    const client = { client_id: service_client.id };
    const { access_token } = await tokensOf(user, orders);
    const parameters = { subject_token: access_token, subject_token_type: access_token_type, resource: stock.identifier };
    const auth = oauth.ClientSecretBasic(service_client.client_secret);
    const response = await oauth.genericTokenEndpointRequest(as, client, auth, tokenExchangeGrantType, parameters, insecure);
    expect((await oauth.processGenericTokenEndpointResponse(as, client, response)).scope).toBe('read write');
  });
});

describe('impersonation', () => {
  test('the token does not say who acts, and the audit log does, every time', async () => {
    const { access_token } = await tokensOf(user, orders);
    const { body } = await exchange(access_token, { resource: silent.identifier });
    expect(claimsOf(body.access_token)).toMatchObject({ sub: user.id, aud: silent.identifier, scope: 'read' });
    expect(claimsOf(body.access_token)['act']).toBeUndefined();
    await exchange(access_token, { resource: silent.identifier });
    const rows = (await auditRows(service, 'token.impersonated')).filter(({ target_id }) => target_id === user.id);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatchObject({
      actor_kind: 'client',
      actor_id: service_client.id,
      changes: { audience: [null, silent.identifier], scope: [null, 'read'], subject_client: [null, app.id] },
    });
  });

  test('an actor has no place in it', async () => {
    const { access_token } = await tokensOf(user, orders);
    const fields = { resource: silent.identifier, actor_token: access_token, actor_token_type: access_token_type };
    expect((await exchange(access_token, fields)).body.error).toBe('invalid_request');
  });
});

describe('what limits the token', () => {
  test('it never outlives what was brought, whatever the target says', async () => {
    const short = await addResource(ctx, { identifier: 'https://short.example', access_token_lifetime: 120 });
    const own = await addClient(ctx, { grant_types: ['authorization_code', tokenExchangeGrantType] });
    const long = await addResource(ctx, { identifier: 'https://long.example', access_token_lifetime: 3600 });
    await addGrant(ctx, own, long, ['read'], 'user', { token_exchange: 'delegation' });
    const { access_token } = await tokensOf(user, short, 'read', own);
    const { body } = await exchange(access_token, { resource: long.identifier }, own);
    expect(claimsOf(body.access_token)['exp']).toBeLessThanOrEqual(claimsOf(access_token)['exp'] as number);
    expect(body['expires_in']).toBeLessThanOrEqual(120);
  });

  test('at the same audience the scope stays within that of what was brought', async () => {
    const { access_token } = await tokensOf(user, orders, 'read');
    expect((await exchange(access_token, { resource: orders.identifier })).body['scope']).toBe('read');
    expect((await exchange(access_token, { resource: orders.identifier, scope: 'write' })).body.error).toBe('invalid_scope');
  });

  test.each(['jwt', 'opaque'] as const)('a way back gives no more than the token had there: %s (attack 29.785)', async (format) => {
    const between = await addResource(ctx, { identifier: `https://between-${format}.example`, token_format: format });
    const back = { subject_audiences: [orders.identifier, between.identifier, silent.identifier] };
    const there = await addClient(ctx, { grant_types: [tokenExchangeGrantType], redirect_uris: [] });
    await addGrant(ctx, there, between, ['read', 'write'], 'user', { token_exchange: 'delegation', ...back });
    await addGrant(ctx, there, orders, ['read', 'write'], 'user', { token_exchange: 'delegation', ...back });
    await addGrant(ctx, there, silent, ['read', 'write'], 'user', { token_exchange: 'impersonation', ...back });
    const { access_token } = await tokensOf(user, orders, 'openid read');
    const on = async (token: string, { identifier }: ApiResourceRow, scope = '') =>
      (await exchange(token, { resource: identifier, ...(scope !== '' && { scope }) }, there)).body;
    const away = (await on(access_token, between, 'read write')).access_token;
    for (const token of [away, (await on(away, silent)).access_token]) {
      const home = await on(token, orders);
      expect(home['scope']).toBe('read');
      expect(await on(token, orders, 'write')).toMatchObject({ error: 'invalid_scope' });
      expect((await on(home.access_token, between, 'write'))['scope']).toBe('write');
    }
    expect(await introspect(away)).not.toHaveProperty('earlier_scopes');
  });

  test('a token remembers four API resources that it goes back to, and is brought to no fifth', async () => {
    const chain = await Promise.all([1, 2, 3, 4, 5].map((n) => addResource(ctx, { identifier: `https://chain-${n}.example` })));
    const client = await addClient(ctx, { grant_types: [tokenExchangeGrantType], redirect_uris: [] });
    const policy = { token_exchange: 'impersonation', subject_audiences: [orders.identifier] } as const;
    for (const one of chain) await addGrant(ctx, client, one, ['read'], 'user', { ...policy, subject_audiences: [orders.identifier] });
    let { access_token } = await tokensOf(user, orders, 'read');
    for (const { identifier } of chain.slice(0, 4)) {
      const answer = await exchange(access_token, { resource: identifier }, client);
      expect(answer.status).toBe(200);
      access_token = answer.body.access_token;
    }
    expect((await exchange(access_token, { resource: 'https://chain-5.example' }, client)).body.error).toBe('invalid_request');
  });

  test('a scope beyond the grant is refused: invalid_scope (attack 29.606)', async () => {
    const { access_token } = await tokensOf(user, orders, 'read write');
    const answer = await exchange(access_token, { resource: silent.identifier, scope: 'write' });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_scope']);
    expect((await exchange(access_token, { scope: 'openid' })).body.error).toBe('invalid_scope');
  });

  test('where the target gives only what the person holds, the person must hold it', async () => {
    const strict = await addResource(ctx, { identifier: 'https://strict.example', user_scopes: 'held', token_format: 'opaque' });
    await addGrant(ctx, service_client, strict, ['read'], 'user', { token_exchange: 'delegation', subject_audiences: [orders.identifier] });
    const { access_token } = await tokensOf(user, orders);
    expect((await exchange(access_token, { resource: strict.identifier })).body.error).toBe('invalid_scope');
  });

  test('where the target demands a better sign-in, the one behind the token counts', async () => {
    const guarded = await addResource(ctx, { identifier: 'https://guarded.example', required_acr: '2' });
    await addGrant(ctx, service_client, guarded, ['read'], 'user', {
      token_exchange: 'delegation',
      subject_audiences: [orders.identifier],
    });
    const { access_token } = await tokensOf(user, orders);
    expect((await exchange(access_token, { resource: guarded.identifier })).body.error).toBe('invalid_request');
  });
});

describe('what ends with the subject', () => {
  test.each(['jwt', 'opaque'] as const)('grant, session and user end an exchanged token: %s', async (format) => {
    const target = format === 'jwt' ? stock : opaque;
    const endings: ((subject: Record<string, unknown>, who: UserRow) => Promise<unknown>)[] = [
      ({ gid }) => endGrant(ctx, String(gid)),
      ({ sid }) => transaction(ctx, (tx) => endSessions(tx, { id: String(sid) }, 'revoked')),
      (_subject, who) => update<UserRow>(ctx.scope, 'users', { id: who.id }, { status: 'blocked' }),
    ];
    for (const end of endings) {
      const who = await addUser(ctx);
      const { access_token } = await tokensOf(who, orders);
      const exchanged = (await exchange(access_token, { resource: target.identifier })).body.access_token;
      expect(await introspect(exchanged)).toMatchObject({ active: true });
      await end(claimsOf(access_token), who);
      expect(await introspect(exchanged)).toEqual({ active: false });
      browsers.delete(who.id);
    }
  });

  test.each(['jwt', 'opaque'] as const)('the caller that is disabled, and a subject that has ended, give nothing: %s', async (format) => {
    const target = format === 'jwt' ? stock : opaque;
    const disable = (client: TestClient) => update<ClientRow>(ctx.scope, 'clients', { id: client.id }, { status: 'disabled' });
    const [source, caller] = [await addClient(ctx), await addClient(ctx, { grant_types: [tokenExchangeGrantType] })];
    const policy = { token_exchange: 'delegation', subject_audiences: [orders.identifier] } as const;
    await addGrant(ctx, caller, target, ['read'], 'user', { ...policy, subject_audiences: [...policy.subject_audiences] });
    const { access_token } = await tokensOf(user, orders, 'read', source);
    const exchanged = (await exchange(access_token, { resource: target.identifier }, caller)).body.access_token;
    expect(await introspect(exchanged)).toMatchObject({ active: true, client_id: caller.id });
    await disable(source);
    ctx.cache.clear();
    expect((await exchange(access_token, { resource: target.identifier }, caller)).body.error).toBe('invalid_request');
    await disable(caller);
    ctx.cache.clear();
    expect(await introspect(exchanged)).toEqual({ active: false });
    expect((await exchange(access_token, { resource: target.identifier }, caller)).status).toBe(401);

    const who = await addUser(ctx);
    const subject = (await tokensOf(who, orders)).access_token;
    await transaction(ctx, (tx) => endSessions(tx, { id: String(claimsOf(subject)['sid']) }, 'revoked'));
    expect((await exchange(subject, { resource: target.identifier })).body.error).toBe('invalid_request');
    browsers.delete(who.id);
    const other = (await tokensOf(who, orders)).access_token;
    await update<UserRow>(ctx.scope, 'users', { id: who.id }, { status: 'blocked' });
    expect((await exchange(other, { resource: target.identifier })).body.error).toBe('invalid_request');
    browsers.delete(who.id);
  });

  test('a policy that is withdrawn ends what was delegated by it', async () => {
    const brief = await addResource(ctx, { identifier: 'https://brief.example' });
    await addGrant(ctx, service_client, brief, ['read'], 'user', { token_exchange: 'delegation', subject_audiences: [orders.identifier] });
    const { access_token } = await tokensOf(user, orders);
    const exchanged = (await exchange(access_token, { resource: brief.identifier })).body.access_token;
    await remove<ClientGrantRow>(ctx.scope, 'client_grants', { api_resource_id: brief.id });
    ctx.cache.invalidate(ctx.environment.id, 'client_grants');
    expect(await introspect(exchanged)).toEqual({ active: false });
  });
});

describe('refusals', () => {
  test('a token of an audience that the policy does not name: invalid_request (attack 29.601)', async () => {
    const foreign = await addResource(ctx, { identifier: 'https://foreign.example' });
    const { access_token } = await tokensOf(user, foreign);
    const answer = await exchange(access_token);
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request']);
    expect(answer.body['error_description']).toContain('https://foreign.example');
  });

  test('a token for userinfo of another client: invalid_request (attack 29.601)', async () => {
    const { access_token } = (await redeem(service.url, app, await authorizeCode(await browserOf(user), app))).body;
    expect((await exchange(access_token)).body.error).toBe('invalid_request');
  });

  test('revoked, expired, made up, a refresh token: invalid_request (attack 29.602)', async () => {
    const { access_token, refresh_token = '' } = await tokensOf(user, orders);
    expect((await exchange(refresh_token)).body.error).toBe('invalid_request');
    expect((await exchange('at_' + 'a'.repeat(43))).body.error).toBe('invalid_request');
    expect((await exchange(`${access_token.slice(0, -4)}AAAA`)).body.error).toBe('invalid_request');
    await oauthPost(service.url, '/oauth/revoke', app, { token: access_token });
    expect((await exchange(access_token)).body).toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringContaining('revoked'),
    });
  });

  test('an ID token, under its own type or as an access token: invalid_request (attack 29.603)', async () => {
    const { id_token = '' } = await tokensOf(user, orders);
    expect((await exchange(id_token)).body.error_description).toContain('ID token');
    const typed = { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' };
    expect((await exchange(id_token, typed)).body.error).toBe('invalid_request');
  });

  test("a client's own token is nobody's: invalid_request", async () => {
    await addGrant(ctx, service_client, silent, ['read']);
    const own = await tokenRequest(service.url, service_client, { grant_type: 'client_credentials', resource: silent.identifier });
    expect((await exchange(own.body.access_token)).body.error).toBe('invalid_request');
  });

  test('an unknown target, one without grant, the Management API: invalid_target (attack 29.604)', async () => {
    const { access_token } = await tokensOf(user, orders);
    const bare = await addResource(ctx, { identifier: 'https://bare.example' });
    await addGrant(ctx, service_client, bare, ['read']);
    const system = await ctx.db.knex<ApiResourceRow>('api_resources').where({ is_system: true }).first();
    await addGrant(ctx, service_client, system as ApiResourceRow, ['users:read'], 'user', { token_exchange: 'impersonation' });
    for (const resource of ['https://nowhere.example', bare.identifier, `${service.url}/api`])
      expect((await exchange(access_token, { resource })).body.error).toBe('invalid_target');
  });

  test('a grant without policy, a client without the grant type, a public client: unauthorized_client (attack 29.605)', async () => {
    const { access_token } = await tokensOf(user, orders);
    const plain = await addResource(ctx, { identifier: 'https://plain.example' });
    await addGrant(ctx, service_client, plain, ['read'], 'user');
    expect((await exchange(access_token, { resource: plain.identifier })).body.error).toBe('unauthorized_client');
    expect((await exchange(access_token, {}, app)).body.error).toBe('unauthorized_client');
    const open = await addClient(ctx, { token_endpoint_auth_method: 'none', grant_types: ['authorization_code', tokenExchangeGrantType] });
    expect((await exchange(access_token, {}, open)).body.error).toBe('unauthorized_client');
  });

  test('other kinds of token are neither taken nor given: invalid_request', async () => {
    const { access_token } = await tokensOf(user, orders);
    const jwt = 'urn:ietf:params:oauth:token-type:jwt';
    for (const fields of [
      { subject_token_type: jwt },
      { requested_token_type: jwt },
      { actor_token_type: access_token_type },
      { resource: '' },
    ])
      expect((await exchange(access_token, fields as Record<string, string>)).body.error).toBe('invalid_request');
    expect((await exchange(access_token, { requested_token_type: access_token_type })).status).toBe(200);
  });
});

import { beforeEach, describe, expect, test } from 'vitest';
import { updateClient } from '../../src/db/tables/clients.js';
import { revokeSessions } from '../../src/db/tables/sessions.js';
import { updateUser, type UserRow } from '../../src/db/tables/users.js';
import type { Browser } from '../support/browser.js';
import { addMachine, addClient, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { authorizeCode, basic, claimsOf, oauthPost, redeem, tokenRequest, type TokenAnswer } from '../support/oauth.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const client = shared(() => addClient(ctx, { id: 'client-a' }));
const other = shared(() => addClient(ctx, { id: 'client-b' }));
const spa = shared(() =>
  addClient(ctx, { id: 'client-spa', token_endpoint_auth_method: 'none', application_type: 'spa', require_pkce: true }),
);
const resource = shared(() => addResource(ctx));
const machine = shared(() => addMachine(ctx, resource, { id: 'machine' }));
let user: UserRow;
let browser: Browser;

beforeEach(async () => {
  user = await addUser(ctx);
  browser = await signedIn(service, user);
});

const refused = (answer: TokenAnswer) => [answer.status, answer.body.error];
const introspect = async (token: string, as: TestClient = client) =>
  (await oauthPost(service.url, '/oauth/introspect', as, { token })).body;
const machineToken = (fields: Record<string, string> = {}) =>
  tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: resource.identifier, ...fields });

describe('client authentication', () => {
  test('no client authentication is 401 invalid_client with a Basic challenge (attack 4.46)', async () => {
    const answer = await oauthPost(service.url, '/oauth/token', null, { grant_type: 'client_credentials', resource: resource.identifier });
    expect(refused(answer)).toEqual([401, 'invalid_client']);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('a challenge for who used the header or nothing at all, none after credentials in the body (specification 5.1.4)', async () => {
    const fields = { grant_type: 'client_credentials', resource: resource.identifier };
    const wrong = { ...machine, client_secret: 'wrong' };
    const byHeader = await oauthPost(service.url, '/oauth/token', wrong, fields);
    expect([...refused(byHeader), byHeader.headers.get('www-authenticate')]).toEqual([
      401,
      'invalid_client',
      expect.stringMatching(/^Basic /),
    ]);
    for (const body of [{ client_id: machine.id, client_secret: 'wrong' }, { client_id: machine.id }]) {
      const answer = await oauthPost(service.url, '/oauth/token', null, { ...fields, ...body });
      expect([...refused(answer), answer.headers.get('www-authenticate')]).toEqual([401, 'invalid_client', null]);
    }
  });

  test('client_credentials without resource: the identifiers that the client has grants for are named (specification 5.5.4)', async () => {
    const without = await tokenRequest(service.url, machine, { grant_type: 'client_credentials' });
    expect([...refused(without), without.body['error_description']]).toEqual([
      400,
      'invalid_request',
      `resource is required: this client has grants for ${resource.identifier}; if it can not send resource, set default_resource on the client`,
    ]);
    const bare = await addClient(await service.context(), { application_type: 'machine', grant_types: ['client_credentials'] });
    const none = await tokenRequest(service.url, bare, { grant_type: 'client_credentials' });
    expect(none.body['error_description']).toBe(
      'resource is required: this client has no grant for an API resource yet; if it can not send resource, set default_resource on the client',
    );
  });

  test.each(['application/json', 'text/plain', undefined])(
    'a body that is not form-encoded (%s) is told so before anything else (RFC 6749 3.2)',
    async (type) => {
      for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/par', '/oauth/device_authorization']) {
        const body = new TextEncoder().encode('{"grant_type":"client_credentials"}');
        const answer = await fetch(service.url + path, {
          method: 'POST',
          body,
          headers: type === undefined ? {} : { 'content-type': type },
        });
        expect([answer.status, await answer.json()]).toEqual([
          400,
          { error: 'invalid_request', error_description: expect.stringContaining('application/x-www-form-urlencoded') as string },
        ]);
      }
    },
  );

  test('credentials in the query are not honoured, and not logged (attack 4.48)', async () => {
    const query = new URLSearchParams({ client_id: machine.id, client_secret: machine.client_secret });
    const answer = await oauthPost(service.url, `/oauth/token?${query.toString()}`, null, {
      grant_type: 'client_credentials',
      resource: resource.identifier,
    });
    expect(refused(answer)).toEqual([401, 'invalid_client']);
    expect(service.log.join('\n')).not.toContain(machine.client_secret);
  });

  test('Basic and body credentials together are refused (attack 4.49)', async () => {
    const answer = await machineToken({ client_id: machine.id, client_secret: machine.client_secret });
    expect(refused(answer)).toEqual([400, 'invalid_request']);
  });

  test('form-encoded characters inside Basic credentials are decoded (attack 4.51)', async () => {
    const odd = await addMachine(ctx, resource, { id: 'odd:id %+' });
    expect(basic(odd)).not.toBe(`Basic ${Buffer.from(`odd:id %+:${odd.client_secret}`).toString('base64')}`);
    const answer = await tokenRequest(service.url, odd, { grant_type: 'client_credentials', resource: resource.identifier });
    expect(answer.status).toBe(200);
  });

  test('a confidential client that only names itself is refused (attack 4.52)', async () => {
    const answer = await oauthPost(service.url, '/oauth/token', null, {
      client_id: machine.id,
      grant_type: 'client_credentials',
      resource: resource.identifier,
    });
    expect(refused(answer)).toEqual([401, 'invalid_client']);
  });

  test('a secret that was rotated: both work for 24 h, then only the new one', async () => {
    const rotating = await addMachine(ctx, resource);
    const { digest } = await import('../../src/lib/digest.js');
    const until = new Date(service.clock.now().getTime() + 86_400_000);
    await updateClient(ctx.scope, rotating.id, {
      secret_digest: digest('cs_new'),
      previous_secret_digest: digest(rotating.client_secret),
      previous_secret_expires_at: until,
    });
    const ask = (secret: string) =>
      tokenRequest(
        service.url,
        { ...rotating, client_secret: secret },
        { grant_type: 'client_credentials', resource: resource.identifier },
      );
    expect((await ask('cs_new')).status).toBe(200);
    expect((await ask(rotating.client_secret)).status).toBe(200);
    service.clock.advance(86_400_000 + 1000);
    expect(refused(await ask(rotating.client_secret))).toEqual([401, 'invalid_client']);
    expect((await ask('cs_new')).status).toBe(200);
  });

  test('a disabled client is refused at once', async () => {
    const doomed = await addMachine(ctx, resource);
    const ask = () => tokenRequest(service.url, doomed, { grant_type: 'client_credentials', resource: resource.identifier });
    const { access_token } = (await ask()).body;
    await updateClient(ctx.scope, doomed.id, { status: 'disabled' });
    await expect.poll(async () => refused(await ask())).toEqual([401, 'invalid_client']);
    expect(await introspect(access_token)).toEqual({ active: false });
  });
});

describe('grant types', () => {
  test.each([
    ['', 'invalid_request'],
    ['password', 'unsupported_grant_type'],
    ['implicit', 'unsupported_grant_type'],
    ['constructor', 'unsupported_grant_type'],
  ])('grant_type %j is %s (attack 4.54)', async (grant_type, error) => {
    expect(refused(await tokenRequest(service.url, client, { grant_type }))).toEqual([400, error]);
  });

  test('a grant type that the client may not use is refused, and so is client_credentials by a public client (attack 4.55)', async () => {
    expect(refused(await tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: resource.identifier }))).toEqual([
      400,
      'unauthorized_client',
    ]);
    const bold = await addClient(ctx, { token_endpoint_auth_method: 'none', grant_types: ['client_credentials'], application_type: 'spa' });
    await addGrant(ctx, bold, resource);
    expect(refused(await tokenRequest(service.url, bold, { grant_type: 'client_credentials', resource: resource.identifier }))).toEqual([
      400,
      'unauthorized_client',
    ]);
  });

  test('client_credentials: resource missing, unknown, ungranted; scope beyond the grant; all granted when none is asked', async () => {
    const ask = (fields: Record<string, string>) => tokenRequest(service.url, machine, { grant_type: 'client_credentials', ...fields });
    expect(refused(await ask({}))).toEqual([400, 'invalid_request']);
    const unknown = await ask({ resource: 'https://unknown.example' });
    expect([...refused(unknown), unknown.body['error_description']]).toEqual([
      400,
      'invalid_target',
      `the resource https://unknown.example is unknown or not granted: this client has grants for ${resource.identifier}`,
    ]);
    const ungranted = await addResource(ctx, { identifier: 'https://api.example/ungranted' });
    expect(refused(await ask({ resource: ungranted.identifier }))).toEqual([400, 'invalid_target']);
    expect(refused(await ask({ resource: resource.identifier, scope: 'read admin' }))).toEqual([400, 'invalid_scope']);
    const all = await ask({ resource: resource.identifier });
    expect(all.body).toMatchObject({ scope: 'read write', expires_in: 600, token_type: 'Bearer' });
    expect(all.body.refresh_token).toBeUndefined();
    expect(claimsOf(all.body.access_token)).toMatchObject({
      iss: service.url,
      sub: machine.id,
      aud: resource.identifier,
      client_id: machine.id,
      scope: 'read write',
    });
    expect((await ask({ resource: resource.identifier, scope: 'read' })).body.scope).toBe('read');
  });

  test('an opaque resource gives an opaque token with its audience and lifetime', async () => {
    const opaque = await addResource(ctx, { identifier: 'https://api.example/opaque', token_format: 'opaque', access_token_lifetime: 120 });
    await addGrant(ctx, machine, opaque);
    const answer = await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: opaque.identifier });
    expect(answer.body.access_token).toMatch(/^at_/);
    expect(await introspect(answer.body.access_token)).toMatchObject({
      active: true,
      aud: opaque.identifier,
      client_id: machine.id,
      sub: machine.id,
    });
    service.clock.advance(121_000);
    expect(await introspect(answer.body.access_token)).toEqual({ active: false });
  });
});

describe('authorization codes', () => {
  test('a code presented by another client is refused, and burnt (attack 4.57)', async () => {
    const grant = await authorizeCode(browser, client);
    expect(refused(await redeem(service.url, { ...other, redirect_uris: client.redirect_uris }, grant))).toEqual([400, 'invalid_grant']);
    expect(refused(await redeem(service.url, client, grant))).toEqual([400, 'invalid_grant']);
  });

  test('a code is refused after its 60 seconds (attack 4.58)', async () => {
    const grant = await authorizeCode(browser, client);
    service.clock.advance(61_000);
    expect(refused(await redeem(service.url, client, grant))).toEqual([400, 'invalid_grant']);
  });

  test('another redirect_uri than at authorize is refused, and so is none (attack 2.37)', async () => {
    const grant = await authorizeCode(browser, client);
    expect(refused(await redeem(service.url, client, { ...grant, redirect_uri: '' }))).toEqual([400, 'invalid_request']);
    expect(refused(await redeem(service.url, client, { ...grant, redirect_uri: 'https://app.example/other' }))).toEqual([
      400,
      'invalid_grant',
    ]);
  });

  test('a verifier without a challenge is refused (attack 3.42)', async () => {
    const grant = await authorizeCode(browser, client, { code_challenge: '', code_challenge_method: '' });
    expect(refused(await redeem(service.url, client, grant))).toEqual([400, 'invalid_grant']);
  });

  test('a wrong verifier spends the code; the right one then fails too (attack 3.43)', async () => {
    const grant = await authorizeCode(browser, client);
    expect(refused(await redeem(service.url, client, { ...grant, verifier: 'x'.repeat(43) }))).toEqual([400, 'invalid_grant']);
    expect(refused(await redeem(service.url, client, grant))).toEqual([400, 'invalid_grant']);
  });

  test('a challenge without a verifier is refused', async () => {
    const { code, redirect_uri } = await authorizeCode(browser, client);
    expect(refused(await tokenRequest(service.url, client, { grant_type: 'authorization_code', code, redirect_uri }))).toEqual([
      400,
      'invalid_grant',
    ]);
  });

  test('a code that was changed is unknown (attack 4.61)', async () => {
    const grant = await authorizeCode(browser, client);
    const changed = [grant.code.slice(0, -1), grant.code.toUpperCase(), `${grant.code}x`, encodeURIComponent(`${grant.code}%20`)];
    for (const code of changed) expect(refused(await redeem(service.url, client, { ...grant, code }))).toEqual([400, 'invalid_grant']);
    expect((await redeem(service.url, client, grant)).status).toBe(200);
  });

  test('a code is refused once its user was blocked or its session has ended (attack 4.63)', async () => {
    const blocked = await authorizeCode(browser, client);
    await updateUser(ctx.scope, user.id, { status: 'blocked' });
    expect(refused(await redeem(service.url, client, blocked))).toEqual([400, 'invalid_grant']);
    await updateUser(ctx.scope, user.id, { status: 'active' });
    const ended = await authorizeCode(browser, client);
    await revokeSessions(ctx.scope, { user_id: user.id }, service.clock.now(), 'password_reset');
    expect(refused(await redeem(service.url, client, ended))).toEqual([400, 'invalid_grant']);
  });

  test('a resource that was not authorized is refused at the token step (attack 4.64)', async () => {
    const grant = await authorizeCode(browser, client);
    expect(refused(await redeem(service.url, client, grant, { resource: resource.identifier }))).toEqual([400, 'invalid_target']);
  });

  test('with resource: its audience, lifetime and format, and the permissions that the user holds', async () => {
    const grant = await authorizeCode(browser, client, { scope: 'openid read', resource: resource.identifier });
    const answer = await redeem(service.url, client, grant, { resource: resource.identifier });
    expect(answer.body).toMatchObject({ expires_in: 600, scope: 'openid read' });
    expect(claimsOf(answer.body.access_token)).toMatchObject({
      aud: resource.identifier,
      sub: user.id,
      permissions: [],
      client_id: client.id,
    });
  });

  test('SQL, NUL, emoji and lone surrogates are refused in every field, without a word of SQL (attack 4.67)', async () => {
    for (const value of ["' or 1=1 --", 'a\0b', '\u{1F600}', '%ED%A0%80', '\ufffd']) {
      for (const name of ['grant_type', 'code', 'redirect_uri', 'code_verifier', 'resource', 'scope', 'refresh_token', 'client_id']) {
        const answer = await tokenRequest(service.url, client, {
          grant_type: 'authorization_code',
          code: 'c',
          redirect_uri: 'r',
          [name]: value,
        });
        expect([400, 401]).toContain(answer.status);
        expect(JSON.stringify(answer.body)).not.toMatch(/select|syntax|postgres/i);
      }
    }
  });

  test('parameters sent twice, a body too large, another content type, another method', async () => {
    const send = (init: RequestInit) =>
      fetch(`${service.url}/oauth/token`, {
        method: 'POST',
        ...init,
        headers: { authorization: basic(machine), ...(init.headers as object) },
      });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await send({ body: 'grant_type=client_credentials&grant_type=client_credentials', headers: form })).status).toBe(400);
    expect((await send({ body: `grant_type=${'x'.repeat(70_000)}`, headers: form })).status).toBe(413);
    expect((await send({ body: '{"grant_type":"client_credentials"}', headers: { 'content-type': 'application/json' } })).status).toBe(400);
    expect((await send({ body: 'x=1', headers: { ...form, 'content-encoding': 'gzip' } })).status).toBe(415);
    const get = await fetch(`${service.url}/oauth/token`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  });
});

describe('refresh tokens', () => {
  const refresh = (as: TestClient, refresh_token: string | undefined, fields: Record<string, string> = {}) =>
    tokenRequest(service.url, as, { grant_type: 'refresh_token', refresh_token: refresh_token ?? '', ...fields });

  test("another client's refresh token is refused, and so is one without client authentication; the owner's still works (attack 5.69)", async () => {
    const { body } = await redeem(service.url, client, await authorizeCode(browser, client));
    expect(refused(await refresh(other, body.refresh_token))).toEqual([400, 'invalid_grant']);
    expect(
      refused(
        await oauthPost(service.url, '/oauth/token', null, { grant_type: 'refresh_token', refresh_token: body.refresh_token as string }),
      ),
    ).toEqual([401, 'invalid_client']);
    expect((await refresh(client, body.refresh_token)).status).toBe(200);
    expect(refused(await refresh(client, undefined))).toEqual([400, 'invalid_request']);
  });

  test('a rotated token within 30 s gives the same successor; later the whole grant is dead (attack 5.70)', async () => {
    const { body } = await redeem(service.url, spa, await authorizeCode(browser, spa));
    const first = await refresh(spa, body.refresh_token);
    const retry = await refresh(spa, body.refresh_token);
    expect(first.body.refresh_token).not.toBe(body.refresh_token);
    expect(retry.body.refresh_token).toBe(first.body.refresh_token);
    service.clock.advance(31_000);
    expect(refused(await refresh(spa, body.refresh_token))).toEqual([400, 'invalid_grant']);
    expect(refused(await refresh(spa, first.body.refresh_token))).toEqual([400, 'invalid_grant']);
    for (const token of [body.access_token, first.body.access_token, retry.body.access_token])
      expect(await introspect(token)).toEqual({ active: false });
  });

  test('a confidential client keeps its token until 70 % of its life is over', async () => {
    const { body } = await redeem(service.url, client, await authorizeCode(browser, client, { scope: 'openid offline_access' }));
    expect((await refresh(client, body.refresh_token)).body.refresh_token).toBe(body.refresh_token);
    service.clock.advance(ctx.environment.refresh_token_idle_lifetime * 1000 * 0.75);
    const late = await refresh(client, body.refresh_token);
    expect(late.status).toBe(200);
    expect(late.body.refresh_token).not.toBe(body.refresh_token);
  });

  test('after a revocation and a refresh at the same instant nothing of the grant is active (attack 5.72)', async () => {
    for (let round = 0; round < 5; round++) {
      const { body } = await redeem(service.url, spa, await authorizeCode(browser, spa));
      const token = body.refresh_token as string;
      const [refreshed] = await Promise.all([refresh(spa, token), oauthPost(service.url, '/oauth/revoke', spa, { token })]);
      const later = [token, ...(refreshed.body.refresh_token ? [refreshed.body.refresh_token] : [])];
      for (const value of later) expect(refused(await refresh(spa, value))).toEqual([400, 'invalid_grant']);
      if (refreshed.status === 200) expect(await introspect(refreshed.body.access_token)).toEqual({ active: false });
    }
  });

  test('a wider scope is refused, a narrower one given without changing the grant, another resource refused (attack 5.73)', async () => {
    const { body } = await redeem(service.url, client, await authorizeCode(browser, client, { scope: 'openid profile' }));
    expect(refused(await refresh(client, body.refresh_token, { scope: 'openid profile email' }))).toEqual([400, 'invalid_scope']);
    expect((await refresh(client, body.refresh_token, { scope: 'openid' })).body.scope).toBe('openid');
    expect((await refresh(client, body.refresh_token)).body.scope).toBe('openid profile');
    expect(refused(await refresh(client, body.refresh_token, { resource: resource.identifier }))).toEqual([400, 'invalid_target']);
  });

  test('a refresh past the absolute lifetime is refused (attack 5.75)', async () => {
    const short = await addClient(ctx, { refresh_token_lifetime: 1000 });
    const { body } = await redeem(service.url, short, await authorizeCode(browser, short, { scope: 'openid offline_access' }));
    service.clock.advance(900_000);
    const rotated = await refresh(short, body.refresh_token);
    expect(rotated.status).toBe(200);
    service.clock.advance(101_000);
    expect(refused(await refresh(short, rotated.body.refresh_token))).toEqual([400, 'invalid_grant']);
  });

  test('without the refresh grant there is no refresh token, whatever the scope (attack 5.76)', async () => {
    const plain = await addClient(ctx, { grant_types: ['authorization_code'] });
    const { body } = await redeem(service.url, plain, await authorizeCode(browser, plain, { scope: 'openid offline_access' }));
    expect(body).not.toHaveProperty('refresh_token');
    expect(body['scope']).toBe('openid');
  });

  test('a revoked token is still dead after a restart (attack 5.78)', async () => {
    const { body } = await redeem(service.url, spa, await authorizeCode(browser, spa));
    await oauthPost(service.url, '/oauth/revoke', spa, { token: body.refresh_token as string });
    const again = await startTestService(
      {},
      { database: { url: service.databaseUrl, secretKey: service.secretKey }, clock: service.clock },
    );
    try {
      const answer = await tokenRequest(again.url, spa, { grant_type: 'refresh_token', refresh_token: body.refresh_token as string });
      expect(refused(answer)).toEqual([400, 'invalid_grant']);
    } finally {
      await again.stop();
    }
  });

  test('a session lifetime that became shorter ends the refresh tokens of older sessions, unless offline_access was granted (attack 13.145)', async () => {
    const bound = await redeem(service.url, client, await authorizeCode(browser, client));
    const offline = await redeem(service.url, client, await authorizeCode(browser, client, { scope: 'openid offline_access' }));
    const environments = () => ctx.db.knex('environments').where({ id: ctx.environment.id });
    const isActive = async () => (await introspect(bound.body.refresh_token ?? '')).active;
    service.clock.advance(301_000);
    expect(await isActive()).toBe(true);
    await environments().update({ session_lifetime: 300 });
    try {
      await expect.poll(isActive).toBe(false);
      expect(refused(await refresh(client, bound.body.refresh_token))).toEqual([400, 'invalid_grant']);
      expect((await refresh(client, offline.body.refresh_token)).status).toBe(200);
    } finally {
      await environments().update({ session_lifetime: 2_592_000 });
    }
    await expect.poll(isActive).toBe(true);
    expect((await refresh(client, bound.body.refresh_token)).status).toBe(200);
  });

  test('a session that ended ends its refresh tokens, unless offline_access was granted', async () => {
    const bound = await redeem(service.url, client, await authorizeCode(browser, client));
    const offline = await redeem(service.url, client, await authorizeCode(browser, client, { scope: 'openid offline_access' }));
    await browser.submit('/logout', {});
    expect(refused(await refresh(client, bound.body.refresh_token))).toEqual([400, 'invalid_grant']);
    expect((await refresh(client, offline.body.refresh_token)).status).toBe(200);
  });
});

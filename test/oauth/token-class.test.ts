// What tokens and introspection say of a sign-in (RFC 9470 6), and what a refresh may still give.
import { beforeEach, describe, expect, test } from 'vitest';
import { updateApiResource } from '../../src/db/tables/api_resources.js';
import { updateClient, type ClientRow } from '../../src/db/tables/clients.js';
import { updateUser } from '../../src/db/tables/users.js';
import type { SessionProof } from '../../src/domain/proofs/proofs.js';
import { permit } from '../support/administrators.js';
import { addClient, addGrant, addResource, addUser } from '../support/data.js';
import { authorizeCode, claimsOf, oauthPost, redeem, tokenRequest, type TokenAnswer } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { addUserWith, proofsNow, proveMore, setEnvironment, signedInBy } from '../support/signed-in.js';
import type { Browser } from '../support/browser.js';

const service = sharedService();
const ctx = contextOf(service);
const client = shared(() => addClient(ctx));
const opaque = shared(() => addResource(ctx, { identifier: 'https://opaque.example', token_format: 'opaque' }));
beforeEach(() => setEnvironment(service, { second_factor_policy: 'optional', second_factor_grace_lifetime: 0 }));

const earlier = (proofs: readonly SessionProof[], seconds: number): SessionProof[] =>
  proofs.map((proof) => ({ ...proof, at: new Date(new Date(proof.at).getTime() - seconds * 1000).toISOString() }));
const epoch = (proof: SessionProof | undefined) => Math.floor(new Date(proof?.at ?? 0).getTime() / 1000);
const kinds = ['passkey', 'recovery_codes', 'totp'] as const;
const person = (...of: ('passkey' | 'recovery_codes' | 'totp')[]) => addUserWith(ctx, of);
const tokensOf = async (browser: Browser, extra: Record<string, string> = {}, from = client) =>
  (await redeem(service.url, from, await authorizeCode(browser, from, extra))).body;
const refresh = (body: TokenAnswer['body'], from = client) =>
  tokenRequest(service.url, from, { grant_type: 'refresh_token', refresh_token: body.refresh_token as string });
const introspected = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', client, { token })).body;

describe('the class that a token states', () => {
  test.each([
    [['password'], '', '1', ['pwd']],
    [['password'], 'phr 2', '1', ['pwd']],
    [['email'], '', '1', ['otp']],
    [['password', 'device'], '', '1', ['pwd']],
    [['password', 'email'], '', '1', ['pwd', 'otp']],
    [['email', 'totp'], '', '1', ['otp']],
    [['password', 'totp'], '', '2', ['pwd', 'otp', 'mfa']],
    [['password', 'recovery_code'], '', '2', ['pwd', 'otp', 'mfa']],
    [['password', 'totp'], '1', '1', ['pwd', 'otp']],
    [['password', 'totp'], '1 2', '2', ['pwd', 'otp', 'mfa']],
    [['password', 'totp'], '2 urn:x', '2', ['pwd', 'otp', 'mfa']],
    [['passkey'], '', 'phr', ['pop', 'user', 'mfa']],
    [['passkey'], '2', '2', ['pop', 'user', 'mfa']],
    [['passkey'], '1 2', '2', ['pop', 'user', 'mfa']],
    [['passkey'], 'phrh', 'phr', ['pop', 'user', 'mfa']],
    [['password', 'passkey'], 'phr', 'phr', ['pwd', 'pop', 'user', 'mfa']],
  ] as const)('%j, asked for "%s": acr %s', async (methods, acr_values, acr, amr) => {
    const user = await addUser(ctx);
    // Two-step off: what isn't a second step isn't asked for here.
    await updateUser(ctx.scope, user.id, { authenticator_kinds: [], two_step_enabled: false });
    const body = await tokensOf(await signedInBy(service, user, proofsNow(ctx, ...methods)), acr_values === '' ? {} : { acr_values });
    expect(claimsOf(body.id_token as string)).toMatchObject({ acr, amr });
  });

  test('a class that the client or the API resource requires counts as asked for', async () => {
    const app = await addClient(ctx, { required_acr: '2' });
    const browser = await signedInBy(service, await person(...kinds), proofsNow(ctx, 'passkey'));
    expect(claimsOf((await tokensOf(browser, {}, app)).id_token as string)['acr']).toBe('2');
    expect(claimsOf((await tokensOf(browser, { acr_values: 'phr' }, app)).id_token as string)['acr']).toBe('phr');
  });

  test('auth_time is the oldest proof that the class rests on', async () => {
    const [pwd] = earlier(proofsNow(ctx, 'password'), 900);
    const [totp] = earlier(proofsNow(ctx, 'totp'), 60);
    const [passkey] = proofsNow(ctx, 'passkey');
    const user = await person(...kinds);
    const times = async (proofs: (SessionProof | undefined)[], extra = {}) =>
      claimsOf((await tokensOf(await signedInBy(service, user, proofs as SessionProof[]), extra)).id_token as string)['auth_time'];
    expect(await times([pwd, totp])).toBe(epoch(pwd));
    expect(await times([pwd, totp, passkey])).toBe(epoch(passkey));
    expect(await times([pwd, totp, passkey], { acr_values: '2' })).toBe(epoch(pwd));
  });
});

describe('access tokens', () => {
  test('a JWT, an opaque token and what introspection says of both agree, after a refresh too (RFC 9470 6)', async () => {
    const jwt = await addResource(ctx, { identifier: 'https://jwt.example' });
    const proofs = earlier(proofsNow(ctx, 'password', 'totp'), 30);
    const browser = await signedInBy(service, await person('totp'), proofs);
    const said = { acr: '2', amr: ['pwd', 'otp', 'mfa'], auth_time: epoch(proofs[0]) };
    for (const { identifier } of [jwt, opaque]) {
      const body = await tokensOf(browser, { resource: identifier, scope: 'openid read' });
      const again = (await refresh(body)).body;
      for (const token of [body.access_token, again.access_token]) {
        if (identifier === jwt.identifier) expect(claimsOf(token)).toMatchObject(said);
        expect(await introspected(token)).toMatchObject({ active: true, ...said });
      }
      expect(claimsOf(again.id_token as string)).toMatchObject(said);
    }
  });

  test('a client’s own token has no class', async () => {
    const machine = await addClient(ctx, { grant_types: ['client_credentials'] });
    await addGrant(ctx, machine, opaque);
    const { body } = await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: opaque.identifier });
    const said = await introspected(body.access_token);
    expect(said['active']).toBe(true);
    for (const name of ['acr', 'amr', 'auth_time']) expect(said).not.toHaveProperty(name);
  });
});

describe('a refresh', () => {
  const change = async (row: ClientRow, changes: Partial<ClientRow>) => {
    await updateClient(ctx.scope, row.id, changes);
    ctx.cache.invalidate(ctx.environment.id, 'clients');
  };

  test('moves neither acr nor auth_time, whatever was proven in the session since (attack 25.587)', async () => {
    const browser = await signedInBy(service, await person('totp'), earlier(proofsNow(ctx, 'password', 'device'), 100));
    const first = await tokensOf(browser);
    await proveMore(service, browser, proofsNow(ctx, 'totp'));
    const again = await refresh(first);
    const [before, after] = [claimsOf(first.id_token as string), claimsOf(again.body.id_token as string)];
    expect([after['acr'], after['auth_time'], after['amr']]).toEqual(['1', before['auth_time'], before['amr']]);
    expect(claimsOf((await tokensOf(browser)).id_token as string)['acr']).toBe('2');
  });

  test('below the class that client or API resource require by now is refused, and done again once they don’t (attack 25.588)', async () => {
    const app = await addClient(ctx);
    const resource = await addResource(ctx, { identifier: 'https://later.example' });
    const browser = await signedInBy(service, await person('totp'), proofsNow(ctx, 'password', 'totp'));
    const asked = { resource: resource.identifier, scope: 'openid read' };
    const [weak, strong] = [await tokensOf(browser, { ...asked, acr_values: '1' }, app), await tokensOf(browser, asked, app)];
    const refused = async (body: TokenAnswer['body']) => {
      const answer = await refresh(body, app);
      return answer.status === 200 ? null : [answer.status, answer.body.error];
    };
    await change(app, { required_acr: '2' });
    expect([await refused(weak), await refused(strong)]).toEqual([[400, 'invalid_grant'], null]);
    await change(app, { required_acr: null });
    expect(await refused(weak)).toBeNull();
    await updateApiResource(ctx.scope, resource.id, { required_acr: 'phr' });
    ctx.cache.invalidate(ctx.environment.id, 'api_resources');
    expect([await refused(weak), await refused(strong)]).toEqual([
      [400, 'invalid_grant'],
      [400, 'invalid_grant'],
    ]);
  });

  test('of a sign-in that is older than max_authentication_age is refused', async () => {
    const app = await addClient(ctx);
    const body = await tokensOf(await signedInBy(service, await person(), earlier(proofsNow(ctx, 'password'), 500)), {}, app);
    await change(app, { max_authentication_age: 600 });
    expect((await refresh(body, app)).status).toBe(200);
    service.clock.advance(101_000);
    const answer = await refresh(body, app);
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant']);
    service.clock.advance(-101_000);
  });

  describe('under a policy', () => {
    const refused = async (body: TokenAnswer['body']) => (await refresh(body)).body.error ?? null;

    test('that requires a second factor is refused to who took none, and to who has none (attack 25.589)', async () => {
      const sessions = {
        none: await signedInBy(service, await person(), proofsNow(ctx, 'password')),
        untouched: await signedInBy(service, await person('passkey'), proofsNow(ctx, 'password')),
        taken: await signedInBy(service, await person('totp'), proofsNow(ctx, 'password', 'totp')),
        remembered: await signedInBy(service, await person('totp'), proofsNow(ctx, 'password', 'device')),
      };
      const bodies = Object.fromEntries(
        await Promise.all(Object.entries(sessions).map(async ([name, browser]) => [name, await tokensOf(browser)])),
      );
      await setEnvironment(service, { second_factor_policy: 'required' });
      const outcome = Object.fromEntries(
        await Promise.all(Object.entries(bodies).map(async ([name, body]) => [name, await refused(body as TokenAnswer['body'])])),
      );
      expect(outcome).toEqual({ none: 'invalid_grant', untouched: 'invalid_grant', taken: null, remembered: null });
    });

    test('for people with Management permissions concerns nobody else', async () => {
      const [other, administrator] = [await person(), await person()];
      await permit(ctx, administrator.id, 'users:read');
      const bodies = await Promise.all(
        [other, administrator].map(async (user) => tokensOf(await signedInBy(service, user, proofsNow(ctx, 'password')))),
      );
      await setEnvironment(service, { second_factor_policy: 'required_for_management' });
      expect(await Promise.all(bodies.map(refused))).toEqual([null, 'invalid_grant']);
    });

    test('goes by the class in the token once the session is gone', async () => {
      const offline = { scope: 'openid offline_access' };
      const bodies = [];
      for (const methods of [['password'], ['password', 'totp']] as const) {
        const browser = await signedInBy(service, await person('recovery_codes'), proofsNow(ctx, ...methods));
        bodies.push(await tokensOf(browser, offline));
        await ctx.db.knex('sessions').where({ id: browser.session_id }).delete();
      }
      expect(await Promise.all(bodies.map(refused))).toEqual([null, null]);
      await setEnvironment(service, { second_factor_policy: 'required' });
      expect(await Promise.all(bodies.map(refused))).toEqual(['invalid_grant', null]);
    });

    test('works in the time to enrol', async () => {
      const body = await tokensOf(await signedInBy(service, await person(), proofsNow(ctx, 'password')));
      await setEnvironment(service, { second_factor_policy: 'required', second_factor_grace_lifetime: 3600 });
      expect(await refused(body)).toBeNull();
      service.clock.advance(3_700_000);
      expect(await refused(body)).toBe('invalid_grant');
      service.clock.advance(-3_700_000);
    });

    test('the person’s own two-step, begun on another device, ends no application', async () => {
      const user = await person();
      const body = await tokensOf(await signedInBy(service, user, proofsNow(ctx, 'password')));
      await updateUser(ctx.scope, user.id, { authenticator_kinds: ['totp'], two_step_enabled: true });
      expect(await refused(body)).toBeNull();
    });
  });
});

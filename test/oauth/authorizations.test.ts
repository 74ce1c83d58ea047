// What acts for a person (specification 19.5): what ends with it, and what is blocked.
import { beforeAll, describe, expect, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { blockClient, unblockClient, withdrawConsent } from '../../src/domain/grants/authorizations.js';
import { findAuthorization } from '../../src/db/tables/authorizations.js';
import { deviceCodeGrantType, tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { askForAssertion, bring, postToB, scripted, sharedAssertionWorld, signInToApp } from '../support/assertions.js';
import { authorizeGet, authorizeQuery } from '../support/authorize.js';
import { locationParameters } from '../support/browser.js';
import { addClient, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { answerDevice, startDevice, typeUserCode } from '../support/device.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const world = sharedAssertionWorld(service);
const access_token_type = 'urn:ietf:params:oauth:token-type:access_token';
const grant_types = ['authorization_code', 'refresh_token', deviceCodeGrantType, tokenExchangeGrantType];
const app = shared(() => addClient(ctx, { grant_types }));
const middle = shared(() => addClient(ctx, { grant_types }));
const last = shared(() => addClient(ctx, { grant_types }));
const [orders, stock] = ['https://orders.example', 'https://stock.example'].map((identifier) => shared(() => addResource(ctx, { identifier, token_format: identifier.includes('stock') ? 'opaque' : 'jwt' }))) as [Awaited<ReturnType<typeof addResource>>, Awaited<ReturnType<typeof addResource>>]; // prettier-ignore
const user = shared(() => addUser(ctx));
let browser: Awaited<ReturnType<typeof signedIn>>;

beforeAll(async () => {
  const subject_audiences = [orders.identifier, stock.identifier];
  for (const client of [middle, last])
    for (const resource of [orders, stock])
      await addGrant(ctx, client, resource, ['read'], 'user', { token_exchange: 'delegation', subject_audiences });
  browser = await signedIn(service, user);
});

const pair = (client: TestClient) => ({ user_id: user.id, client_id: client.id });
const end = (client: TestClient) => transaction(ctx, (tx) => withdrawConsent(tx, user.id, client.id));
const block = (client: TestClient) => transaction(ctx, (tx) => blockClient(tx, pair(client), 'person'));
const unblock = (client: TestClient) => transaction(ctx, (tx) => unblockClient(tx, pair(client), 'person'));
async function tokensOf(client: TestClient, scope = 'openid read offline_access') {
  const code = await authorizeCode(browser, client, { resource: orders.identifier, scope });
  return (await redeem(service.url, client, code)).body as { access_token: string; refresh_token: string };
}
const exchange = (client: TestClient, subject_token: string, resource = stock) =>
  tokenRequest(service.url, client, { grant_type: tokenExchangeGrantType, subject_token, subject_token_type: access_token_type, resource: resource.identifier }); // prettier-ignore
const exchanged = async (client: TestClient, subject: string, resource = stock) =>
  (await exchange(client, subject, resource)).body.access_token;
const isActive = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', app, { token })).body.active;
const refresh = (client: TestClient, refresh_token: string) =>
  tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token });

describe('it comes about', () => {
  test('with codes, exchanges and consents, and says what for, by whom, and when it was used, at most hourly', async () => {
    const client = await addClient(ctx, { grant_types });
    const { refresh_token } = await tokensOf(client, 'openid read');
    const found = await findAuthorization(ctx.scope, pair(client));
    expect(found).toMatchObject({ origin: 'administrator', resource_scopes: { [orders.identifier]: ['openid', 'read'] } });
    service.clock.advance(1_000);
    expect((await refresh(client, refresh_token)).status).toBe(200);
    expect((await findAuthorization(ctx.scope, pair(client)))?.last_used_at).toEqual(found?.last_used_at);
    service.clock.advance(3_700_000);
    expect((await refresh(client, refresh_token)).status).toBe(200);
    expect((await findAuthorization(ctx.scope, pair(client)))?.last_used_at).not.toEqual(found?.last_used_at);
    await tokensOf(client, 'openid write');
    const wider = (await findAuthorization(ctx.scope, pair(client)))?.resource_scopes[orders.identifier];
    expect(new Set(wider)).toEqual(new Set(['openid', 'read', 'write']));
    const { access_token } = await tokensOf(app);
    await exchange(middle, access_token);
    expect(await findAuthorization(ctx.scope, pair(middle))).toMatchObject({ origin: 'administrator' });
  });
});

describe('revoking ends', () => {
  test('grants, and all that others exchanged for them', async () => {
    const { access_token, refresh_token } = await tokensOf(app);
    const chain = [access_token, await exchanged(middle, access_token)];
    chain.push(await exchanged(last, chain[1] as string, orders));
    for (const token of chain) expect(await isActive(token)).toBe(true);
    await end(app);
    for (const token of chain) expect(await isActive(token)).toBe(false);
    expect((await refresh(app, refresh_token)).body.error).toBe('invalid_grant');
    expect(await findAuthorization(ctx.scope, pair(app))).toBeNull();
  });

  test('of one in between what it got and what others got for that, and no more', async () => {
    const { access_token } = await tokensOf(app);
    const between = await exchanged(middle, access_token);
    const beyond = await exchanged(last, between, orders);
    const opaque = await exchanged(last, between);
    const aside = await exchanged(last, access_token);
    await end(middle);
    expect(await Promise.all([access_token, between, beyond, opaque, aside].map(isActive))).toEqual([true, false, false, false, true]);
    service.clock.advance(1_000);
    expect(await isActive(await exchanged(middle, access_token))).toBe(true);
  });

  test('what is exchanged at that very moment too (attack 53.1640)', async () => {
    const { access_token } = await tokensOf(app);
    const between = await exchanged(middle, access_token);
    const [answers] = await Promise.all([Promise.all(Array.from({ length: 8 }, (_, n) => exchange(last, n % 2 === 0 ? between : access_token, orders))), end(app)]); // prettier-ignore
    for (const { body } of answers) if (body.access_token) expect(await isActive(body.access_token)).toBe(false);
  });
});

describe('whoever is blocked', () => {
  test('is told access_denied at the authorization endpoint, first-party or not (attack 53.1641)', async () => {
    for (const first_party of [true, false]) {
      const client = await addClient(ctx, { first_party, grant_types });
      const ask = (more = {}) => authorizeGet(browser, authorizeQuery(client, { scope: 'openid', ...more }));
      if (first_party) await tokensOf(client, 'openid');
      else await ctx.db.knex('consents').insert({ environment_id: ctx.environment.id, id: user.id, user_id: user.id, client_id: client.id, scopes: ['openid'], resource_scopes: { '': ['openid'] }, resources: [], granted_at: ctx.clock.now(), updated_at: ctx.clock.now() }); // prettier-ignore
      await block(client);
      for (const more of [{}, { prompt: 'none' }, { prompt: 'consent' }])
        expect(locationParameters(await ask(more)).get('error')).toBe('access_denied');
      await unblock(client);
      expect(locationParameters(await ask({ prompt: 'none' })).get('error')).toBe(first_party ? null : 'consent_required');
    }
  });

  test('gets nothing for codes, refresh tokens and devices: invalid_grant (attack 53.1642)', async () => {
    const client = await addClient(ctx, { grant_types });
    const { refresh_token } = await tokensOf(client);
    const code = await authorizeCode(browser, client, { scope: 'openid' });
    const device = await startDevice(service.url, client, { scope: 'openid' });
    expect((await answerDevice(browser, device.user_code)).status).toBe(200);
    const late = await startDevice(service.url, client, { scope: 'openid' });
    await block(client);
    const poll = (device_code: string) => tokenRequest(service.url, client, { grant_type: deviceCodeGrantType, device_code });
    const answers = [await refresh(client, refresh_token), await redeem(service.url, client, code), await poll(device.device_code)];
    expect(answers.map(({ body }) => body.error)).toEqual(['invalid_grant', 'invalid_grant', 'invalid_grant']);
    const page = await typeUserCode(browser, late.user_code);
    expect([page.status, await page.text()]).toEqual([403, expect.stringContaining('is blocked for your account')]);
    expect((await poll(late.device_code)).body.error).toBe('authorization_pending');
    // What was ended stays ended.
    await unblock(client);
    expect((await refresh(client, refresh_token)).body.error).toBe('invalid_grant');
  });

  test('gets nothing for what was on its way at that moment, which nothing has ended', async () => {
    const client = await addClient(ctx, { grant_types });
    const { refresh_token } = await tokensOf(client);
    const code = await authorizeCode(browser, client, { scope: 'openid' });
    const device = await startDevice(service.url, client, { scope: 'openid' });
    expect((await answerDevice(browser, device.user_code)).status).toBe(200);
    await ctx.db.knex('authorizations').where(pair(client)).update({ blocked_at: ctx.clock.now(), blocked_by: 'person' });
    const answers = [
      await refresh(client, refresh_token),
      await redeem(service.url, client, code),
      await tokenRequest(service.url, client, { grant_type: deviceCodeGrantType, device_code: device.device_code }),
    ];
    expect(answers.map(({ body }) => body.error)).toEqual(['invalid_grant', 'invalid_grant', 'invalid_grant']);
  });

  test('exchanges nothing, and nothing is exchanged for what it has (attack 53.1643)', async () => {
    const { access_token } = await tokensOf(app);
    const between = await exchanged(middle, access_token);
    const beyond = await exchanged(last, between, orders);
    await block(middle);
    expect((await exchange(middle, access_token)).body.error).toBe('invalid_grant');
    expect((await exchange(last, between, orders)).status).toBe(400);
    expect(await Promise.all([between, beyond].map(isActive))).toEqual([false, false]);
    await unblock(middle);
    expect(await isActive(between)).toBe(false);
    service.clock.advance(1_000);
    expect((await exchange(middle, access_token)).status).toBe(200);
  });

  test('gets no assertions of the person, and redeems none (attack 53.1644)', async () => {
    const { a, b } = world;
    const { id_token, refresh_token } = await signInToApp(service, world);
    const fields = [{ subject_token: id_token }, { subject_token: refresh_token, subject_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }]; // prettier-ignore
    for (const one of fields) expect((await askForAssertion(service, world, one)).status).toBe(200);
    const out = { user_id: world.user.id, client_id: world.app.id };
    await transaction(a, (tx) => blockClient(tx, out, 'person'));
    for (const one of fields) expect((await askForAssertion(service, world, one)).body.error).toBe('invalid_grant');
    await transaction(a, (tx) => unblockClient(tx, out, 'person'));
    for (const one of fields) expect((await askForAssertion(service, world, one)).body.error).toBe('invalid_grant');

    const { access_token } = (await bring(service, world, await scripted(world))).body;
    const inwards = { user_id: world.person.id, client_id: world.client.id };
    expect(await findAuthorization(b.scope, inwards)).toMatchObject({ origin: 'administrator' });
    const asker = await addClient(b, { grant_types: ['client_credentials'], introspection_allowed: true });
    const introspect = async () => (await postToB(service, world, '/oauth/introspect', asker, { token: access_token })).body.active;
    expect(await introspect()).toBe(true);
    await transaction(b, (tx) => blockClient(tx, inwards, 'administrator'));
    expect(await introspect()).toBe(false);
    expect((await bring(service, world, await scripted(world))).body.error).toBe('invalid_grant');
  });

  test('by an administrator, isn’t the person’s to let in again (attack 53.1650)', async () => {
    const client = await addClient(ctx, { grant_types });
    await tokensOf(client);
    await transaction(ctx, (tx) => blockClient(tx, pair(client), 'administrator'));
    await block(client);
    expect(await unblock(client)).toBeNull();
    expect(await transaction(ctx, (tx) => unblockClient(tx, pair(client), 'administrator'))).toMatchObject({ blocked_at: null });
  });
});

// Authorization details (RFC 9396) where the client has no browser: of a device (RFC 8628), and asked of a person elsewhere (CIBA Core 1.0).
import * as client from 'openid-client';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deleteDetailType, updateDetailType, type AuthorizationDetailTypeRow } from '../../src/db/tables/authorization_detail_types.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { transaction } from '../../src/domain/context.js';
import { noOrigin } from '../../src/domain/origin.js';
import { approvalPathIn, asking, askOf, decide, freshlySignedIn, pollApproval } from '../support/approvals.js';
import { accounts, addType, paymentFields, paymentSentence } from '../support/authorization-details.js';
import { csrfOf, type Browser } from '../support/browser.js';
import { addClient, addResource, addUser, type TestClient } from '../support/data.js';
import { deviceCode, pollDevice, questionOf, startDevice, typeUserCode } from '../support/device.js';
import { claimsOf, oauthPost, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const types = ['payment', 'archive', 'errand'];
const bank = shared(() => addResource(ctx, { identifier: 'https://bank.example', token_format: 'jwt' }));
const shop = shared(() => addResource(ctx, { identifier: 'https://shop.example', token_format: 'opaque' }));
const any = { ...asking, backchannel_users: 'any' as const, first_party: false, authorization_details_types: types };
const agent = shared(() => addClient(ctx, { ...any, name: 'Acme Assistant' }));
const tv = shared(() => addClient(ctx, { name: 'Acme TV', grant_types: [deviceCode, 'refresh_token'], first_party: false, authorization_details_types: types })); // prettier-ignore
const plain = shared(() => addClient(ctx, { ...any, grant_types: [...asking.grant_types, deviceCode], authorization_details_types: [] }));
let user: UserRow;
let payments: AuthorizationDetailTypeRow;

const payment = { type: 'payment', amount: { currency: 'EUR', amount: '123.50' }, payee: 'Muster GmbH' };
const archive = { type: 'archive', accounts: ['DE01', 'DE02'] };
const errand = { type: 'errand', accounts: ['x'] };
const json = JSON.stringify;
const asked = (details: unknown, resource: { identifier: string } = bank) => ({
  scope: 'openid read',
  resource: resource.identifier,
  authorization_details: typeof details === 'string' ? details : json(details),
});
const introspect = async (by: TestClient, token: string) => (await oauthPost(service.url, '/oauth/introspect', by, { token })).body;
const refresh = (by: TestClient, refresh_token: string | undefined, details?: unknown) =>
  tokenRequest(service.url, by, { grant_type: 'refresh_token', refresh_token: refresh_token ?? '', ...(details !== undefined && { authorization_details: json(details) }) }); // prettier-ignore

beforeAll(async () => {
  payments = await addType(ctx, bank, 'payment', { fields: paymentFields, sentence: paymentSentence });
  await addType(ctx, bank, 'archive', { fields: [accounts], sentence: { en: 'Read statements of {accounts}' }, remember: true });
  await addType(ctx, shop, 'errand', { fields: [accounts], sentence: { en: 'Go to {accounts}' } });
});
beforeEach(async () => {
  user = await addUser(ctx);
});

describe('asked elsewhere (CIBA Core 1.0)', () => {
  const ask = (details: unknown, resource?: { identifier: string }) =>
    askOf(service.url, agent, { login_hint: user.email, ...asked(details, resource) });
  /** The person's page, once they have signed in since the question. */
  const page = async (): Promise<[Browser, string]> => {
    const path = await approvalPathIn(service.url, user);
    service.clock.advance(1000);
    return [await freshlySignedIn(service, user), path];
  };
  /** Something that the client has had of the person before, so that it is among their applications. */
  const withAuthorization = (user_id: string) =>
    transaction(ctx, (tx) => giveConsent(tx, { user_id, client_id: agent.id, scopes: ['openid'], resource: null, details: [] }, noOrigin));
  const poll = (id: string, fields: Record<string, string> = {}) => pollApproval(service.url, agent, id, fields);

  test('the page says each as a sentence in the language of the person, without a box, and refusing comes first (specification 22.2.2)', async () => {
    await ask([payment, { ...archive, accounts: ['<b>x</b>'] }]);
    const [browser, path] = await page();
    const html = await (await browser.get(path)).text();
    expect(html).toContain('Pay \u2068€123.50\u2069 to \u2068Muster GmbH\u2069 on –');
    expect(html).toContain('Read statements of \u2068&lt;b&gt;x&lt;/b&gt;\u2069');
    expect(html).toContain('You approve all of it, or nothing:');
    expect(html).not.toContain('name="detail_0"');
    expect(html.indexOf('id="deny"')).toBeLessThan(html.indexOf('id="allow"'));
    const german = await (await browser.get(path, { 'accept-language': 'de' })).text();
    expect(german).toContain('lang="de" dir="ltr">\u2068123,50\u00a0€\u2069 am –');
  });

  test('the event and the lists of what waits say the same sentences, in the language of the person (specification 22.2.1)', async () => {
    await ctx.db.knex('users').where({ id: user.id }).update({ locale: 'de-AT' });
    await ask([payment, { ...archive, accounts: ['<b>x</b>'] }]);
    const [browser, path] = await page();
    const said = ['\u2068123,50\u00a0€\u2069 am – an \u2068Muster GmbH\u2069 zahlen', 'Read statements of \u2068<b>x</b>\u2069'];
    const event = (await ctx.db.knex('events').where('body', 'like', `%${path}%`).first()) as { body: string };
    expect(JSON.parse(event.body)['data']).toMatchObject({ user_id: user.id, details: said });
    const escaped = said.map((one) => one.replaceAll('<', '&lt;').replaceAll('>', '&gt;'));
    for (const list of ['/account', '/account/applications']) {
      if (list !== '/account') await withAuthorization(user.id);
      const html = await (await browser.get(list)).text();
      for (const one of escaped) expect([list, html]).toEqual([list, expect.stringContaining(`>${one}</li>`)]);
      expect(html).toContain('lang="de" dir="ltr">\u2068123,50');
    }
    const data = (await (await browser.get('/account', { accept: 'application/json' })).json()) as { approvals: object[] };
    const english = 'Pay \u2068€123.50\u2069 to \u2068Muster GmbH\u2069 on –';
    expect(data.approvals).toMatchObject([{ details: [{ lang: 'en', text: english }, { text: said[1] }] }]);
    await updateDetailType(ctx.scope, payments.id, { status: 'disabled' });
    expect(await (await browser.get('/account')).text()).not.toContain('Muster GmbH');
    await updateDetailType(ctx.scope, payments.id, { status: 'enabled' });
  });

  test('without details the event and the list have none', async () => {
    await askOf(service.url, agent, { login_hint: user.id });
    const [browser, path] = await page();
    const event = (await ctx.db.knex('events').where('body', 'like', `%${path}%`).first()) as { body: string };
    expect(JSON.parse(event.body)['data']).toMatchObject({ details: [] });
    const data = (await (await browser.get('/account', { accept: 'application/json' })).json()) as { approvals: object[] };
    expect(data.approvals).toMatchObject([{ details: [] }]);
  });

  test('what was approved is in the token answer, the token, at introspection, and after a refresh, all of it (attack 58.1788)', async () => {
    const id = await ask([payment, archive]);
    const [browser, path] = await page();
    // Boxes of a forged form count for nothing.
    expect((await decide(browser, path, 'allow', { detail_0: 'on' })).status).toBe(200);
    const { body } = await poll(id);
    const all = [payment, archive];
    expect([body['authorization_details'], claimsOf(body.access_token)['authorization_details']]).toEqual([all, all]);
    expect((await introspect(agent, body.access_token))['authorization_details']).toEqual(all);
    expect((await introspect(agent, body.refresh_token ?? ''))['authorization_details']).toEqual(all);
    const refreshed = (await refresh(agent, body.refresh_token)).body;
    expect([refreshed['authorization_details'], claimsOf(refreshed.access_token)['authorization_details']]).toEqual([all, all]);
    const list = (await (await browser.get('/account/applications')).text()).replaceAll(/\s+/g, ' ');
    expect(list).toContain('Pay \u2068€123.50\u2069 to \u2068Muster GmbH\u2069 on –');
  });

  test('an opaque token tells them by introspection; without any there are none', async () => {
    const id = await ask([errand], shop);
    const [browser, path] = await page();
    await decide(browser, path, 'allow');
    const { access_token } = (await poll(id)).body;
    expect((await introspect(agent, access_token))['authorization_details']).toEqual([errand]);
    const bare = await askOf(service.url, agent, { login_hint: user.id, resource: bank.identifier });
    const [again, other] = await page();
    await decide(again, other, 'allow');
    const { body } = await poll(bare);
    expect(body).not.toHaveProperty('authorization_details');
    expect(claimsOf(body.access_token)).not.toHaveProperty('authorization_details');
  });

  test('refusing gives nothing, and nothing is remembered of an approval: a type that is remembered is asked about again', async () => {
    const refused = await ask([archive]);
    const [browser, path] = await page();
    expect((await decide(browser, path, 'deny')).status).toBe(200);
    expect((await poll(refused)).body.error).toBe('access_denied');
    await ask([archive]);
    const [next, again] = await page();
    await decide(next, again, 'allow');
    expect(await ctx.db.knex('consents').where({ user_id: user.id })).toEqual([]);
  });

  test('the Management API keeps what was asked, and an approval of it is in the trail', async () => {
    await ask([payment]);
    const [browser, path] = await page();
    await decide(browser, path, 'allow');
    const row = (await ctx.db
      .knex('approvals')
      .where({ id: path.split('/').at(-1) })
      .first()) as Record<string, unknown>;
    expect(row['authorization_details']).toEqual([payment]);
    const entry = (await ctx.db.knex('audit_logs').where({ action: 'approval.decided', actor_id: user.id }).first()) as Record<
      string,
      unknown
    >;
    expect(JSON.stringify(entry)).toContain('Muster GmbH');
  });

  test('openid-client asks, and reads them in the token answer', async () => {
    const config = await client.discovery(new URL(service.url), agent.id, agent.client_secret, undefined, {
      execute: [client.allowInsecureRequests],
    });
    const started = await client.initiateBackchannelAuthentication(config, { login_hint: user.email, ...asked([payment, archive]) });
    const [browser, path] = await page();
    await decide(browser, path, 'allow');
    const tokens = await client.pollBackchannelAuthenticationGrant(config, { ...started, interval: 0 });
    expect(tokens.authorization_details).toEqual([payment, archive]);
  });
});

describe('of a device (RFC 8628)', () => {
  const start = (details: unknown, resource?: { identifier: string }) => startDevice(service.url, tv, asked(details, resource));
  async function answer(user_code: string, ticked: number[], more: Record<string, string> = {}): Promise<Response> {
    const browser = await signedIn(service, user);
    const html = await (await typeUserCode(browser, user_code)).text();
    const boxes = Object.fromEntries(ticked.map((index) => [`detail_${index}`, 'on']));
    return browser.post('/device/answer', { ...questionOf(html), decision: 'allow', ...boxes, ...more });
  }
  const poll = (device_code: string, fields: Record<string, string> = {}) => pollDevice(service.url, tv, device_code, fields);

  test('the page says each as a sentence with a box', async () => {
    const { user_code } = await start([payment, archive]);
    const html = await (await typeUserCode(await signedIn(service, user), user_code)).text();
    expect(html).toContain('Pay \u2068€123.50\u2069 to \u2068Muster GmbH\u2069 on –');
    expect(html.match(/type="checkbox" form="device-approval" name="detail_[01]" value="on" checked/g)).toHaveLength(2);
  });

  test('gives what was ticked alone: in the token answer, the token, at introspection, and after a refresh (attack 58.1788)', async () => {
    for (const [ticked, allowed] of [
      [[1], [archive]],
      [
        [0, 1],
        [payment, archive],
      ],
      [[], []],
      [[2, 5], []],
    ] as const) {
      const { device_code, user_code } = await start([payment, archive]);
      expect((await answer(user_code, [...ticked])).status).toBe(200);
      const { body } = await poll(device_code);
      expect([body['authorization_details'], claimsOf(body.access_token)['authorization_details']]).toEqual([allowed, allowed]);
      expect((await introspect(tv, body.refresh_token ?? ''))['authorization_details']).toEqual(allowed);
      expect((await refresh(tv, body.refresh_token)).body['authorization_details']).toEqual(allowed);
    }
  });

  test('an opaque token tells them by introspection; what is remembered is not asked about at the next sign-in', async () => {
    const { device_code, user_code } = await start([errand], shop);
    await answer(user_code, [0]);
    expect((await introspect(tv, (await poll(device_code)).body.access_token))['authorization_details']).toEqual([errand]);
    await answer((await start([payment, archive])).user_code, [0, 1]);
    const row = (await ctx.db.knex('consents').where({ user_id: user.id, client_id: tv.id }).first()) as Record<string, unknown>;
    expect(row['authorization_details']).toMatchObject([{ detail: archive }]);
  });

  test('openid-client starts, and reads them in the token answer', async () => {
    const config = await client.discovery(new URL(service.url), tv.id, tv.client_secret, undefined, {
      execute: [client.allowInsecureRequests],
    });
    const started = await client.initiateDeviceAuthorization(config, asked([payment, archive]));
    await answer(started.user_code, [0]);
    const tokens = await client.pollDeviceAuthorizationGrant(config, { ...started, interval: 0 });
    expect(tokens.authorization_details).toEqual([payment]);
  });
});

describe('both', () => {
  const refusals: [string, Record<string, string | undefined>][] = [
    ['no JSON', { authorization_details: '[{' }],
    ['an unknown type', { authorization_details: '[{"type":"transfer"}]' }],
    ['a type of another resource', { authorization_details: json([errand]) }],
    ['no resource', { resource: undefined }],
    ['an unknown field', { authorization_details: json([{ ...payment, urgent: true }]) }],
    ['a field less', { authorization_details: json([{ type: 'payment', payee: 'x' }]) }],
    ['an amount beyond max', { authorization_details: json([{ ...payment, amount: { currency: 'EUR', amount: '500.01' } }]) }],
    ['eleven objects', { authorization_details: json(Array.from({ length: 11 }, () => payment)) }],
    [
      'more than 8 KiB',
      { authorization_details: json([{ ...archive, accounts: Array.from({ length: 900 }, (_o, at) => `DE${at}-0000`) }]) },
    ],
  ];
  const send = (path: string, by: TestClient, fields: Record<string, string | undefined>) =>
    oauthPost(service.url, path, by, Object.fromEntries(Object.entries({ ...asked([payment]), ...fields }).filter((one): one is [string, string] => one[1] !== undefined))); // prettier-ignore

  test.for(refusals)('with %s the request is invalid_authorization_details (attack 58.1780)', async ([, fields]) => {
    const elsewhere = await send('/oauth/backchannel_authentication', agent, { login_hint: user.email, ...fields });
    const device = await send('/oauth/device_authorization', tv, fields);
    for (const { status, body } of [elsewhere, device]) expect([status, body.error]).toEqual([400, 'invalid_authorization_details']);
  });

  test('a client that may ask for no type is refused (attack 58.1780)', async () => {
    const elsewhere = await send('/oauth/backchannel_authentication', plain, { login_hint: user.email });
    const device = await send('/oauth/device_authorization', plain, {});
    for (const { status, body } of [elsewhere, device]) expect([status, body.error]).toEqual([400, 'invalid_authorization_details']);
  });

  test('a question gives less where less is asked for, and no more; what is refused spends nothing (attack 58.1790)', async () => {
    const less = [{ ...payment, amount: { currency: 'EUR', amount: '10' } }];
    const auth_req_id = await askOf(service.url, agent, { login_hint: user.email, ...asked([payment, archive]) });
    const path = await approvalPathIn(service.url, user);
    service.clock.advance(1000);
    await decide(await freshlySignedIn(service, user), path, 'allow');
    const { device_code, user_code } = await startDevice(service.url, tv, asked([payment, archive]));
    const browser = await signedIn(service, user);
    const html = await (await typeUserCode(browser, user_code)).text();
    await browser.post('/device/answer', { ...questionOf(html), decision: 'allow', detail_0: 'on', detail_1: 'on' });
    const elsewhere = (authorization_details: string) => pollApproval(service.url, agent, auth_req_id, { authorization_details });
    const device = (authorization_details: string) => pollDevice(service.url, tv, device_code, { authorization_details });
    for (const [poll, by] of [[elsewhere, agent], [device, tv]] as const) {
      for (const wider of [[{ ...payment, payee: 'Mallory' }], [{ ...payment, amount: { currency: 'EUR', amount: '124' } }], [payment, payment], [errand]])
        expect((await poll(json(wider))).body.error).toBe('invalid_authorization_details');
      const { body } = await poll(json(less));
      expect([body['authorization_details'], claimsOf(body.access_token)['authorization_details']]).toEqual([less, less]);
      expect((await refresh(by, body.refresh_token)).body['authorization_details']).toEqual([payment, archive]);
    }
  }); // prettier-ignore

  test('what waits for an answer is judged as its type is then: changed, disabled or gone, nobody is asked (attack 58.1789)', async () => {
    const type = await addType(ctx, bank, 'passing', { fields: [accounts], sentence: { en: 'Pass {accounts}' } });
    const by = await addClient(ctx, { ...any, grant_types: [...asking.grant_types, deviceCode], authorization_details_types: ['passing'] });
    const detail = { type: 'passing', accounts: ['x', 'y'] };
    const auth_req_id = await askOf(service.url, by, { login_hint: user.email, ...asked([detail]) });
    const { device_code, user_code } = await startDevice(service.url, by, asked([detail]));
    const path = await approvalPathIn(service.url, user);
    service.clock.advance(1000);
    const browser = await freshlySignedIn(service, user);
    const approval = await (await browser.get(path)).text();
    const html = await (await typeUserCode(browser, user_code)).text();
    const answers = () => [
      browser.get(path),
      browser.post(path, { _csrf: csrfOf(approval), decision: 'allow' }),
      typeUserCode(browser, user_code),
      browser.post('/device/answer', { ...questionOf(html), decision: 'allow', detail_0: 'on' }),
    ];
    for (const changes of [{ fields: [{ ...accounts, max: 1 }] }, { status: 'disabled' as const }]) {
      await updateDetailType(ctx.scope, type.id, changes);
      for (const response of await Promise.all(answers())) {
        expect(response.status).toBe(400);
        expect(await response.text()).toContain('What the application requested is no longer available.');
      }
      await updateDetailType(ctx.scope, type.id, { fields: [accounts], status: 'enabled' });
    }
    const [, approved, , allowed] = await Promise.all(answers());
    expect([approved?.status, allowed?.status]).toEqual([200, 200]);
    service.clock.advance(1000);
    await deleteDetailType(ctx.scope, type.id);
    await addType(ctx, bank, 'passing', { fields: [accounts], sentence: { en: 'Something else: {accounts}' } });
    expect((await pollApproval(service.url, by, auth_req_id)).body['authorization_details']).toEqual([]);
    expect((await pollDevice(service.url, by, device_code)).body['authorization_details']).toEqual([]);
  });
});

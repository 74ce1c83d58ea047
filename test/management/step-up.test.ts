// People's writes through the Management API and the dashboard take a sign-in of a class, a moment ago (RFC 9470).
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import type { SessionProof } from '../../src/domain/proofs/proofs.js';
import { permit } from '../support/administrators.js';
import { csrfOf, locationParameters, type Browser } from '../support/browser.js';
import { addClient, addUser } from '../support/data.js';
import { Api, link, manage, type ApiAnswer } from '../support/management.js';
import { allowCode, redeem, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { addUserWith, proofsNow, proveMore, setEnvironment, signedInBy } from '../support/signed-in.js';

const service = sharedManagedService();
let administrator: UserRow;

const ctx = contextOf(service);
const machine = shared(() => manage(service.url));
const console_ = shared(() => addClient(ctx));

beforeAll(async () => {
  const management = (await machine.get(`/api_resources?filter[identifier]=${service.url}/api`)).body['data'][0] as { id: string };
  const relationships = { client: link('client', console_.id), api_resource: link('api_resource', management.id) };
  await machine.create('client_grants', { scopes: [...managementPermissions], subject_type: 'user' }, relationships);
  administrator = await addUserWith(ctx, ['recovery_codes', 'totp']);
  await permit(ctx, administrator.id, ...managementPermissions);
});
beforeEach(() =>
  setEnvironment(service, {
    management_required_acr: null,
    second_factor_policy: 'optional',
    confirmation_lifetime: 600,
    second_factor_grace_lifetime: 0,
  }),
);

const by = (...methods: Parameters<typeof proofsNow>[1][]) => signedInBy(service, administrator, proofsNow(ctx, ...methods));
const aged = (proofs: readonly SessionProof[], seconds: number): SessionProof[] =>
  proofs.map((proof) => ({ ...proof, at: new Date(new Date(proof.at).getTime() - seconds * 1000).toISOString() }));
const scope = managementPermissions.join(' ');
const tokensOf = async (browser: Browser, extra: Record<string, string> = {}) =>
  (await redeem(service.url, console_, await allowCode(browser, console_, { resource: `${service.url}/api`, scope, ...extra }))).body;
const apiOf = async (browser: Browser) => new Api(service.url, (await tokensOf(browser)).access_token);
let made = 0;
const write = (api: Api) => api.attempt('roles', { name: `Role ${++made}` });
const outcome = (answer: ApiAnswer) =>
  answer.status < 300 ? answer.status : [answer.status, answer.body['errors'][0].code, answer.headers.get('www-authenticate')];
const challenge = (acr: string, max_age = 600) => [
  401,
  'insufficient_user_authentication',
  `Bearer resource_metadata="${service.url}/.well-known/oauth-protected-resource/api", realm="api", error="insufficient_user_authentication", acr_values="${acr}", max_age="${max_age}"`,
];

describe('the Management API', () => {
  test('challenges a person’s write below the class, by every method; reads and clients’ tokens are free (RFC 9470 3)', async () => {
    await setEnvironment(service, { management_required_acr: '2' });
    const api = await apiOf(await by('password', 'device'));
    const role = await machine.create('roles', { name: 'Target' });
    const document = { data: { type: 'role', id: role['id'], attributes: { name: 'Renamed' } } };
    for (const refused of [
      await write(api),
      await api.patch(`/roles/${role['id']}`, document),
      await api.delete(`/roles/${role['id']}`),
      await api.post(`/roles/${role['id']}/relationships/users`, { data: [] }),
      await api.patch(`/users/${administrator.id}/block`),
    ]) {
      expect(outcome(refused)).toEqual(challenge('2'));
      expect(refused.body['errors'][0].meta).toEqual({ acr_values: '2', max_age: 600 });
    }
    expect((await api.get('/roles')).status).toBe(200);
    expect((await write(machine)).status).toBe(201);
    expect((await write(await apiOf(await by('password', 'totp')))).status).toBe(201);
  });

  test('a refused write is in the audit log', async () => {
    await setEnvironment(service, { management_required_acr: 'phr' });
    expect(outcome(await write(await apiOf(await by('password', 'totp'))))).toEqual(challenge('phr'));
    const denied = { outcome: 'denied', actor_id: administrator.id, action: 'role.created' };
    expect(await ctx.db.knex('audit_logs').where(denied).first('reason')).toEqual({ reason: 'insufficient_user_authentication' });
  });

  test.each(['required', 'required_for_management'] as const)('the policy %s demands class 2', async (second_factor_policy) => {
    const weak = await apiOf(await by('password', 'device'));
    expect((await write(weak)).status).toBe(201);
    await setEnvironment(service, { second_factor_policy });
    expect(outcome(await write(weak))).toEqual(challenge('2'));
    await setEnvironment(service, { second_factor_policy, management_required_acr: 'phr' });
    expect(outcome(await write(weak))).toEqual(challenge('phr'));
  });

  test('the time to enrol is no time to write in', async () => {
    const newcomer = await addUser(ctx);
    await permit(ctx, newcomer.id, ...managementPermissions);
    await setEnvironment(service, { second_factor_policy: 'required', second_factor_grace_lifetime: 86_400 });
    const api = await apiOf(await signedInBy(service, newcomer, proofsNow(ctx, 'password')));
    expect([outcome(await write(api)), (await api.get('/roles')).status]).toEqual([challenge('2'), 200]);
  });

  test('the class was reached within confirmation_lifetime: every proof that it rests on', async () => {
    await setEnvironment(service, { management_required_acr: '2', confirmation_lifetime: 1200 });
    const old = await signedInBy(service, administrator, [...aged(proofsNow(ctx, 'password'), 1201), ...proofsNow(ctx, 'totp')]);
    expect(outcome(await write(await apiOf(old)))).toEqual(challenge('2', 1200));
    const api = await apiOf(await by('password', 'totp'));
    service.clock.advance(600_000);
    expect((await write(api)).status).toBe(201);
    service.clock.advance(601_000);
    expect(outcome(await write(api))).toEqual(challenge('2', 1200));
    service.clock.advance(-1_201_000);
  });

  test('a token is as strong as it says: a step-up of the session and a refresh change nothing of it (attack 25.594)', async () => {
    await setEnvironment(service, { management_required_acr: '2' });
    const browser = await by('password', 'device');
    const stolen = await tokensOf(browser, { scope: `${scope} openid` });
    await proveMore(service, browser, proofsNow(ctx, 'totp'));
    expect(outcome(await write(new Api(service.url, stolen.access_token)))).toEqual(challenge('2'));
    const refreshed = await tokenRequest(service.url, console_, {
      grant_type: 'refresh_token',
      refresh_token: stolen.refresh_token as string,
    });
    expect(outcome(await write(new Api(service.url, refreshed.body.access_token)))).toEqual(challenge('2'));
    expect((await write(await apiOf(browser))).status).toBe(201);
  });

  test('one’s own sign-in methods take a fresh second factor where two-step is on (attack 25.644)', async () => {
    const own = await addUser(ctx);
    await permit(ctx, own.id, ...managementPermissions);
    const of = (proofs: readonly SessionProof[]) => signedInBy(service, own, proofs);
    const whole = proofsNow(ctx, 'password', 'totp');
    const attributes = { kind: 'totp', secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' };
    const factor = (await machine.create('authenticators', attributes, { user: link('user', own.id) }))['id'] as string;
    const moved = (user_id: string) => ({ data: { type: 'authenticator', attributes, relationships: { user: link('user', user_id) } } });
    for (const proofs of [proofsNow(ctx, 'password', 'device'), aged(whole, 601)]) {
      const api = await apiOf(await of(proofs));
      for (const refused of [
        await api.post('/authenticators', moved(own.id)),
        await api.delete(`/authenticators/${factor}`),
        await api.patch(`/users/${own.id}/reset_authenticators`),
      ])
        expect(outcome(refused)).toEqual(challenge('2'));
      expect((await api.post('/authenticators', moved((await addUser(ctx)).id))).status).toBe(201);
    }
    expect((await (await apiOf(await of(whole))).delete(`/authenticators/${factor}`)).status).toBe(204);
  });

  test('an Idempotency-Key brings back no answer without the class', async () => {
    const browser = await by('password', 'totp');
    const api = await apiOf(browser);
    const repeat = () => api.post('/roles', { data: { type: 'role', attributes: { name: 'Once' } } }, { 'idempotency-key': 'k-1' });
    expect((await repeat()).status).toBe(201);
    await setEnvironment(service, { management_required_acr: 'phr' });
    expect(outcome(await repeat())).toEqual(challenge('phr'));
  });
});

describe('the dashboard', () => {
  const form = { name: 'A role with a long name', description: 'Typed with care' };
  const openForm = async (browser: Browser) => {
    const page = await browser.get('/dashboard/roles/new');
    return page.status === 200 ? csrfOf(await page.text()) : '';
  };

  test('asks for the class where something is changed, and holds the form (attack 25.595)', async () => {
    await setEnvironment(service, { management_required_acr: '2' });
    const browser = await by('password', 'device');
    const _csrf = await openForm(browser);
    const asked = await browser.post('/dashboard/roles', { ...form, _csrf });
    const html = await asked.text();
    expect(asked.status).toBe(422);
    for (const value of Object.values(form)) expect(html).toContain(value);
    expect(await ctx.db.knex('roles').where({ name: form.name })).toEqual([]);
    await proveMore(service, browser, proofsNow(ctx, 'totp'));
    expect((await browser.post('/dashboard/roles', { ...form, _csrf: await openForm(browser) })).status).toBe(303);
    expect(await ctx.db.knex('roles').where({ name: form.name })).toHaveLength(1);
  });

  test('a confirmation lasts for confirmation_lifetime; reading is free', async () => {
    await setEnvironment(service, { management_required_acr: '2' });
    const browser = await signedInBy(service, administrator, aged(proofsNow(ctx, 'password', 'totp'), 601));
    const _csrf = await openForm(browser);
    expect(_csrf).not.toBe('');
    expect((await browser.post('/dashboard/roles', { name: 'Late', _csrf })).status).toBe(422);
  });

  test('a session that is older than two-step or policy takes the step before it sees a page (attack 25.584)', async () => {
    const to = async (browser: Browser) => {
      const response = await browser.get('/dashboard/roles?page=2');
      const parameters = response.status === 303 ? locationParameters(response) : new URLSearchParams();
      return [response.status, response.headers.get('location')?.split('?')[0], parameters.get('acr_values'), parameters.get('return_to')];
    };
    expect(await to(await by('password'))).toEqual([303, '/login/verify', '1', '/dashboard/roles?page=2']);
    expect((await to(await by('password', 'device')))[0]).toBe(200);
    const plain = await addUser(ctx);
    await permit(ctx, plain.id, 'roles:read');
    const old = await signedInBy(service, plain, proofsNow(ctx, 'password'));
    expect((await to(old))[0]).toBe(200);
    await setEnvironment(service, { second_factor_policy: 'required_for_management' });
    expect(await to(old)).toEqual([303, '/login/enroll', '2', '/dashboard/roles?page=2']);
  });

  test('a form of such a session is held, too', async () => {
    const remembered = await by('password', 'device');
    const _csrf = await openForm(remembered);
    const session = { id: remembered.session_id };
    await ctx.db
      .knex('sessions')
      .where(session)
      .update({ proofs: JSON.stringify(proofsNow(ctx, 'password')) });
    const asked = await remembered.post('/dashboard/roles', { ...form, name: 'Held', _csrf });
    expect([asked.status, (await asked.text()).includes('Typed with care')]).toEqual([422, true]);
  });

  test('without a demand nothing is asked, as ever', async () => {
    const browser = await signedInBy(service, administrator, aged(proofsNow(ctx, 'password', 'totp'), 6000));
    const _csrf = await openForm(browser);
    expect((await browser.post('/dashboard/roles', { name: 'As ever', _csrf })).status).toBe(303);
  });
});

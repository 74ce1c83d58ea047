// What a provider says signs in only whom it has been proven for, as it is now: whoever leads a connection elsewhere becomes nobody.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { identityDeciding } from '../../src/domain/connections/reach.js';
import { listIdentities } from '../../src/domain/connections/identities.js';
import { findConnection, updateConnection, type ConnectionRow } from '../../src/db/tables/connections.js';
import { findUserByEmailKey, type UserRow } from '../../src/db/tables/users.js';
import { uuidv7 } from '../../src/lib/random.js';
import { insertRole, listRoleNamesOfUser } from '../../src/db/tables/roles.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection, providerSecret } from '../support/connections.js';
import { addUser, password } from '../support/data.js';
import { mailTo } from '../support/mailbox.js';
import { manage, type Api } from '../support/management.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { codeOf, loginThrough, throughProvider, startAt } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedManagedService();
const ctx = contextOf(service);
let honest: ScriptedUpstream;
let evil: ScriptedUpstream;
let admin: Api;
let narrow: Api;
let connection: ConnectionRow;
let user: UserRow;

beforeAll(async () => {
  [honest, evil] = [await ScriptedUpstream.start(), await ScriptedUpstream.start()];
  admin = await manage(service.url);
  narrow = await manage(service.url, 'connections:read connections:write');
});
afterAll(async () => {
  await honest?.close();
  await evil?.close();
});

const patch = (api: Api, id: string, attributes: object) => api.update('connections', id, attributes);
const login = (browser = new Browser(service.url)) => loginThrough(browser, connection);
const hasSession = (browser: Browser) => browser.cookies.has('idp_session');
const linkOf = (html: string) => /name="link" value="([^"]+)"/.exec(html)?.[1] ?? '';

/** A person who has signed in through the connection, linked by the password. */
beforeEach(async () => {
  const attributes = {
    name: `corp-${uuidv7(Date.now())}`, display_name: 'Corp', strategy: 'oidc', issuer: honest.url, provider_client_id: 'the-service', provider_client_secret: providerSecret,
  }; // prettier-ignore
  const { id } = await narrow.create('connections', attributes);
  connection = (await findConnection(ctx.scope, id as string)) as ConnectionRow;
  user = await addUser(ctx);
  honest.claims = { sub: user.id, email: user.email, email_verified: true };
  evil.claims = { ...honest.claims };
  const browser = new Browser(service.url);
  const asked = await login(browser);
  const html = await asked.text();
  expect((await browser.post('/auth/sso/link', { _csrf: csrfOf(html), link: linkOf(html), password })).status).toBe(303);
  expect((await login()).status).toBe(303);
});

describe('a connection that is led to another server', () => {
  test('signs nobody in: the account proves itself once more, and from then on it does again (attack 22.235)', async () => {
    expect((await patch(narrow, connection.id, { issuer: evil.url, provider_client_secret: providerSecret })).status).toBe(200);
    const browser = new Browser(service.url);
    const asked = await login(browser);
    const html = await asked.text();
    expect([asked.status, hasSession(browser)]).toEqual([200, false]);
    expect(html).toContain('Since you connected Corp, its settings changed or your email address was confirmed');
    const form = { _csrf: csrfOf(html), link: linkOf(html) };
    for (const wrong of [
      { email: user.email, password: 'wrong' },
      { email: 'other@example.com', password },
      { email: '', password },
    ]) {
      const refused = await browser.post('/auth/sso/link', { ...form, ...wrong });
      expect([refused.status, hasSession(browser)]).toEqual([401, false]);
    }
    expect(await listIdentities(ctx, user.id)).toMatchObject([{ proven: false }]);
    const proven = await browser.post('/auth/sso/link', { ...form, email: user.email, password });
    expect([proven.status, hasSession(browser)]).toEqual([303, true]);
    expect(await listIdentities(ctx, user.id)).toMatchObject([{ proven: true, generation: 2 }]);
    expect((await login()).status).toBe(303);
    const subjects = (await mailTo(service.url, user.email)).map(({ subject }) => subject);
    expect(subjects.filter((subject) => subject.includes('with Corp'))).toHaveLength(2);
  });

  test('the page names nobody: it says what the provider says, not whose account it is', async () => {
    await patch(narrow, connection.id, { issuer: evil.url, provider_client_secret: providerSecret });
    evil.claims = { sub: user.id, email: 'evil@evil.example', email_verified: true };
    const html = await (await login()).text();
    expect(html).not.toContain(user.email);
    expect(html).toContain('value="evil@evil.example"');
  });

  test("another's password, even with that person's own address, proves nothing", async () => {
    await patch(narrow, connection.id, { issuer: evil.url, provider_client_secret: providerSecret });
    const stranger = await addUser(ctx);
    const browser = new Browser(service.url);
    const html = await (await login(browser)).text();
    const refused = await browser.post('/auth/sso/link', { _csrf: csrfOf(html), link: linkOf(html), email: stranger.email, password });
    expect([refused.status, hasSession(browser)]).toEqual([401, false]);
  });

  test('there and back again, disabled and enabled, leaves the links void (attack 22.235)', async () => {
    await patch(narrow, connection.id, { issuer: evil.url, provider_client_secret: providerSecret });
    await patch(narrow, connection.id, { issuer: honest.url, provider_client_secret: providerSecret, status: 'disabled' });
    await patch(narrow, connection.id, { status: 'enabled' });
    const browser = new Browser(service.url);
    expect([(await login(browser)).status, hasSession(browser)]).toEqual([200, false]);
  });

  test('deleted and made anew, it has no links, and asks', async () => {
    expect((await narrow.delete(`/connections/${connection.id}`)).status).toBe(204);
    connection = await addConnection(ctx, { issuer: evil.url, account_linking: 'ask', name: connection.name });
    const browser = new Browser(service.url);
    const answer = await login(browser);
    expect([answer.status, hasSession(browser)]).toEqual([200, false]);
    expect(await answer.text()).toContain('There’s already an account');
  });

  test('a form that was opened before the change proves nothing after it', async () => {
    await patch(narrow, connection.id, { issuer: evil.url, provider_client_secret: providerSecret });
    const browser = new Browser(service.url);
    const html = await (await login(browser)).text();
    await patch(narrow, connection.id, { issuer: honest.url, provider_client_secret: providerSecret });
    const fields = { _csrf: csrfOf(html), link: linkOf(html), email: user.email, password };
    const late = await browser.post('/auth/sso/link', fields);
    expect([late.status, await codeOf(late), hasSession(browser)]).toEqual([400, 'sso_state_mismatch', false]);
  });

  test('is connected again from the account page by whoever is signed in another way', async () => {
    await patch(narrow, connection.id, { issuer: evil.url, provider_client_secret: providerSecret });
    const browser = await signedIn(service, user);
    const html = await (await browser.get('/account')).text();
    expect(html).toContain('Reconnect Corp');
    const leaving = await browser.post(`/auth/sso/${connection.id}/connect`, { _csrf: csrfOf(html) });
    const back = await throughProvider(new URL((leaving.headers.get('refresh') as string).replace('0; url=', '')));
    expect((await browser.get(back.pathname + back.search)).status).toBe(303);
    expect(await listIdentities(ctx, user.id)).toMatchObject([{ proven: true }]);
    expect((await login()).status).toBe(303);
  });

  test('the API tells which links are void', async () => {
    await patch(narrow, connection.id, { provider_client_id: 'another' });
    const of = async (proven: boolean) =>
      (await admin.get(`/identities?filter[connection]=${connection.id}&filter[proven]=${proven}`)).body['data'] as unknown[];
    expect([await of(true), await of(false)]).toMatchObject([[], [{ attributes: { proven: false } }]]);
    expect((await admin.get(`/connections/${connection.id}`)).body['data'].attributes).toMatchObject({ generation: 2 });
  });
});

const changes: Record<(typeof identityDeciding)[number], Partial<ConnectionRow>> = {
  strategy: { strategy: 'oauth2' },
  issuer: { issuer: 'https://evil.example' },
  authorization_endpoint: { authorization_endpoint: 'https://evil.example' },
  token_endpoint: { token_endpoint: 'https://evil.example' },
  userinfo_endpoint: { userinfo_endpoint: 'https://evil.example' },
  jwks_uri: { jwks_uri: 'https://evil.example' },
  provider_client_id: { provider_client_id: 'another' },
  claim_mapping: { claim_mapping: { sub: 'email' } },
};
test.each(identityDeciding)(
  'a change of %s raises the generation, and so voids the links; writing the same value does not',
  async (name) => {
    const generation = async (row: Partial<ConnectionRow>) => (await updateConnection(ctx.scope, connection.id, row))?.generation;
    expect(await generation({ [name]: connection[name] })).toBe(1);
    expect(await generation({ display_name: 'Other', domains: ['corp.example'], generation: 7 })).toBe(1);
    expect(await generation(changes[name])).toBe(2);
    expect(await generation({ [name]: connection[name], generation: 1 })).toBe(3);
    expect(await listIdentities(ctx, user.id)).toMatchObject([{ proven: false }]);
  },
);

test('the last usable way in is none that is void', async () => {
  await ctx.db.knex('users').where({ id: user.id }).update({ password_hash: null });
  const other = await addConnection(ctx, { issuer: honest.url });
  expect((await loginThrough(new Browser(service.url), other)).status).toBe(303);
  await patch(narrow, connection.id, { issuer: evil.url, provider_client_secret: providerSecret });
  const usable = (await listIdentities(ctx, user.id)).find(({ connection_id }) => connection_id === other.id);
  expect((await admin.delete(`/identities/${usable?.id}`)).status).toBe(409);
});

describe('new people of a connection', () => {
  const join = async (made: ConnectionRow) => {
    const email = `new-${uuidv7(Date.now())}@people.example`;
    honest.claims = { sub: email, email, email_verified: true };
    expect((await loginThrough(new Browser(service.url), made)).status).toBe(303);
    const person = (await findUserByEmailKey(ctx.scope, email)) as UserRow;
    return { email_verified: person.email_verified, roles: await listRoleNamesOfUser(ctx.scope, person.id) };
  };

  test('that somebody with connections:write made: no verified address, and no role that administers (attack 22.236)', async () => {
    const stamps = { created_at: ctx.clock.now(), updated_at: ctx.clock.now() };
    await insertRole(ctx.scope, { id: uuidv7(Date.now()), name: 'member', is_default: true, ...stamps });
    const role = await admin.create('roles', { name: 'desk', is_default: true });
    const [permission] = (await admin.get('/permissions?filter[name]=users:read')).body['data'] as { id: string }[];
    const given = await admin.post(`/roles/${role['id']}/relationships/permissions`, {
      data: [{ type: 'permission', id: permission?.id }],
    });
    expect(given.status).toBeLessThan(300);
    expect(connection.trusted).toBe(false);
    expect(await join(connection)).toEqual({ email_verified: false, roles: ['member'] });

    expect((await patch(admin, connection.id, { trusted: true })).status).toBe(200);
    const trusted = (await findConnection(ctx.scope, connection.id)) as ConnectionRow;
    expect(await join(trusted)).toEqual({ email_verified: true, roles: ['desk', 'member'] });
    await startAt(new Browser(service.url), trusted);
  });
});

import { beforeAll, describe, expect, test } from 'vitest';
import { updateUser, type UserRow } from '../../src/db/tables/users.js';
import { insertIdentity } from '../../src/db/tables/identities.js';
import { flushSecurityTrail } from '../../src/domain/audit/security-trail.js';
import { uuidv7 } from '../../src/lib/random.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient, addUser, password } from '../support/data.js';
import { eventsOf, subscribe } from '../support/events.js';
import { allowCode, authorizeCode, redeem, tokenRequest } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();

beforeAll(async () => {
  await subscribe(service, ['user.updated']);
});

const chrome = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';
const json = { accept: 'application/json' };

async function signedIn(user: UserRow, headers: Record<string, string> = {}): Promise<Browser> {
  const browser = new Browser(service.url, headers);
  expect((await browser.login(user.email, password)).status).toBe(303);
  return browser;
}

const newUser = async (row: Partial<UserRow> = {}) => addUser(await service.context(), row);

type Account = {
  user: Record<string, unknown>;
  sessions: (Record<string, unknown> & { id: string; current: boolean })[];
  identities: Record<string, unknown>[];
  applications: Record<string, unknown>[];
  own_applications: Record<string, unknown>[];
};
const account = async (browser: Browser) => (await (await browser.get('/account', json)).json()) as Account;

type Answer = { status: number; body: Record<string, unknown> & { fields?: Record<string, string[]>; user?: Record<string, unknown> } };
async function post(browser: Browser, path: string, body: object = {}): Promise<Answer> {
  const response = await browser.postJson(path, body);
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

async function connect(user: UserRow): Promise<string> {
  const ctx = await service.context();
  const now = ctx.clock.now();
  const [connection_id, id] = [uuidv7(now.getTime()), uuidv7(now.getTime())];
  const { id: environment_id } = ctx.environment;
  await ctx.db.knex('connections').insert({
    environment_id, id: connection_id, name: `c-${connection_id.slice(-8)}`, display_name: 'Example Corp', strategy: 'oidc', provider_client_id: 'x', created_at: now, updated_at: now,
  }); // prettier-ignore
  await insertIdentity(ctx.scope, {
    id,
    connection_id,
    subject: 's',
    user_id: user.id,
    email: 'ada@corp.example',
    created_at: now,
    updated_at: now,
  });
  return id;
}

describe('the account', () => {
  test('shows profile, sessions in words with this device marked, connected accounts and applications', async () => {
    const user = await newUser();
    await connect(user);
    const [here] = [await signedIn(user, { 'user-agent': chrome }), await signedIn(user, { 'user-agent': 'curl/8.5.0' })];
    const shown = await account(here);
    expect(shown.user).toMatchObject({ id: user.id, email: user.email, has_password: true, nickname: null, address: null });
    expect(shown.sessions).toMatchObject([
      { device: 'Chrome on macOS', current: true, status: 'active', amr: ['pwd'], ip_address: '127.0.0.1', user_agent: chrome },
      { device: 'curl', current: false },
    ]);
    expect(shown.identities).toMatchObject([{ display_name: 'Example Corp', strategy: 'oidc', email: 'ada@corp.example' }]);
    expect(shown.applications).toEqual([]);
    expect(JSON.stringify(shown)).not.toMatch(/argon2|digest|password_hash/);
    const html = await (await here.get('/account')).text();
    for (const text of ['Chrome on macOS', 'This device', 'Example Corp', user.email]) expect(html).toContain(text);
  });

  test('is for somebody signed in', async () => {
    const stranger = new Browser(service.url);
    expect((await stranger.get('/account')).headers.get('location')).toBe('/login?return_to=%2Faccount');
    const refused = await stranger.get('/account', json);
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: 'login_required' }]);
    for (const path of [
      '/account/profile',
      '/account/sessions/revoke_others',
      '/account/sessions/x/revoke',
      '/account/applications/x/revoke',
    ]) {
      expect((await post(stranger, path)).status).toBe(401);
    }
  });
});

describe('the profile', () => {
  test('changes what is named, and user.updated says what it was', async () => {
    const user = await newUser({ nickname: 'Countess', phone_number: '+442079460000', phone_number_verified: true });
    const browser = await signedIn(user);
    const answer = await post(browser, '/account/profile', {
      first_name: ' Augusta ',
      nickname: '',
      website: 'https://ada.example/',
      birthdate: '1815-12-10',
      zoneinfo: 'Europe/London',
      locale: 'en-GB',
      phone_number: '+44 20 7946-0001',
      address: { street_address: '12 St James’s Square\nMayfair', locality: 'London', country: 'United Kingdom' },
    });
    expect(answer.status).toBe(200);
    const expected = {
      first_name: 'Augusta',
      last_name: 'Lovelace',
      nickname: null,
      website: 'https://ada.example/',
      birthdate: '1815-12-10',
      phone_number: '+442079460001',
      phone_number_verified: false,
      address: { street_address: '12 St James’s Square\nMayfair', locality: 'London', country: 'United Kingdom' },
    };
    expect(answer.body.user).toMatchObject(expected);
    const [event] = await eventsOf(service, user.id);
    expect(event).toMatchObject({ event: 'user.updated', data: { first_name: 'Augusta' } });
    expect(event?.data['previous_attributes']).toEqual({
      first_name: 'Ada', nickname: 'Countess', website: null, birthdate: null, zoneinfo: null, locale: null, phone_number: '+442079460000', phone_number_verified: true, address: null,
    }); // prettier-ignore
  });

  test('unchanged emits nothing', async () => {
    const user = await newUser({ address: { country: 'Norway', locality: 'Oslo' } });
    const browser = await signedIn(user);
    const same = {
      first_name: 'Ada',
      last_name: 'Lovelace',
      nickname: '',
      address_locality: 'Oslo',
      address_country: 'Norway',
      address_region: '',
    };
    expect((await post(browser, '/account/profile', same)).status).toBe(200);
    expect(await eventsOf(service, user.id)).toEqual([]);
  });

  test.each([
    [{ first_name: '' }, { first_name: ['required'] }],
    [{ last_name: null }, { last_name: ['required'] }],
    [{ nickname: 7 }, { nickname: ['invalid_value'] }],
    [{ nickname: 'x'.repeat(256) }, { nickname: ['too_long'] }],
    [{ website: 'javascript:alert(1)' }, { website: ['invalid_url'] }],
    [{ picture: 'data:image/png;base64,AAAA' }, { picture: ['invalid_url'] }],
    [{ profile: 'https://user:secret@example.com' }, { profile: ['invalid_url'] }],
    [{ birthdate: '1990-02-30' }, { birthdate: ['invalid_date'] }],
    [{ zoneinfo: 'Mars/Olympus' }, { zoneinfo: ['invalid_value'] }],
    [{ locale: 'not a locale' }, { locale: ['invalid_value'] }],
    [{ phone_number: '12' }, { phone_number: ['invalid_value'] }],
    [{ address: 'London' }, { address: ['invalid_value'] }],
    [{ address: { country: 5 } }, { address_country: ['invalid_value'] }],
    [{ address_street_address: 'x'.repeat(513) }, { address_street_address: ['too_long'] }],
  ])('refuses %j', async (fields, expected) => {
    const browser = await signedIn(await newUser());
    const answer = await post(browser, '/account/profile', fields);
    expect([answer.status, answer.body.fields]).toEqual([422, expected]);
  });

  test('what a person may not edit stays as it is (attack 11.133)', async () => {
    const user = await newUser();
    const browser = await signedIn(user);
    const forbidden = {
      id: uuidv7(0),
      email: 'other@example.com',
      email_verified: false,
      status: 'blocked',
      roles: ['administrator'],
      metadata: { a: 1 },
      environment_id: 'x',
      password_hash: 'x',
    };
    const answer = await post(browser, '/account/profile', forbidden);
    expect(answer.body.user).toMatchObject({ id: user.id, email: user.email, email_verified: true, status: 'active' });
  });

  test('as a page: errors beside the fields, nothing typed is lost', async () => {
    const browser = await signedIn(await newUser());
    const refused = await browser.submit('/account', { first_name: 'Grace', last_name: '', website: 'ftp://x' }, '/account/profile');
    const html = await refused.text();
    expect(refused.status).toBe(422);
    for (const text of ['value="Grace"', 'value="ftp://x"', 'Enter a web address', 'Fill in this field']) expect(html).toContain(text);
    const done = await browser.submit('/account', { first_name: 'Grace', last_name: 'Hopper' }, '/account/profile');
    expect(done.headers.get('location')).toBe('/account?done=profile');
    expect(await (await browser.get('/account?done=profile')).text()).toContain('Profile saved.');
    expect(await (await browser.get('/account?done=<b>')).text()).not.toContain('<b>');
  });
});

describe('sessions', () => {
  test('a person ends one session, all others, or this one (attack 13.145)', async () => {
    const user = await newUser();
    const browsers = [await signedIn(user), await signedIn(user), await signedIn(user)] as const;
    const alive = async () => Promise.all(browsers.map(async (browser) => (await browser.get('/account')).status === 200));
    const other = (await account(browsers[1])).sessions.find((session) => session.current)?.id ?? '';
    expect((await post(browsers[0], `/account/sessions/${other}/revoke`)).status).toBe(200);
    expect(await alive()).toEqual([true, false, true]);
    expect((await account(browsers[0])).sessions).toHaveLength(2);
    const others = await post(browsers[0], '/account/sessions/revoke_others');
    expect([others.status, others.body]).toEqual([200, { revoked: 1 }]);
    expect(await alive()).toEqual([true, false, false]);
    const own = (await account(browsers[0])).sessions[0]?.id ?? '';
    const csrf = csrfOf(await (await browsers[0].get('/account')).text());
    const out = await browsers[0].post(`/account/sessions/${own}/revoke`, { _csrf: csrf });
    expect([out.status, out.headers.get('location')]).toEqual([303, '/login']);
    expect(browsers[0].cookies.has('idp_session')).toBe(false);
    expect(await alive()).toEqual([false, false, false]);
  });

  test('of somebody else, or of nobody, are not there', async () => {
    const [mine, theirs] = [await signedIn(await newUser()), await signedIn(await newUser())];
    const id = (await account(theirs)).sessions[0]?.id ?? '';
    for (const path of [id, uuidv7(0), 'x', '%00']) expect((await post(mine, `/account/sessions/${path}/revoke`)).status).toBeLessThan(405);
    expect((await post(mine, `/account/sessions/${id}/revoke`)).status).toBe(404);
    expect((await theirs.get('/account')).status).toBe(200);
  });

  test('ending one ends the refresh tokens that were issued in it', async () => {
    const ctx = await service.context();
    const [user, client] = [await newUser(), await addClient(ctx)];
    const [here, there] = [await signedIn(user), await signedIn(user)];
    const tokens = await redeem(service.url, client, await authorizeCode(there, client));
    const id = (await account(there)).sessions.find((session) => session.current)?.id ?? '';
    await post(here, `/account/sessions/${id}/revoke`);
    const refreshed = await tokenRequest(service.url, client, {
      grant_type: 'refresh_token',
      refresh_token: tokens.body.refresh_token ?? '',
    });
    expect(refreshed.body.error).toBe('invalid_grant');
  });

  test('the clock, a shorter lifetime, idleness and a blocked user end a session (attack 13.145)', async () => {
    const ctx = await service.context();
    const environments = () => ctx.db.knex('environments').where({ id: ctx.environment.id });
    const user = await newUser();
    const alive = async (browser: Browser) => (await browser.get('/account')).status === 200;
    const blocked = await signedIn(user);
    await updateUser(ctx.scope, user.id, { status: 'blocked' });
    expect(await alive(blocked)).toBe(false);
    await updateUser(ctx.scope, user.id, { status: 'active' });
    const browser = await signedIn(user);
    try {
      service.clock.advance(600_000);
      await environments().update({ session_lifetime: 300 });
      await expect.poll(() => alive(browser)).toBe(false);
      await environments().update({ session_lifetime: 2_592_000, session_idle_lifetime: 1_800 });
      await expect.poll(() => alive(browser)).toBe(true);
      service.clock.advance(1_700_000);
      expect(await alive(browser)).toBe(true);
      service.clock.advance(1_801_000);
      expect(await alive(browser)).toBe(false);
    } finally {
      await environments().update({ session_lifetime: 2_592_000, session_idle_lifetime: null });
    }
    await expect.poll(async () => alive(await signedIn(user))).toBe(true);
    const old = await signedIn(user);
    service.clock.advance(2_592_001_000);
    expect(await alive(old)).toBe(false);
  });

  test('what the database holds is no cookie (attack 13.144)', async () => {
    const ctx = await service.context();
    const user = await newUser();
    const browser = await signedIn(user);
    const row = (await ctx.db.knex('sessions').where({ user_id: user.id }).first()) as { token_digest: Buffer };
    for (const encoding of ['base64url', 'hex', 'base64'] as const) {
      browser.cookies.set('idp_session', row.token_digest.toString(encoding));
      expect((await browser.get('/account')).status).toBe(303);
    }
  });

  test('of two session cookies the first counts; a crowd of cookies is no way in (attack 13.148)', async () => {
    const [one, other] = [await newUser(), await newUser()];
    const cookies = [await signedIn(one), await signedIn(other)].map((browser) => browser.cookies.get('idp_session'));
    const both = await fetch(`${service.url}/account`, {
      headers: { ...json, cookie: `idp_session=${cookies[0]}; idp_session=${cookies[1]}` },
    });
    expect(((await both.json()) as Account).user['id']).toBe(one.id);
    const crowd = Array.from({ length: 100 }, (_, index) => `session${index}=x`).join('; ');
    expect((await fetch(`${service.url}/account`, { headers: { ...json, cookie: `${crowd}; idp_session=x` } })).status).toBe(401);
    const huge = await fetch(`${service.url}/account`, { headers: { ...json, cookie: `idp_session=${'x'.repeat(200_000)}` } });
    expect(huge.status).toBe(431);
  });

  test('nothing changes by GET, without the token, with another one, or from elsewhere (attack 13.147)', async () => {
    const user = await newUser();
    const [browser, second] = [await signedIn(user), await signedIn(user)];
    const before = (await account(browser)).sessions.length;
    const foreign = csrfOf(await (await (await signedIn(await newUser())).get('/account')).text());
    const own = csrfOf(await (await browser.get('/account')).text());
    const path = '/account/sessions/revoke_others';
    expect((await browser.get(path)).status).toBe(405);
    expect((await browser.post(path, {})).status).toBe(403);
    expect((await browser.post(path, { _csrf: foreign })).status).toBe(403);
    expect((await browser.post(path, { _csrf: csrfOf(await (await second.get('/account')).text()) })).status).toBe(403);
    expect((await browser.post(path, { _csrf: own }, { origin: 'null' })).status).toBe(403);
    expect((await browser.post(path, { _csrf: own }, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await browser.post(path, { _csrf: own }, { 'sec-fetch-site': 'cross-site', origin: 'null' })).status).toBe(403);
    expect((await account(browser)).sessions).toHaveLength(before);
    expect((await browser.post(path, { _csrf: own })).headers.get('location')).toBe('/account?done=sessions');
  });
});

describe('connected accounts and applications', () => {
  test('an account is disconnected, unless it is the only way in', async () => {
    const ctx = await service.context();
    const user = await newUser();
    const browser = await signedIn(user);
    const id = await connect(user);
    await updateUser(ctx.scope, user.id, { password_hash: null });
    const refused = await post(browser, `/account/identities/${id}/unlink`);
    expect([refused.status, refused.body['error']]).toEqual([409, 'last_way_in']);
    const second = await connect(user);
    expect((await post(browser, `/account/identities/${second}/unlink`)).status).toBe(200);
    expect((await post(browser, `/account/identities/${second}/unlink`)).status).toBe(404);
    expect((await account(browser)).identities).toMatchObject([{ id }]);
    expect((await post(await signedIn(await newUser()), `/account/identities/${id}/unlink`)).status).toBe(404);
  });

  test('applications that say where a sign-in begins can be opened: those that were allowed, and one’s own that were used (specification 5.1.8)', async () => {
    const ctx = await service.context();
    const user = await newUser();
    const browser = await signedIn(user);
    const own = await addClient(ctx, { name: 'Wiki', initiate_login_uri: 'https://wiki.example/start' });
    await addClient(ctx, { name: 'Unused', initiate_login_uri: 'https://unused.example/start' });
    const third = await addClient(ctx, { name: 'Third', first_party: false, initiate_login_uri: 'https://third.example/start?a=b' });
    await redeem(service.url, own, await authorizeCode(browser, own));
    await allowCode(browser, third, { scope: 'openid' });
    const iss = encodeURIComponent(service.url);
    const shown = await account(browser);
    expect(shown.applications).toMatchObject([{ name: 'Third', open_url: `https://third.example/start?a=b&iss=${iss}` }]);
    expect(shown.own_applications).toEqual([
      { client_id: own.id, name: 'Wiki', logo_uri: null, open_url: `https://wiki.example/start?iss=${iss}` },
    ]);
    const page = await (await browser.get('/account')).text();
    expect([page.includes('https://wiki.example/start?iss='), page.includes('unused.example'), page.includes('Open: Third')]).toEqual([
      true,
      false,
      true,
    ]);
    await ctx.db.knex('clients').whereIn('id', [own.id, third.id]).update({ status: 'disabled' });
    const after = await account(browser);
    expect([after.own_applications, after.applications[0]?.['open_url']]).toEqual([[], null]);
    expect((await account(await signedIn(await newUser()))).own_applications).toEqual([]);
  });

  test('an application whose access is removed loses its refresh tokens, offline ones too', async () => {
    const ctx = await service.context();
    const [user, client] = [await newUser(), await addClient(ctx, { name: 'Third Party', first_party: false })];
    const browser = await signedIn(user);
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: client.id,
      redirect_uri: 'https://app.example/cb',
      scope: 'openid email offline_access',
      prompt: 'consent',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const page = await (await browser.get(`/oauth/authorize?${query}`)).text();
    const request = /name="request" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const allowed = await browser.post('/oauth/consent', { _csrf: csrfOf(page), request, decision: 'allow' });
    expect(allowed.headers.get('location')).toContain('code=');
    const tokens = await redeem(service.url, client, await authorizeCode(browser, client, { scope: 'openid email offline_access' }));
    expect((await account(browser)).applications).toMatchObject([
      { client_id: client.id, name: 'Third Party', scopes: expect.arrayContaining(['email']) },
    ]);
    expect(await (await browser.get('/account')).text()).toContain('See your email address');
    expect((await post(browser, `/account/applications/${client.id}/revoke`)).status).toBe(200);
    const refreshed = await tokenRequest(service.url, client, {
      grant_type: 'refresh_token',
      refresh_token: tokens.body.refresh_token ?? '',
    });
    expect(refreshed.body.error).toBe('invalid_grant');
    expect((await account(browser)).applications).toEqual([]);
    expect((await post(browser, '/account/applications/unknown/revoke')).status).toBe(404);
  });
});

describe('what a person sees of their own sign-ins, and takes along', () => {
  test('the last sign-ins and refused ones are on the page, nobody else’s', async () => {
    const user = await newUser();
    const stranger = await newUser();
    await new Browser(service.url).login(stranger.email, 'wrong');
    for (const _ of [1, 2]) await new Browser(service.url, { 'user-agent': chrome }).login(user.email, 'wrong');
    const browser = await signedIn(user);
    await flushSecurityTrail(service.deps);
    const page = await (await browser.get('/account')).text();
    expect(
      page
        .slice(page.indexOf('sign-ins-title'))
        .match(/Signed in|Sign-in refused 2 times|Chrome on macOS/g)
        ?.slice(0, 3)
        .sort(),
    ).toEqual(['Chrome on macOS', 'Sign-in refused 2 times', 'Signed in']);
    expect(page.match(/Sign-in refused/g)).toHaveLength(1);
  });

  test('the data is a file of all that is theirs, without a secret, and takes a session', async () => {
    const user = await newUser();
    await connect(user);
    const browser = await signedIn(user);
    await flushSecurityTrail(service.deps);
    const answer = await browser.get('/account/data');
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="account.json"');
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject({
      user: { email: user.email },
      sessions: [{ current: true }],
      identities: [{ email: 'ada@corp.example' }],
      applications: [],
      authenticators: [],
      sign_ins: [{ succeeded: true, count: 1 }],
    });
    expect(text).not.toMatch(/hash|secret|token/);
    expect((await new Browser(service.url).get('/account/data')).headers.get('location')).toBe('/login?return_to=%2Faccount');
  });
});

// The pages of the device flow (RFC 8628 3.3): a code is typed, a page always asks, one answer counts.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { Browser, csrfOf, locationParameters } from '../support/browser.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { answerDevice, deviceCode, pollDevice, questionOf, startDevice, typeUserCode } from '../support/device.js';
import { fromAddress } from '../support/from-address.js';
import { mailTo } from '../support/mailbox.js';
import { claimsOf } from '../support/oauth.js';
import { auditRows, lastRow } from '../support/security-events.js';
import { sharedService } from '../support/shared-service.js';
import { addUserWith, proofsNow, proveMore, setEnvironment, signedInBy, signedIn } from '../support/signed-in.js';

const service = sharedService();
let tv: TestClient;
let user: UserRow;
let browser: Browser;

beforeAll(async () => {
  const row = { name: 'Acme TV', application_type: 'native', token_endpoint_auth_method: 'none', redirect_uris: [] } as const;
  tv = await addClient(await service.context(), { ...row, redirect_uris: [], grant_types: [deviceCode] });
});
beforeEach(async () => {
  user = await addUser(await service.context());
  browser = await signedIn(service, user);
  await service.deps.db.knex('user_code_guesses').delete();
});

const start = (fields?: Record<string, string>) => startDevice(service.url, tv, fields);
const errorOf = async (device_code: string) => (await pollDevice(service.url, tv, device_code)).body.error ?? 'tokens';
const page = async (user_code: string, by = browser) => (await typeUserCode(by, user_code)).text();
const answer = (fields: Record<string, string>, by = browser, headers: Record<string, string> = {}) =>
  by.post('/device/answer', fields, headers);
const answered = async () =>
  Number((await service.deps.db.knex('device_codes').whereNotNull('answered_at').count('* as count'))[0]?.['count']);

describe('the code', () => {
  test('is typed after the sign-in, which the code of a link survives', async () => {
    const stranger = new Browser(service.url);
    const { user_code } = await start();
    const sent = await stranger.get(`/device?user_code=${user_code}`);
    const location = new URL(sent.headers.get('location') ?? '', service.url);
    expect([sent.status, location.pathname, location.searchParams.get('return_to')]).toEqual([
      303,
      '/login',
      `/device?user_code=${user_code}`,
    ]);
    expect(await (await stranger.get(sent.headers.get('location') ?? '')).text()).toContain('<h1>Sign in to connect a device</h1>');
    const back = await stranger.login(user.email, password, location.searchParams.get('return_to') ?? '');
    expect(await (await stranger.get(back.headers.get('location') ?? '')).text()).toContain(`value="${user_code}"`);
  });

  test('is taken in any case, with spaces and dashes anywhere', async () => {
    const { user_code } = await start();
    const letters = user_code.replace('-', '').toLowerCase();
    for (const typed of [letters, `${letters.slice(0, 3)} ${letters.slice(3)} `, `${letters.slice(0, 4)}–${letters.slice(4)}`])
      expect(await page(typed)).toContain('Allow Acme TV to access your account?');
  });

  test('that is wrong, missing or answered before is refused with the field filled in', async () => {
    const { user_code } = await start();
    await answerDevice(browser, user_code);
    for (const typed of ['BCDF-GHJK', 'nonsense', user_code]) {
      const refused = await typeUserCode(browser, typed);
      expect(refused.status).toBe(422);
      const html = await refused.text();
      expect(html).toContain('That code is incorrect or has expired.');
      expect(html).toContain(`value="${typed}"`);
    }
    expect(await (await typeUserCode(browser, ' ')).text()).toContain('Enter the code shown on the device.');
  });

  test('in a link fills the field, no more, also for a client of one’s own that was allowed before: the page asks each time (attack 28.490)', async () => {
    await answerDevice(browser, (await start()).user_code);
    const { user_code, device_code, verification_uri_complete } = await start();
    const html = await (await browser.get(verification_uri_complete)).text();
    expect(html).toContain(`value="${user_code}"`);
    expect(html).not.toContain('Acme TV');
    expect(await errorOf(device_code)).toBe('authorization_pending');
    expect(await page(user_code)).toContain('Allow Acme TV to access your account?');
  });

  test('what a link holds is text on the page', async () => {
    const html = await (await browser.get(`/device?user_code=${encodeURIComponent('"><script>alert(1)</script>')}`)).text();
    expect(html).not.toContain('<script>alert');
  });
});

describe('guesses', () => {
  const wrong = (by = browser) => typeUserCode(by, 'BCDF-GHJK');

  test('ten of a session in ten minutes, then 429 for the right code too, although RATE_LIMITS is off (attack 28.483)', async () => {
    const { user_code } = await start();
    expect(service.config.rateLimits.enabled).toBe(false);
    for (let tries = 0; tries < 10; tries++) expect((await wrong()).status).toBe(422);
    const refused = await typeUserCode(browser, user_code);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(590);
    expect((await auditRows(service, 'device.guesses_refused')).at(-1)).toMatchObject({ actor_id: user.id, outcome: 'denied' });
    service.clock.advance(601_000);
    const { user_code: later } = await start();
    expect((await typeUserCode(browser, later)).status).toBe(200);
  });

  test('another session at the address has no more, a session elsewhere has its own (attack 28.483)', async () => {
    for (let tries = 0; tries < 10; tries++) await wrong();
    const other = await signedIn(service, await addUser(await service.context()));
    expect((await wrong(other)).status).toBe(429);
    const html = await (await other.get('/device')).text();
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      origin: service.url,
      cookie: [...other.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    };
    const body = new URLSearchParams({ _csrf: csrfOf(html), user_code: 'BCDF-GHJK' }).toString();
    const elsewhere = await fromAddress('127.0.0.9', `${service.url}/device`, { method: 'POST', body, headers });
    expect(elsewhere.status).toBe(422);
  });

  test('at once are no more than ten (attack 28.483)', async () => {
    const _csrf = csrfOf(await (await browser.get('/device')).text());
    const answers = await Promise.all(Array.from({ length: 25 }, () => browser.post('/device', { _csrf, user_code: 'BCDF-GHJK' })));
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(15);
  });

  test('that are right don’t count', async () => {
    const { user_code } = await start();
    for (let tries = 0; tries < 12; tries++) expect((await typeUserCode(browser, user_code)).status).toBe(200);
  });
});

describe('the page that asks', () => {
  test('shows the client, what it asks for, the code, the account, where the device is, and when it asked', async () => {
    const { user_code } = await start({ scope: 'openid email' });
    const html = await page(user_code.toLowerCase());
    for (const shown of [
      'Acme TV',
      user_code,
      user.email,
      '127.0.0.1, your network',
      'data-scope="email"',
      'Allow only what you started yourself',
    ])
      expect(html).toContain(shown);
    expect(html).not.toContain('another network');
  });

  test('warns when the device asks from another network', async () => {
    const body = new URLSearchParams({ client_id: tv.id }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const far = await fromAddress('127.0.0.7', `${service.url}/oauth/device_authorization`, { method: 'POST', body, headers });
    const html = await page((JSON.parse(far.text) as { user_code: string }).user_code);
    expect(html).toContain('comes from a different network than yours');
    expect(html).toContain('127.0.0.7, another network');
  });

  test('a name with markup is text (attack 28.496)', async () => {
    const client = await addClient(await service.context(), { name: '<b>Your bank</b>', grant_types: [deviceCode] });
    const html = await page((await startDevice(service.url, client)).user_code);
    expect(html).toContain('&lt;b&gt;Your bank');
    expect(html).not.toContain('<b>Your bank');
  });

  test('GET changes nothing, and neither does a form of another site or without its token (attack 28.484) (attack 28.485)', async () => {
    const { user_code, device_code } = await start();
    const fields = { ...questionOf(await page(user_code)), decision: 'allow' };
    const before = await answered();
    const got = await browser.get(`/device/answer?${new URLSearchParams(fields)}`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await browser.get(`/device?${new URLSearchParams({ user_code, decision: 'allow' })}`)).status).toBe(200);
    for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null', 'sec-fetch-site': 'cross-site' }] as Record<
      string,
      string
    >[]) {
      expect((await answer(fields, browser, headers)).status).toBe(403);
      expect((await browser.post('/device', { _csrf: fields._csrf, user_code }, headers)).status).toBe(403);
    }
    expect((await answer({ ...fields, _csrf: '' })).status).toBe(403);
    expect((await answer({ ...fields, decision: 'maybe' })).status).toBe(400);
    expect((await browser.postJson('/device/answer', fields)).status).toBe(400);
    expect((await answer(fields, new Browser(service.url))).status).toBe(303);
    expect(await answered()).toBe(before);
    expect(await errorOf(device_code)).toBe('authorization_pending');
  });

  test('a question belongs to the session that typed the code, and can’t be altered (attack 28.489)', async () => {
    const { user_code, device_code } = await start();
    const { question } = questionOf(await page(user_code));
    const thief = await signedIn(service, await addUser(await service.context()));
    const _csrf = csrfOf(await (await thief.get('/device')).text());
    const own = csrfOf(await (await browser.get('/device')).text());
    const altered = `${question.slice(0, -2)}${question.endsWith('AA') ? 'BB' : 'AA'}`;
    expect((await answer({ _csrf, question, decision: 'allow' }, thief)).status).toBe(400);
    expect((await answer({ _csrf: own, question: altered, decision: 'allow' })).status).toBe(400);
    expect(await errorOf(device_code)).toBe('authorization_pending');
  });

  test('answers that race: one counts, and the device sees that one (attack 28.486)', async () => {
    const { user_code, device_code } = await start();
    const fields = questionOf(await page(user_code));
    const sessions = async () =>
      Number((await service.deps.db.knex('sessions').where({ user_id: user.id }).count('* as count'))[0]?.['count']);
    const before = await sessions();
    const decisions = ['allow', 'deny', 'allow', 'deny', 'allow'];
    const answers = await Promise.all(decisions.map((decision) => answer({ ...fields, decision })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
    const winner = decisions[answers.findIndex(({ status }) => status === 200)];
    expect(await errorOf(device_code)).toBe(winner === 'allow' ? 'tokens' : 'access_denied');
    expect((await sessions()) - before).toBe(winner === 'allow' ? 1 : 0);
    expect((await answer({ ...fields, decision: 'allow' })).status).toBe(400);
  });

  test('an answer after ten minutes, of a client that was disabled, or of a session that was ended counts for nothing (attack 28.487)', async () => {
    const ctx = await service.context();
    const client = await addClient(ctx, { grant_types: [deviceCode] });
    const late = await startDevice(service.url, client);
    const fields = questionOf(await page(late.user_code));
    await ctx.scope.knex('clients').where({ id: client.id }).update({ status: 'disabled' });
    ctx.cache.invalidate(ctx.environment.id, 'clients');
    expect((await answer({ ...fields, decision: 'allow' })).status).toBe(400);
    await ctx.scope.knex('clients').where({ id: client.id }).update({ status: 'enabled' });
    ctx.cache.invalidate(ctx.environment.id, 'clients');
    service.clock.advance(601_000);
    expect((await answer({ ...fields, decision: 'allow' })).status).toBe(400);
    const { user_code, device_code } = await start();
    const open = questionOf(await page(user_code));
    await ctx.scope.knex('sessions').where({ user_id: user.id }).update({ revoked_at: ctx.clock.now() });
    expect((await answer({ ...open, decision: 'allow' })).headers.get('location')).toMatch(/^\/login\?/);
    expect(await errorOf(device_code)).toBe('authorization_pending');
  });

  test('a yes is told by mail and recorded, and the device stands among the sessions under its application’s name', async () => {
    const { user_code } = await start();
    await answerDevice(browser, user_code);
    const mail = (await mailTo(service.url, user.email)).find(({ subject }) => subject.startsWith('New sign-in'));
    for (const words of [mail?.text, mail?.html]) {
      expect(words).toContain('You allowed a device to use your account');
      expect(words).toContain('Acme TV');
      expect(words).toContain(`${service.url}/account`);
    }
    const row = await lastRow(service, 'device.approved');
    expect(row).toMatchObject({ actor_id: user.id, target_type: 'session', ip_address: '127.0.0.1' });
    const account = await (await browser.get('/account')).text();
    expect(account).toContain(`id="session-${row.target_id}"`);
    expect(account).toContain('Acme TV');
  });

  test('a no is recorded, and sends no mail', async () => {
    const { user_code } = await start();
    expect(await (await answerDevice(browser, user_code, 'deny')).text()).toContain('The device wasn’t connected');
    expect((await mailTo(service.url, user.email)).filter(({ text }) => text.includes('a device'))).toEqual([]);
    expect(await lastRow(service, 'device.denied')).toMatchObject({ actor_id: user.id, target_id: tv.id });
  });
});

describe('what a sign-in has to be', () => {
  test('is asked for before the page asks: the step that is missing, and back with the code filled in (attack 28.497)', async () => {
    const ctx = await service.context();
    await setEnvironment(service, { second_factor_policy: 'optional', second_factor_grace_lifetime: 0, totp_enabled: true });
    const client = await addClient(ctx, { grant_types: [deviceCode], required_acr: '2' });
    const owner = await addUserWith(ctx, ['recovery_codes', 'totp']);
    const by = await signedInBy(service, owner, proofsNow(ctx, 'password', 'device'));
    const { user_code, device_code } = await startDevice(service.url, client, { scope: 'openid' });
    const sent = await typeUserCode(by, user_code);
    const [location, query] = [sent.headers.get('location') ?? '', locationParameters(sent)];
    expect([location.split('?')[0], query.get('acr_values'), query.get('return_to')]).toEqual([
      '/login/verify',
      '2',
      `/device?user_code=${user_code}`,
    ]);
    await proveMore(service, by, proofsNow(ctx, 'totp'));
    await answerDevice(by, user_code);
    const { body } = await pollDevice(service.url, client, device_code);
    expect(claimsOf(body.id_token as string)['acr']).toBe('2');
  });

  test('older than the client allows, or not to be had, is a page and no tokens (attack 28.497)', async () => {
    const ctx = await service.context();
    await setEnvironment(service, { second_factor_policy: 'off' });
    const [young, strong] = [
      await addClient(ctx, { grant_types: [deviceCode], max_authentication_age: 300 }),
      await addClient(ctx, { grant_types: [deviceCode], required_acr: 'phr' }),
    ];
    service.clock.advance(301_000);
    const late = await startDevice(service.url, young);
    const refused = await typeUserCode(browser, late.user_code);
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('/logout?return_to=%2Fdevice')]);
    const never = await typeUserCode(browser, (await startDevice(service.url, strong)).user_code);
    expect([never.status, await never.text()]).toEqual([403, expect.stringContaining('unmet_authentication_requirements')]);
    const again = await signedIn(service, user);
    expect((await answerDevice(again, late.user_code)).status).toBe(200);
  });

  test('is judged once more with the yes', async () => {
    const ctx = await service.context();
    const client = await addClient(ctx, { grant_types: [deviceCode], max_authentication_age: 300 });
    const { user_code, device_code } = await startDevice(service.url, client);
    const fields = questionOf(await page(user_code));
    service.clock.advance(301_000);
    expect((await answer({ ...fields, decision: 'allow' })).status).toBe(403);
    expect((await pollDevice(service.url, client, device_code)).body.error).toBe('authorization_pending');
  });
});

// Enrolment at sign-in: while the policy demands a factor, nobody without one gets in, save in the grace time.
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { findUser } from '../../src/db/tables/users.js';
import { permit } from '../support/administrators.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { addTwoStepUser, creationOptionsAt, givePasskey, refusalOf, setEnvironment, totpCode } from '../support/factors.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';
import { SoftwareAuthenticator } from '../support/software-authenticator.js';

const service = sharedService(() => startTestService());

afterEach(() =>
  setEnvironment(service, {
    second_factor_policy: 'optional',
    second_factor_grace_lifetime: 0,
    totp_enabled: true,
    passkeys_enabled: true,
  }),
);

const now = () => service.clock.now();
const home = () => ({ origin: service.url });
const isSignedIn = async (browser: Browser) => (await browser.get('/account', { accept: 'application/json' })).status === 200;

/** A browser whose password was right, and that has to enrol. */
async function enrolling(return_to = '') {
  const user = await addUser(await service.context());
  const browser = new Browser(service.url);
  const answer = await browser.postJson('/login', { email: user.email, password, return_to });
  return { user, browser, asked: (await answer.json()) as Record<string, unknown> };
}

const startTotp = async (browser: Browser) =>
  (await (await browser.postJson('/login/enroll/totp', {})).json()) as { authenticator_id: string; secret: string };

describe('while the policy demands a factor', () => {
  test('a right password leads to enrolment, and opens nothing (attack 25.548)', async () => {
    await setEnvironment(service, { second_factor_policy: 'required' });
    const { browser, asked } = await enrolling('/account?x=y');
    expect(asked).toEqual({
      user: null,
      redirect_to: '/login/enroll?return_to=%2Faccount%3Fx%3Dy',
      second_factor: { methods: [], expires_in: 600, remember_device: false, enroll: ['passkey', 'totp'], skip_expires_at: null },
    });
    expect(await isSignedIn(browser)).toBe(false);
    for (const path of ['/account/authenticators/totp', '/account/authenticators/passkey/options'])
      expect((await browser.postJson(path, {})).status).toBe(401);
    expect(await refusalOf(await browser.postJson('/login/enroll/skip', {}))).toEqual([403, 'factor_required']);
    expect((await browser.get('/login/verify')).headers.get('location')).toBe('/login/enroll');
    expect(await refusalOf(await browser.postJson('/login/verify', { method: 'totp', code: '123456' }))).toEqual([410, 'sign_in_expired']);
  });

  test('an authenticator app completes the sign-in, with recovery codes', async () => {
    await setEnvironment(service, { second_factor_policy: 'required' });
    const { user, browser } = await enrolling();
    const { authenticator_id, secret } = await startTotp(browser);
    const wrong = await browser.postJson('/login/enroll/totp/verify', { authenticator_id, code: 'abc' });
    expect(await refusalOf(wrong)).toEqual([422, 'invalid_code']);
    const answer = await browser.postJson('/login/enroll/totp/verify', {
      authenticator_id,
      code: totpCode(secret, now()),
      return_to: '/account?x=y',
    });
    expect(answer.status).toBe(200);
    const body = (await answer.json()) as { user: { email: string }; redirect_to: string; recovery_codes: string[] };
    expect([body.user.email, body.redirect_to, body.recovery_codes.length]).toEqual([user.email, '/account?x=y', 10]);
    expect(await isSignedIn(browser)).toBe(true);
    expect(await refusalOf(await browser.postJson('/login/enroll/totp', {}))).toEqual([410, 'sign_in_expired']);
  });

  test('a passkey completes it too, and brings recovery codes', async () => {
    await setEnvironment(service, { second_factor_policy: 'required' });
    const { browser } = await enrolling();
    const options = await creationOptionsAt(browser, '/login/enroll/passkey/options');
    expect(options.authenticatorSelection).toMatchObject({ residentKey: 'preferred', userVerification: 'preferred' });
    const authenticator = new SoftwareAuthenticator();
    expect(await refusalOf(await browser.postJson('/login/enroll/passkey', { credential: {} }))).toEqual([422, 'passkey_refused']);
    const credential = authenticator.create(options, home());
    const answer = await browser.postJson('/login/enroll/passkey', { credential });
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ recovery_codes: expect.any(Array) as unknown })]);
    expect(await isSignedIn(browser)).toBe(true);
    await browser.postJson('/logout', {});
    expect(await refusalOf(await browser.postJson('/login/enroll/passkey', { credential }))).toEqual([410, 'sign_in_expired']);
  });

  test('somebody with a factor is asked for it instead, also where two-step is off', async () => {
    const ctx = await service.context();
    const user = await addUser(ctx);
    await givePasskey(service, user, new SoftwareAuthenticator());
    await setEnvironment(service, { second_factor_policy: 'required' });
    const browser = new Browser(service.url);
    const answer = await browser.postJson('/login', { email: user.email, password });
    expect(await answer.json()).toMatchObject({ user: null, redirect_to: '/login/verify', second_factor: { methods: ['passkey'] } });
    expect(await refusalOf(await browser.postJson('/login/enroll/totp', {}))).toEqual([410, 'sign_in_expired']);
    expect((await browser.get('/login/enroll?return_to=%2Faccount')).headers.get('location')).toBe('/login/verify?return_to=%2Faccount');
  });

  test('a sign-in that was to enrol is over once the person has a factor: it adds none beside it, and skips nothing (attack 25.641)', async () => {
    await setEnvironment(service, { second_factor_policy: 'required', second_factor_grace_lifetime: 86_400 });
    const { user, browser: thief } = await enrolling();
    const { authenticator_id, secret } = await startTotp(thief);
    const options = await creationOptionsAt(thief, '/login/enroll/passkey/options');
    const credential = new SoftwareAuthenticator().create(options, home());
    await givePasskey(service, user, new SoftwareAuthenticator());
    for (const [path, body] of [
      ['skip', {}],
      ['totp', {}],
      ['totp/verify', { authenticator_id, code: totpCode(secret, now()) }],
      ['passkey/options', {}],
      ['passkey', { credential }],
    ] as const)
      expect(await refusalOf(await thief.postJson(`/login/enroll/${path}`, body))).toEqual([410, 'sign_in_expired']);
    expect((await thief.get('/login/enroll')).headers.get('location')).toBe('/login');
    expect((await thief.get('/login/verify')).headers.get('location')).toBe('/login/enroll');
    expect(await isSignedIn(thief)).toBe(false);
    expect((await findUser((await service.context()).scope, user.id))?.authenticator_kinds).toEqual(['passkey']);
  });

  test('a new account has to enrol as well: registration is no way around it (attack 25.549)', async () => {
    await setEnvironment(service, { second_factor_policy: 'required' });
    const email = 'newcomer@example.com';
    const browser = new Browser(service.url);
    const { registration_id } = (await (await browser.postJson('/register', { email })).json()) as { registration_id: string };
    const code = codeIn(await lastMailTo(service.url, email));
    const verified = await browser.postJson('/register/verify', { registration_id, code });
    const { registration_token } = (await verified.json()) as { registration_token: string };
    const fields = { registration_token, first_name: 'New', last_name: 'Comer', password: 'a wholly different sentence' };
    const answer = await browser.postJson('/register/complete', fields);
    expect([answer.status, await answer.json()]).toEqual([201, expect.objectContaining({ user: null, redirect_to: '/login/enroll' })]);
    expect(await isSignedIn(browser)).toBe(false);
    const { authenticator_id, secret } = await startTotp(browser);
    expect((await browser.postJson('/login/enroll/totp/verify', { authenticator_id, code: totpCode(secret, now()) })).status).toBe(200);
    expect(await isSignedIn(browser)).toBe(true);
  });

  test('in the grace time it can wait; the time runs from the first demand', async () => {
    await setEnvironment(service, { second_factor_policy: 'required', second_factor_grace_lifetime: 86_400 });
    const { user, browser, asked } = await enrolling();
    const skip_expires_at = (asked['second_factor'] as { skip_expires_at: string }).skip_expires_at;
    expect(Math.abs(Date.parse(skip_expires_at) - now().getTime() - 86_400_000)).toBeLessThan(5_000);
    expect(await (await browser.get('/login/enroll')).text()).toContain('Not now');
    const skipped = await browser.postJson('/login/enroll/skip', { return_to: '/account?x=y' });
    expect([skipped.status, await skipped.json()]).toEqual([200, expect.objectContaining({ redirect_to: '/account?x=y' })]);
    expect(await isSignedIn(browser)).toBe(true);
    service.clock.advance(43_200_000);
    const again = new Browser(service.url);
    const later = (await (await again.postJson('/login', { email: user.email, password })).json()) as {
      second_factor: { skip_expires_at: string };
    };
    expect(later.second_factor.skip_expires_at).toBe(
      (await findUser((await service.context()).scope, user.id))?.factor_required_since &&
        new Date(Number((await findUser((await service.context()).scope, user.id))?.factor_required_since) + 86_400_000).toISOString(),
    );
    service.clock.advance(43_300_000);
    await again.postJson('/login', { email: user.email, password });
    expect(await refusalOf(await again.postJson('/login/enroll/skip', {}))).toEqual([403, 'factor_required']);
    expect(await isSignedIn(again)).toBe(false);
  });

  test('for people with Management permissions alone, others go in as ever', async () => {
    await setEnvironment(service, { second_factor_policy: 'required_for_management' });
    const ctx = await service.context();
    const [administrator, person] = [await addUser(ctx), await addUser(ctx)];
    await permit(ctx, administrator.id, 'users:read');
    const ask = async (email: string) =>
      (await (await new Browser(service.url).postJson('/login', { email, password })).json()) as { user: unknown; redirect_to: string };
    expect((await ask(administrator.email)).redirect_to).toBe('/login/enroll');
    expect((await ask(person.email)).user).not.toBeNull();
  });

  test('only what the environment has can be enrolled', async () => {
    await setEnvironment(service, { second_factor_policy: 'required', totp_enabled: false });
    const { browser, asked } = await enrolling();
    expect((asked['second_factor'] as { enroll: string[] }).enroll).toEqual(['passkey']);
    expect(await refusalOf(await browser.postJson('/login/enroll/totp', {}))).toEqual([403, 'totp_disabled']);
    await setEnvironment(service, { totp_enabled: true, passkeys_enabled: false });
    expect(await refusalOf(await browser.postJson('/login/enroll/passkey/options', {}))).toEqual([403, 'passkeys_disabled']);
    expect(await refusalOf(await browser.postJson('/login/enroll/passkey', { credential: {} }))).toEqual([403, 'passkeys_disabled']);
  });

  test('policy off: nothing is demanded, what exists is still asked for', async () => {
    const { user } = await addTwoStepUser(service);
    await setEnvironment(service, { second_factor_policy: 'off' });
    const answer = await new Browser(service.url).postJson('/login', { email: user.email, password });
    expect(await answer.json()).toMatchObject({ user: null, second_factor: { methods: ['totp', 'recovery_code'] } });
  });
});

describe('the pages', () => {
  test('set up an app without scripts, from the sign-in form to the recovery codes', async () => {
    await setEnvironment(service, { second_factor_policy: 'required' });
    const user = await addUser(await service.context());
    const browser = new Browser(service.url);
    const login = await browser.login(user.email, password, '/account?x=y');
    expect(login.headers.get('location')).toBe('/login/enroll?return_to=%2Faccount%3Fx%3Dy');
    const choice = await (await browser.get('/login/enroll?return_to=%2Faccount%3Fx%3Dy')).text();
    const fields = { _csrf: csrfOf(choice), return_to: '/account?x=y' };
    const set = await (await browser.post('/login/enroll/totp', fields)).text();
    const secret = /id="totp-secret">([A-Z2-7 ]+)</.exec(set)?.[1]?.replaceAll(' ', '') ?? '';
    const authenticator_id = /name="authenticator_id" value="([^"]+)"/.exec(set)?.[1] ?? '';
    expect(set).toContain('action="/login/enroll/totp/verify"');
    const wrong = await browser.post('/login/enroll/totp/verify', { ...fields, authenticator_id, code: 'abc' });
    expect([wrong.status, (await wrong.text()).includes(secret.slice(0, 4))]).toEqual([422, true]);
    const done = await browser.post('/login/enroll/totp/verify', { ...fields, authenticator_id, code: totpCode(secret, now()) });
    const codes = await done.text();
    expect([done.status, codes.includes('Save your recovery codes'), codes.includes('href="/account?x=y"')]).toEqual([200, true, true]);
    expect(await isSignedIn(browser)).toBe(true);
  });

  test('send a stranger to the sign-in page, and refuse forms of other sites (attack 25.550)', async () => {
    const stranger = await new Browser(service.url).get('/login/enroll?return_to=%2Faccount');
    expect([stranger.status, stranger.headers.get('location')]).toEqual([303, '/login?return_to=%2Faccount']);
    await setEnvironment(service, { second_factor_policy: 'required', second_factor_grace_lifetime: 600 });
    const { browser } = await enrolling();
    const _csrf = csrfOf(await (await browser.get('/login/enroll')).text());
    for (const step of ['totp', 'totp/verify', 'passkey', 'passkey/options', 'skip']) {
      expect((await browser.post(`/login/enroll/${step}`, {})).status).toBe(403);
      expect((await browser.post(`/login/enroll/${step}`, { _csrf }, { origin: 'https://evil.example' })).status).toBe(403);
    }
    expect(await isSignedIn(browser)).toBe(false);
    expect((await browser.post('/login/enroll/skip', { _csrf })).status).toBe(303);
  });
});

describe('a session that is to reach a higher class', () => {
  const signedIn = async () => {
    const { user, secret } = await addTwoStepUser(service);
    const browser = new Browser(service.url);
    await browser.postJson('/login', { email: user.email, password });
    await browser.postJson('/login/verify', { method: 'totp', code: totpCode(secret, now()), remember_device: true });
    await browser.postJson('/logout', {});
    // By the remembered browser: one factor.
    await browser.postJson('/login', { email: user.email, password });
    service.clock.advance(30_000);
    return { user, secret, browser };
  };

  test('gives the factor that is missing, keeps its session and gets a new token', async () => {
    const { browser, secret } = await signedIn();
    const before = browser.cookies.get('idp_session');
    const page = await (await browser.get('/login/verify?acr_values=2&return_to=%2Faccount%3Fx%3Dy')).text();
    expect(page).toContain('name="acr_values" value="2"');
    expect(page).not.toContain('remember_device');
    const code = totpCode(secret, now());
    const answer = await browser.postJson('/login/verify', { method: 'totp', code, acr_values: '2', return_to: '/account?x=y' });
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ redirect_to: '/account?x=y' })]);
    expect(browser.cookies.get('idp_session')).not.toBe(before);
    const account = (await (await browser.get('/account', { accept: 'application/json' })).json()) as { sessions: { amr: string[] }[] };
    expect(account.sessions.map(({ amr }) => amr)).toEqual([['pwd', 'otp', 'mfa']]);
  });

  test('for the class phr only a passkey is offered, and enrolled once it is confirmed who it is', async () => {
    const { browser, secret } = await signedIn();
    expect(await (await browser.get('/login/verify?acr_values=phr')).text()).toContain('None of your sign-in methods');
    const there = '/login/enroll?acr_values=phr&return_to=%2Faccount';
    expect((await browser.get(there)).headers.get('location')).toBe(
      `/account/confirm?${new URLSearchParams({ return_to: there }).toString()}`,
    );
    expect(await refusalOf(await browser.postJson('/login/enroll/passkey/options', { acr_values: 'phr' }))).toEqual([
      410,
      'sign_in_expired',
    ]);
    expect((await browser.postJson('/login/verify', { method: 'totp', code: totpCode(secret, now()), acr_values: '2' })).status).toBe(200);
    const page = await (await browser.get(there)).text();
    expect([page.includes('action="/login/enroll/passkey"'), page.includes('/login/enroll/totp'), page.includes('Not now')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(await refusalOf(await browser.postJson('/login/enroll/totp', { acr_values: 'phr' }))).toEqual([403, 'totp_disabled']);
    expect(await refusalOf(await browser.postJson('/login/enroll/skip', { acr_values: 'phr' }))).toEqual([403, 'factor_required']);
    const options = await creationOptionsAt(browser, '/login/enroll/passkey/options', { acr_values: 'phr' });
    const credential = new SoftwareAuthenticator().create(options, home());
    const answer = await browser.postJson('/login/enroll/passkey', { credential, acr_values: 'phr', return_to: '/account' });
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ redirect_to: '/account' })]);
  });
});

test('an enrolment that the browser breaks off is no error in the log, and nothing is left of it', async () => {
  await setEnvironment(service, { second_factor_policy: 'required' });
  const { user, browser } = await enrolling();
  const { knex } = service.deps.db;
  const lines = () => service.log.map((line) => JSON.parse(line) as { level: number; path?: string; aborted?: boolean });
  const before = service.log.length;
  const blocking = await knex.transaction();
  await blocking.raw('lock table authenticators in exclusive mode');
  const leaving = new AbortController();
  const headers = { 'content-type': 'application/json' };
  const answer = browser.request('/login/enroll/totp', { method: 'POST', body: '{}', headers, signal: leaving.signal }).catch(() => 'gone');
  const waiting = async () => {
    const { rows } = await knex.raw<{ rows: unknown[] }>(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and pid <> pg_backend_pid()`,
    );
    return rows.length;
  };
  await expect.poll(waiting).toBe(1);
  leaving.abort();
  expect(await answer).toBe('gone');
  const told = () =>
    lines()
      .slice(before)
      .filter(({ path }) => path === '/login/enroll/totp');
  await expect.poll(told).toContainEqual(expect.objectContaining({ aborted: true }));
  await blocking.rollback();
  expect((await startTotp(browser)).secret).toBeTruthy();
  expect(
    lines()
      .slice(before)
      .filter(({ level }) => level >= 40),
  ).toEqual([]);
  expect(await knex('authenticators').where({ user_id: user.id })).toHaveLength(1);
});

test('a passkey that is half sent when the browser leaves is no error in the log, and can be made anew', async () => {
  await setEnvironment(service, { second_factor_policy: 'required' });
  const { user, browser } = await enrolling();
  const lines = () => service.log.map((line) => JSON.parse(line) as { level: number; path?: string; aborted?: boolean });
  const before = service.log.length;
  const told = () => lines().slice(before).filter(({ path }) => path === '/login/enroll/passkey'); // prettier-ignore
  const credential = new SoftwareAuthenticator().create(await creationOptionsAt(browser, '/login/enroll/passkey/options'), home());
  const text = Buffer.from(JSON.stringify({ credential }));
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  socket.write(
    `POST /login/enroll/passkey HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\nOrigin: ${new URL(service.url).origin}\r\nContent-Type: application/json\r\nCookie: ${cookie}\r\nContent-Length: ${text.length}\r\n\r\n`,
  );
  socket.write(text.subarray(0, text.length >> 1), () => socket.resetAndDestroy());
  await expect.poll(told).toContainEqual(expect.objectContaining({ aborted: true }));
  expect(
    lines()
      .slice(before)
      .filter(({ level }) => level >= 40),
  ).toEqual([]);
  expect(await service.deps.db.knex('authenticators').where({ user_id: user.id, status: 'active' })).toEqual([]);
  const again = new SoftwareAuthenticator().create(await creationOptionsAt(browser, '/login/enroll/passkey/options'), home());
  expect((await browser.postJson('/login/enroll/passkey', { credential: again })).status).toBe(200);
});

// The second step at /login/verify: what it asks, what completes it, what it never opens.
import { describe, expect, test } from 'vitest';
import { authorizeQuery, s256 } from '../support/authorize.js';
import { findUser } from '../../src/db/tables/users.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient, addUser, password } from '../support/data.js';
import {
  addTwoStepUser,
  givePasskey,
  giveTotp,
  halfSignedIn,
  optionsAt,
  refusalOf,
  setEnvironment,
  totpCode,
  wrongTotpCode,
} from '../support/factors.js';
import { codeIn, lastMailTo, mailTo } from '../support/mailbox.js';
import { auditRows } from '../support/security-events.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';
import { SoftwareAuthenticator } from '../support/software-authenticator.js';

const service = sharedService(() => startTestService());

type Asked = { user: null; redirect_to: string; second_factor: { methods: string[]; expires_in: number; remember_device: boolean } };
type SignedIn = { user: { email: string }; redirect_to: string };

const now = () => service.clock.now();
const isSignedIn = async (browser: Browser) => (await browser.get('/account', { accept: 'application/json' })).status === 200;
const verify = (browser: Browser, body: object) => browser.postJson('/login/verify', body);
const amrHere = async (browser: Browser) => {
  const answer = await browser.get('/account', { accept: 'application/json' });
  const { sessions } = (await answer.json()) as { sessions: { current: boolean; amr: string[] }[] };
  return sessions.find(({ current }) => current)?.amr;
};

describe('after a right password', () => {
  test('somebody with two-step is asked for more: no session, a cookie that says nothing, and where it goes on', async () => {
    const { user } = await addTwoStepUser(service);
    const browser = new Browser(service.url);
    const answer = await browser.postJson('/login', { email: user.email, password, return_to: '/account?a=b' });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      user: null,
      redirect_to: '/login/verify?return_to=%2Faccount%3Fa%3Db',
      second_factor: { methods: ['totp', 'recovery_code'], expires_in: 600, remember_device: true },
    } satisfies Asked);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const cookie = answer.headers.getSetCookie().find((one) => one.startsWith('idp_signin='));
    expect(cookie).toMatch(/^idp_signin=[\w-]{43}; Max-Age=600; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
    expect(browser.cookies.has('idp_session')).toBe(false);
    const form = new Browser(service.url);
    const page = await form.login(user.email, password, '/account?a=b');
    expect([page.status, page.headers.get('location')]).toEqual([303, '/login/verify?return_to=%2Faccount%3Fa%3Db']);
  });

  test('somebody without factors is signed in as ever, and no half sign-in is left', async () => {
    const ctx = await service.context();
    const { email } = await addUser(ctx);
    const browser = new Browser(service.url);
    const answer = await browser.postJson('/login', { email, password });
    expect(Object.keys((await answer.json()) as object)).toEqual(['user', 'redirect_to']);
    expect([...browser.cookies.keys()].sort()).toEqual(['idp_device', 'idp_session']);
  });

  test('a passkey beside the password asks nothing more: it only offers to', async () => {
    const ctx = await service.context();
    const user = await addUser(ctx);
    await givePasskey(service, user, new SoftwareAuthenticator());
    expect(
      ((await (await new Browser(service.url).postJson('/login', { email: user.email, password })).json()) as SignedIn).user.email,
    ).toBe(user.email);
  });
});

/** What is kept of the user's logins, and how many are in the audit log. */
async function loginsOf(user_id: string) {
  const user = await findUser((await service.context()).scope, user_id);
  const rows = (await auditRows(service, 'login.succeeded')).filter(({ actor_id }) => actor_id === user_id);
  return { last_login_at: user?.last_login_at, login_count: user?.login_count, recorded: rows.length };
}

describe('a login is a whole sign-in (specification 4.12.10)', () => {
  const none = { last_login_at: null, login_count: 0, recorded: 0 };
  const once = { last_login_at: expect.any(Date), login_count: 1, recorded: 1 };

  test('a right password without its second factor counts as none, with it as one', async () => {
    const { user, secret } = await addTwoStepUser(service);
    await halfSignedIn(service, user);
    const browser = await halfSignedIn(service, user);
    expect(await loginsOf(user.id)).toEqual(none);
    expect((await verify(browser, { method: 'totp', code: wrongTotpCode(secret, now()) })).status).toBe(422);
    expect(await loginsOf(user.id)).toEqual(none);
    expect((await verify(browser, { method: 'totp', code: totpCode(secret, now()) })).status).toBe(200);
    expect(await loginsOf(user.id)).toEqual(once);
  });

  test('a code by mail and its second factor count alike', async () => {
    await setEnvironment(service, { email_code_sign_in_enabled: true });
    const { user, secret } = await addTwoStepUser(service);
    const browser = new Browser(service.url);
    const { sign_in_id } = (await (await browser.postJson('/login/code', { email: user.email })).json()) as { sign_in_id: string };
    const code = codeIn(await lastMailTo(service.url, user.email));
    expect((await browser.postJson('/login/code/verify', { sign_in_id, code })).status).toBe(200);
    expect(browser.cookies.has('idp_signin')).toBe(true);
    expect(await loginsOf(user.id)).toEqual(none);
    expect((await verify(browser, { method: 'totp', code: totpCode(secret, now()) })).status).toBe(200);
    expect(await loginsOf(user.id)).toEqual(once);
    await setEnvironment(service, { email_code_sign_in_enabled: false });
  });

  const counted = async () => (await service.deps.metrics.logins.get()).values.map(({ labels, value }) => ({ labels, value }));

  test('a password that confirms a session is none, and is told as what it is (specification 4.12.11)', async () => {
    const user = await addUser(await service.context());
    const browser = new Browser(service.url);
    await browser.postJson('/login', { email: user.email, password });
    expect(await loginsOf(user.id)).toEqual(once);
    const [before, signIns] = [await loginsOf(user.id), await counted()];
    service.clock.advance(1000);
    expect((await browser.postJson('/account/confirm', { password })).status).toBe(200);
    expect(await loginsOf(user.id)).toEqual({ ...once, last_login_at: before.last_login_at });
    const confirmed = (await auditRows(service, 'session.confirmed')).filter(({ actor_id }) => actor_id === user.id);
    expect(confirmed).toMatchObject([
      { outcome: 'success', target_type: 'session', changes: { amr: [null, ['pwd']] }, security_event: true },
    ]);
    expect(await counted()).toEqual(signIns);
  });

  test('a second step that brings a session to a higher class is none (specification 4.12.11)', async () => {
    const user = await addUser(await service.context());
    const browser = new Browser(service.url);
    await browser.postJson('/login', { email: user.email, password });
    const { secret } = await giveTotp(await service.context(), user.id);
    service.clock.advance(60_000);
    const signIns = await counted();
    const answer = await verify(browser, { method: 'totp', code: totpCode(secret, now()), acr_values: '2' });
    expect([answer.status, await amrHere(browser)]).toEqual([200, ['pwd', 'otp', 'mfa']]);
    expect(await loginsOf(user.id)).toEqual(once);
    expect(await counted()).toEqual(signIns);
  });

  test('wrong passwords are forgotten with the right one, whatever becomes of the second step', async () => {
    const { user } = await addTwoStepUser(service);
    const failed = async () => (await findUser((await service.context()).scope, user.id))?.failed_login_count;
    for (const wrong of ['a wrong one', 'another wrong one'])
      await new Browser(service.url).postJson('/login', { email: user.email, password: wrong });
    expect(await failed()).toBe(2);
    await halfSignedIn(service, user);
    expect(await failed()).toBe(0);
  });
});

describe('the half sign-in', () => {
  test('opens nothing: the account, applications, the dashboard and linking see a stranger (attack 25.531)', async () => {
    const ctx = await service.context();
    const client = await addClient(ctx);
    const { user } = await addTwoStepUser(service);
    const browser = await halfSignedIn(service, user);
    expect((await browser.get('/account', { accept: 'application/json' })).status).toBe(401);
    expect((await browser.get('/account/authenticators', { accept: 'application/json' })).status).toBe(401);
    expect((await browser.postJson('/account/password', { current_password: password, password: 'a new and long one' })).status).toBe(401);
    expect((await browser.get('/dashboard')).headers.get('location')).toMatch(/^\/login\?/);
    const query = authorizeQuery(client, s256());
    const authorize = await browser.get(`/oauth/authorize?${query.toString()}`);
    expect(authorize.headers.get('location')).toMatch(/^\/login\?/);
    const silent = await browser.get(`/oauth/authorize?${query.toString()}&prompt=none`);
    expect(new URL(silent.headers.get('location') as string).searchParams.get('error')).toBe('login_required');
    // Its token is no session's.
    const asSession = { cookie: `idp_session=${browser.cookies.get('idp_signin')}`, accept: 'application/json' };
    expect((await fetch(`${service.url}/account`, { headers: asSession })).status).toBe(401);
  });

  test('a right code completes it: session, cookie gone, where the person was going', async () => {
    const { user, secret } = await addTwoStepUser(service);
    const browser = await halfSignedIn(service, user);
    const answer = await verify(browser, { method: 'totp', code: totpCode(secret, now()), return_to: '/account?x=y' });
    expect(answer.status).toBe(200);
    const body = (await answer.json()) as SignedIn;
    expect([body.user.email, body.redirect_to]).toEqual([user.email, '/account?x=y']);
    expect([browser.cookies.has('idp_signin'), await isSignedIn(browser)]).toEqual([false, true]);
    expect(await amrHere(browser)).toEqual(['pwd', 'otp', 'mfa']);
  });

  test('a recovery code completes it once, whatever its spelling, and is told by mail', async () => {
    const { user, recovery_codes } = await addTwoStepUser(service);
    const [code = ''] = recovery_codes;
    const browser = await halfSignedIn(service, user);
    expect((await verify(browser, { method: 'recovery_code', code: ` ${code.toLowerCase().replace('-', ' ')} ` })).status).toBe(200);
    expect((await lastMailTo(service.url, user.email)).subject).toContain('A recovery code was used');
    const again = await halfSignedIn(service, user);
    expect(await refusalOf(await verify(again, { method: 'recovery_code', code }))).toEqual([422, 'invalid_code']);
  });

  test('a passkey completes it, user verified or not, and says so', async () => {
    const { user } = await addTwoStepUser(service);
    const authenticator = new SoftwareAuthenticator();
    await givePasskey(service, user, authenticator);
    const browser = await halfSignedIn(service, user);
    const options = await optionsAt(browser, '/login/verify/passkey/options');
    expect(options).toMatchObject({ userVerification: 'preferred', allowCredentials: [{ id: authenticator.credentials[0]?.id }] });
    const credential = authenticator.get(options, { origin: service.url, user_verified: false });
    expect((await verify(browser, { credential })).status).toBe(200);
    expect(await amrHere(browser)).toEqual(['pwd', 'pop', 'user', 'mfa']);
  });

  test('a wrong code says how many are left; five end it', async () => {
    const { user, secret } = await addTwoStepUser(service);
    const browser = await halfSignedIn(service, user);
    for (const left of [4, 3, 2, 1, 0]) {
      const answer = await verify(browser, { method: 'totp', code: wrongTotpCode(secret, now()) });
      const body = (await answer.json()) as { error: string; attempts_left: number };
      expect([answer.status, body.error, body.attempts_left]).toEqual([422, 'invalid_code', left]);
    }
    expect(await refusalOf(await verify(browser, { method: 'totp', code: totpCode(secret, now()) }))).toEqual([410, 'sign_in_expired']);
  });

  test('ten wrong steps lock the second step, not the password; the owner is told, once (attack 25.532)', async () => {
    const { user, secret, recovery_codes } = await addTwoStepUser(service);
    const refusals: [number, string][] = [];
    for (let sign_in = 0; sign_in < 3; sign_in++) {
      const browser = await halfSignedIn(service, user);
      for (let guess = 0; guess < 4; guess++) {
        const [method, code] = guess % 2 === 0 ? ['totp', wrongTotpCode(secret, now())] : ['recovery_code', 'BBBBB-BBBBB'];
        refusals.push(await refusalOf(await verify(browser, { method, code })));
      }
    }
    expect(refusals.slice(0, 10).every(([status]) => status === 422)).toBe(true);
    expect(refusals.slice(10)).toEqual([
      [429, 'second_factor_locked'],
      [429, 'second_factor_locked'],
    ]);
    const late = await halfSignedIn(service, user);
    const locked = await verify(late, { method: 'totp', code: totpCode(secret, now()) });
    expect(locked.status).toBe(429);
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(800);
    const subjects = (await mailTo(service.url, user.email)).map(({ subject }) => subject);
    expect(subjects.filter((subject) => subject.includes('second step is locked'))).toHaveLength(1);
    service.clock.advance(901_000);
    const after = await halfSignedIn(service, user);
    expect((await verify(after, { method: 'recovery_code', code: recovery_codes[0] })).status).toBe(200);
  });

  test.each([
    [{ method: 'totp' }, 'required'],
    [{ method: 'passkey', code: '123456' }, 'invalid_value'],
    [{ code: '123456' }, 'required'],
    [{}, 'required'],
  ])('%j is refused before it counts', async (body, code) => {
    const { user, secret } = await addTwoStepUser(service);
    const browser = await halfSignedIn(service, user);
    expect(await refusalOf(await verify(browser, body))).toEqual([422, code]);
    const counted = (await (await verify(browser, { method: 'totp', code: wrongTotpCode(secret, now()) })).json()) as {
      attempts_left: number;
    };
    expect(counted.attempts_left).toBe(4);
  });

  test('a method that the person doesn’t have is refused', async () => {
    const { user } = await addTwoStepUser(service);
    const browser = await halfSignedIn(service, user);
    expect(await refusalOf(await verify(browser, { method: 'email', code: '123456' }))).toEqual([403, 'second_factor_unavailable']);
    expect(await refusalOf(await browser.postJson('/login/verify/email', {}))).toEqual([403, 'email_code_disabled']);
  });

  test('ends with its time, logout, a new password and a block (attack 25.533)', async () => {
    const ctx = await service.context();
    const late = await addTwoStepUser(service);
    const browser = await halfSignedIn(service, late.user);
    service.clock.advance(601_000);
    expect(await refusalOf(await verify(browser, { method: 'totp', code: totpCode(late.secret, now()) }))).toEqual([
      410,
      'sign_in_expired',
    ]);

    const out = await addTwoStepUser(service);
    const leaving = await halfSignedIn(service, out.user);
    const token = leaving.cookies.get('idp_signin') as string;
    expect((await leaving.postJson('/logout', {})).status).toBe(200);
    expect(leaving.cookies.has('idp_signin')).toBe(false);
    leaving.cookies.set('idp_signin', token);
    expect((await verify(leaving, { method: 'totp', code: totpCode(out.secret, now()) })).status).toBe(410);

    const changed = await addTwoStepUser(service);
    const waiting = await halfSignedIn(service, changed.user);
    const forgot = await (await new Browser(service.url).postJson('/password/forgot', { email: changed.user.email })).json();
    const code = codeIn(await lastMailTo(service.url, changed.user.email));
    const reset = { reset_id: (forgot as { reset_id: string }).reset_id, code, password: 'an entirely new sentence' };
    expect((await new Browser(service.url).postJson('/password/reset', reset)).status).toBe(200);
    expect((await verify(waiting, { method: 'totp', code: totpCode(changed.secret, now()) })).status).toBe(410);

    const blocked = await addTwoStepUser(service);
    const stopped = await halfSignedIn(service, blocked.user);
    await ctx.scope.knex('users').where({ id: blocked.user.id }).update({ status: 'blocked' });
    expect((await verify(stopped, { method: 'totp', code: totpCode(blocked.secret, now()) })).status).toBe(410);
  });

  test('a password reset removes no factor and signs nobody in: the second step follows (attack 25.518)', async () => {
    const ctx = await service.context();
    const { user, secret } = await addTwoStepUser(service);
    const browser = new Browser(service.url);
    const { reset_id } = (await (await browser.postJson('/password/forgot', { email: user.email })).json()) as { reset_id: string };
    const code = codeIn(await lastMailTo(service.url, user.email));
    expect((await browser.postJson('/password/reset', { reset_id, code, password: 'an entirely new sentence' })).status).toBe(200);
    expect(browser.cookies.has('idp_session')).toBe(false);
    const answer = await browser.postJson('/login', { email: user.email, password: 'an entirely new sentence' });
    expect(((await answer.json()) as Asked).user).toBeNull();
    expect(await isSignedIn(browser)).toBe(false);
    expect(await findUser(ctx.scope, user.id)).toMatchObject({ two_step_enabled: true });
    expect((await verify(browser, { method: 'totp', code: totpCode(secret, now()) })).status).toBe(200);
  });

  test('one code in two requests at once signs in once (attack 25.535)', async () => {
    const { user, secret } = await addTwoStepUser(service);
    const browser = await halfSignedIn(service, user);
    const code = totpCode(secret, now());
    const answers = await Promise.all(Array.from({ length: 4 }, () => verify(browser, { method: 'totp', code })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });
});

describe('a code by mail as the second step', () => {
  test('is sent when asked for, once a minute, and completes the sign-in', async () => {
    await setEnvironment(service, { email_second_factor_enabled: true });
    const { user } = await addTwoStepUser(service);
    const browser = new Browser(service.url);
    const asked = (await (await browser.postJson('/login', { email: user.email, password })).json()) as Asked;
    expect(asked.second_factor.methods).toEqual(['totp', 'email', 'recovery_code']);
    const sent = await browser.postJson('/login/verify/email', {});
    expect([sent.status, await sent.json()]).toEqual([202, { expires_in: 600, resend_after: 60 }]);
    const soon = await browser.postJson('/login/verify/email', {});
    expect([soon.status, Number(soon.headers.get('retry-after')) > 50]).toEqual([429, true]);
    const code = codeIn(await lastMailTo(service.url, user.email));
    // Of no worth in another half sign-in of the same person.
    const elsewhere = await halfSignedIn(service, user);
    expect(await refusalOf(await verify(elsewhere, { method: 'email', code }))).toEqual([422, 'invalid_code']);
    expect((await verify(browser, { method: 'email', code })).status).toBe(200);
    await setEnvironment(service, { email_second_factor_enabled: false });
  });

  test('asked for by the form of a session that is to go on, comes back to that session', async () => {
    await setEnvironment(service, { email_second_factor_enabled: true });
    const { user, secret } = await addTwoStepUser(service);
    const browser = await halfSignedIn(service, user);
    expect((await verify(browser, { method: 'totp', code: totpCode(secret, now()) })).status).toBe(200);
    const hidden = { acr_values: '1', return_to: '/account' };
    const sent = await browser.submit('/login/verify?acr_values=1&method=email', hidden, '/login/verify/email');
    expect(sent.headers.get('location')).toBe('/login/verify?method=email&sent=1&acr_values=1&return_to=%2Faccount');
    await setEnvironment(service, { email_second_factor_enabled: false });
  });
});

describe('a remembered browser', () => {
  test('skips the second step until the password changes; another browser, and another person in it, don’t (attack 25.536)', async () => {
    const { user, secret } = await addTwoStepUser(service);
    const other = await addTwoStepUser(service);
    const browser = await halfSignedIn(service, user);
    expect((await verify(browser, { method: 'totp', code: totpCode(secret, now()), remember_device: true })).status).toBe(200);
    await browser.postJson('/logout', {});
    const again = await browser.postJson('/login', { email: user.email, password });
    expect(((await again.json()) as SignedIn).user.email).toBe(user.email);
    expect(await amrHere(browser)).toEqual(['pwd']);
    await browser.postJson('/logout', {});
    expect(((await (await browser.postJson('/login', { email: other.user.email, password })).json()) as Asked).user).toBeNull();
    await halfSignedIn(service, user);
    const ctx = await service.context();
    const { reset_id } = (await (await browser.postJson('/password/forgot', { email: user.email })).json()) as { reset_id: string };
    const code = codeIn(await lastMailTo(service.url, user.email));
    expect((await browser.postJson('/password/reset', { reset_id, code, password })).status).toBe(200);
    expect(((await (await browser.postJson('/login', { email: user.email, password })).json()) as Asked).user).toBeNull();
    expect(ctx.environment.remember_device_lifetime).toBeGreaterThan(0);
  });

  test('can’t be had where the environment doesn’t remember any', async () => {
    await setEnvironment(service, { remember_device_lifetime: 0 });
    const { user, secret } = await addTwoStepUser(service);
    const browser = new Browser(service.url);
    const asked = (await (await browser.postJson('/login', { email: user.email, password })).json()) as Asked;
    expect(asked.second_factor.remember_device).toBe(false);
    expect(await (await browser.get('/login/verify')).text()).not.toContain('remember_device');
    expect((await verify(browser, { method: 'totp', code: totpCode(secret, now()), remember_device: true })).status).toBe(200);
    await browser.postJson('/logout', {});
    await halfSignedIn(service, user);
    await setEnvironment(service, { remember_device_lifetime: 2_592_000 });
  });
});

describe('the page', () => {
  test('works as a form, keeps where the person was going, and refuses in words', async () => {
    const { user, secret } = await addTwoStepUser(service);
    const browser = new Browser(service.url);
    await browser.login(user.email, password, '/account?x=y');
    const page = await (await browser.get('/login/verify?return_to=%2Faccount%3Fx%3Dy')).text();
    expect(page).toContain('name="return_to" value="/account?x=y"');
    expect(page).toContain('autocomplete="one-time-code"');
    expect(page).toContain('method=recovery_code');
    const fields = { _csrf: csrfOf(page), method: 'totp', return_to: '/account?x=y' };
    const wrong = await browser.post('/login/verify', { ...fields, code: wrongTotpCode(secret, now()) });
    expect([wrong.status, await wrong.text()]).toEqual([422, expect.stringContaining('4 attempts are left.')]);
    const empty = await browser.post('/login/verify', { ...fields, code: '' });
    expect([empty.status, await empty.text()]).toEqual([422, expect.stringContaining('Fill in this field.')]);
    const done = await browser.post('/login/verify', { ...fields, code: totpCode(secret, now()) });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/account?x=y']);
  });

  test('names the field of a wrong recovery code as its label does, and says what the fifth wrong code ended', async () => {
    const { user } = await addTwoStepUser(service);
    const browser = new Browser(service.url);
    await browser.login(user.email, password);
    const page = await (await browser.get('/login/verify?method=recovery_code')).text();
    const guess = () => browser.post('/login/verify', { _csrf: csrfOf(page), method: 'recovery_code', code: 'BBBBB-BBBBB' });
    const wrong = await (await guess()).text();
    expect(wrong).toMatch(/<label for="code">Recovery code<\/label>[\s\S]*?id="code-error"[\s\S]*?That recovery code is incorrect/);
    for (let tries = 2; tries < 5; tries++) expect((await guess()).status).toBe(422);
    const ended = await guess();
    expect([ended.status, await ended.text()]).toEqual([410, expect.stringContaining('too many wrong codes')]);
  });

  test('sends a stranger to the sign-in page, and bears the headers of every page', async () => {
    const stranger = await new Browser(service.url).get('/login/verify?return_to=%2Faccount');
    expect([stranger.status, stranger.headers.get('location')]).toEqual([303, '/login?return_to=%2Faccount']);
    const { user } = await addTwoStepUser(service);
    const page = await (await halfSignedIn(service, user)).get('/login/verify');
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(page.headers.get('permissions-policy')).toBe('publickey-credentials-get=(self), publickey-credentials-create=(self)');
  });

  test('a form of another site, or without its token, takes no second step (attack 25.537)', async () => {
    const { user, secret } = await addTwoStepUser(service);
    const browser = await halfSignedIn(service, user);
    const page = await (await browser.get('/login/verify')).text();
    const fields = { method: 'totp', code: totpCode(secret, now()) };
    const foreign = csrfOf(await (await new Browser(service.url).get('/login')).text());
    const attempts = [
      await browser.post('/login/verify', fields),
      await browser.post('/login/verify', { ...fields, _csrf: foreign }),
      await browser.post('/login/verify', { ...fields, _csrf: csrfOf(page) }, { origin: 'https://evil.example' }),
      await browser.postJson('/login/verify', fields, { origin: 'https://evil.example' }),
      await browser.postJson('/login/verify/email', {}, { 'sec-fetch-site': 'cross-site' }),
      await browser.postJson('/login/verify/passkey/options', {}, { origin: 'https://evil.example' }),
    ];
    expect(attempts.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403]);
    expect((await verify(browser, fields)).status).toBe(200);
  });

  test('options for a passkey are for the half signed in alone', async () => {
    expect(await refusalOf(await new Browser(service.url).postJson('/login/verify/passkey/options', {}))).toEqual([401, 'login_required']);
    expect(await refusalOf(await verify(new Browser(service.url), { method: 'totp', code: '123456' }))).toEqual([410, 'sign_in_expired']);
  });
});

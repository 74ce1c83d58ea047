import { beforeAll, describe, expect, test } from 'vitest';
import { startPasswordReset } from '../../src/domain/credentials/password-reset.js';
import { isNamedEvent, type EventType } from '../../src/domain/events/catalogue.js';
import { createPasswordHasher } from '../../src/domain/passwords/passwords.js';
import { findUser, updateUser, type UserRow } from '../../src/db/tables/users.js';
import { Browser } from '../support/browser.js';
import { addClient, addUser, password } from '../support/data.js';
import { eventsOf, subscribe } from '../support/events.js';
import { codeIn, lastMailTo, mailTo, otherCode } from '../support/mailbox.js';
import { authorizeCode, redeem, tokenRequest } from '../support/oauth.js';
import { manage, startManagedService } from '../support/management.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService(() => startManagedService({}, { overrides: { passwords: createPasswordHasher() } }));

beforeAll(async () => {
  await subscribe(service, ['*']);
});

const fresh = 'nine quiet herons by the lake';

type Answer = { status: number; body: Record<string, unknown> & { fields?: Record<string, string[]> } };

async function post(path: string, body: unknown, browser = new Browser(service.url)): Promise<Answer> {
  const response = await browser.postJson(path, body);
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const newUser = async (row: Partial<UserRow> = {}) => addUser(await service.context(), row);

async function signedIn(user: UserRow, secret = password): Promise<Browser> {
  const browser = new Browser(service.url);
  expect((await browser.login(user.email, secret)).status).toBe(303);
  return browser;
}

const isSignedIn = async (browser: Browser) => (await browser.get('/account')).status === 200;

async function forgot(user: UserRow): Promise<{ reset_id: string; code: string }> {
  const { status, body } = await post('/password/forgot', { email: user.email });
  expect(status).toBe(202);
  return { reset_id: body['reset_id'] as string, code: codeIn(await lastMailTo(service.url, user.email)) };
}

/** What a webhook is told that wants `*`: `password.changed`, which comes by name, is stored beside it (specification 7.2.5). */
const toldOf = async (user: UserRow) => (await eventsOf(service, user.id)).filter(({ event }) => !isNamedEvent(event as EventType));

const linkIn = (text: string) => new URL(/http\S+\/password\/reset\?\S+/.exec(text)?.[0] ?? '').searchParams;

describe('recovery', () => {
  test('a reset ends sessions and refresh tokens, is told by one event and by mail (attack 12.139)', async () => {
    const ctx = await service.context();
    const [user, client] = [await newUser(), await addClient(ctx)];
    const [one, other] = [await signedIn(user), await signedIn(user)];
    const tokens = await redeem(service.url, client, await authorizeCode(one, client, { scope: 'openid offline_access' }));
    const started = await post('/password/forgot', { email: user.email.toUpperCase() });
    expect(started.body).toEqual({ reset_id: expect.any(String), expires_in: 600 });
    const mail = await lastMailTo(service.url, user.email);
    expect(mail.subject).not.toMatch(/\d{6}/);
    const answer = await post('/password/reset', { reset_id: started.body['reset_id'], code: codeIn(mail), password: fresh });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ redirect_to: '/login?notice=password_reset', identities: [] });
    expect(answer.body['sessions']).toHaveLength(2);
    expect([await isSignedIn(one), await isSignedIn(other)]).toEqual([false, false]);
    const refreshed = await tokenRequest(service.url, client, {
      grant_type: 'refresh_token',
      refresh_token: tokens.body.refresh_token ?? '',
    });
    expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant']);
    const events = await toldOf(user);
    expect(events.map((event) => event.event)).toEqual(['user.password_reset']);
    expect(events[0]?.data).toMatchObject({ email: user.email, initiated_by: 'user', sessions_revoked: true });
    expect((await lastMailTo(service.url, user.email)).subject).toContain('was reset');
    expect((await new Browser(service.url).login(user.email, password)).status).toBe(401);
    await signedIn(user, fresh);
  });

  test('forged hosts change no link in the mail (attack 12.136)', async () => {
    const user = await newUser();
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
      'x-forwarded-for': '1.2.3.4',
    };
    await new Browser(service.url, headers).postJson('/password/forgot', { email: user.email });
    const { text, html } = await lastMailTo(service.url, user.email);
    expect(text).toContain(`${service.url}/password/reset?`);
    expect(text + html).not.toContain('evil.example');
  });

  test('the code of one person with the reset of another, or cut short, is refused (attack 12.138)', async () => {
    const [one, other] = [await forgot(await newUser()), await forgot(await newUser())];
    const attempt = async (reset_id: string, code: string) => {
      const { status, body } = await post('/password/reset', { reset_id, code, password: fresh });
      return [status, body['error'], body['attempts_left']];
    };
    expect(await attempt(one.reset_id, other.code === one.code ? otherCode(one.code) : other.code)).toEqual([422, 'invalid_code', 4]);
    expect(await attempt(one.reset_id, one.code.slice(0, 5))).toEqual([422, 'invalid_code', 3]);
    expect(await attempt(one.reset_id.slice(0, 20), one.code)).toEqual([410, 'code_expired', undefined]);
    expect(await attempt('01990000-0000-7000-8000-000000000000', one.code)).toEqual([410, 'code_expired', undefined]);
  });

  test('fifty parallel wrong codes get five tries; the link of the mail still lets the owner in', async () => {
    const user = await newUser();
    const { reset_id, code } = await forgot(user);
    const guesses = await Promise.all(
      Array.from({ length: 50 }, () => post('/password/reset', { reset_id, code: otherCode(code), password: fresh })),
    );
    expect(guesses.filter((guess) => guess.status === 422)).toHaveLength(5);
    expect((await post('/password/reset', { reset_id, code, password: fresh })).body['error']).toBe('code_expired');
    const link = linkIn((await lastMailTo(service.url, user.email)).text);
    const wrong = await post('/password/reset', { reset_id, code: 'x'.repeat(43), password: fresh });
    expect([wrong.status, wrong.body['error']]).toEqual([410, 'code_expired']);
    expect((await post('/password/reset', { reset_id: link.get('reset_id'), code: link.get('code'), password: fresh })).status).toBe(200);
    expect((await post('/password/reset', { reset_id: link.get('reset_id'), code: link.get('code'), password: `${fresh}!` })).status).toBe(
      410,
    );
  });

  test('a refused password does not spend the code, and tells nobody the name of the owner', async () => {
    const user = await newUser({ first_name: 'Wilhelmina', last_name: 'Featherstonehaugh' });
    const { reset_id, code } = await forgot(user);
    const attempt = async (given: string, secret: string) => post('/password/reset', { reset_id, code: given, password: secret });
    const byName = 'wilhelmina1';
    expect((await attempt(otherCode(code), byName)).body['error']).toBe('invalid_code');
    for (let i = 0; i < 5; i++) expect((await attempt(code, byName)).body.fields).toEqual({ password: ['password_contains_name'] });
    expect((await attempt(code, 'short')).body.fields).toEqual({ password: ['password_too_short'] });
    expect((await attempt(code, user.email)).body['error']).toBe('password_contains_email');
    expect((await attempt(code, fresh)).status).toBe(200);
  });

  test('what is missing is named', async () => {
    expect((await post('/password/reset', { reset_id: 'x' })).body.fields).toEqual({ code: ['required'], password: ['required'] });
    expect((await post('/password/forgot', { email: 'nobody' })).body).toMatchObject({
      error: 'invalid_email',
      fields: { email: ['invalid_email'] },
    });
  });

  test('a code runs out, and one reset voids the others', async () => {
    const user = await newUser();
    const [one, other] = [await forgot(user), await forgot(user)];
    expect((await post('/password/reset', { ...one, password: fresh })).status).toBe(200);
    expect((await post('/password/reset', { ...other, password: fresh })).status).toBe(410);
    const late = await forgot(user);
    service.clock.advance(601_000);
    expect((await post('/password/reset', { ...late, password: fresh })).status).toBe(410);
  });

  test('unknown and blocked addresses get the same answer and no mail', async () => {
    const blocked = await newUser({ status: 'blocked' });
    for (const email of ['nobody@example.com', blocked.email]) {
      const { status, body } = await post('/password/forgot', { email });
      expect([status, body]).toEqual([202, { reset_id: expect.any(String), expires_in: 600 }]);
      const guess = await post('/password/reset', { reset_id: body['reset_id'], code: '123456', password: fresh });
      expect([guess.status, guess.body['attempts_left']]).toEqual([422, 4]);
      await expect.poll(async () => (await service.deps.db.knex('mails').where({ recipient: email, status: 'pending' })).length).toBe(0);
      expect(await mailTo(service.url, email)).toEqual([]);
    }
  });

  test('an administrator starts a reset; the code is in the mail alone (attack 12.142)', async () => {
    const ctx = await service.context();
    const user = await newUser({ email_verified: false });
    const started = await startPasswordReset(ctx, user, { initiated_by: 'admin' });
    const mail = await lastMailTo(service.url, user.email);
    expect(JSON.stringify(started)).not.toContain(codeIn(mail));
    expect(started.expires_in).toBe(86_400);
    expect(mail.text).toContain('An administrator requested');
    service.clock.advance(3_600_000);
    expect((await post('/password/reset', { reset_id: started.reset_id, code: codeIn(mail), password: fresh })).status).toBe(200);
    const events = await eventsOf(service, user.id);
    expect(events.map((event) => event.event).sort()).toEqual(['password.changed', 'user.password_reset', 'user.updated']);
    expect(JSON.stringify(events)).not.toContain(codeIn(mail));
    const [reset] = events.filter((event) => event.event === 'user.password_reset');
    expect(reset?.data).toMatchObject({ initiated_by: 'admin', sessions_revoked: false });
  });

  test('somebody without a password sets one, and the address counts as verified', async () => {
    const ctx = await service.context();
    const user = await newUser({ password_hash: null, email_verified: false });
    expect((await post('/password/reset', { ...(await forgot(user)), password: fresh })).status).toBe(200);
    expect(await findUser(ctx.scope, user.id)).toMatchObject({ email_verified: true });
    await signedIn(user, fresh);
  });

  test('an address that changed meanwhile makes its code worthless', async () => {
    const ctx = await service.context();
    const user = await newUser();
    const started = await forgot(user);
    await updateUser(ctx.scope, user.id, { email: 'moved@example.com', email_key: 'moved@example.com' });
    expect((await post('/password/reset', { ...started, password: fresh })).status).toBe(410);
  });

  test('as pages: from the sign-in page to a new password, without JavaScript', async () => {
    const user = await newUser();
    const browser = new Browser(service.url);
    const sent = await browser.submit('/password/forgot', { email: user.email, return_to: '/account' });
    expect(sent.status).toBe(303);
    const path = sent.headers.get('location') ?? '';
    const reset_id = new URL(path, service.url).searchParams.get('reset_id') ?? '';
    const code = codeIn(await lastMailTo(service.url, user.email));
    const wrong = await browser.submit(path, { reset_id, code: otherCode(code), password: fresh }, '/password/reset');
    expect([wrong.status, await wrong.text()]).toEqual([422, expect.stringContaining('That code is incorrect')]);
    const weak = await browser.submit(path, { reset_id, code, password: 'short' }, '/password/reset');
    expect(await weak.text()).toMatch(new RegExp(`value="${code}"[\\s\\S]*at least 8 characters`));
    const done = await browser.submit(path, { reset_id, code, password: fresh, return_to: '/account' }, '/password/reset');
    expect([done.status, done.headers.get('location')]).toEqual([303, '/login?notice=password_reset&return_to=%2Faccount']);
    expect(await (await browser.get(done.headers.get('location') ?? '')).text()).toContain('Your password has been changed');
    expect((await browser.get('/password/reset')).headers.get('location')).toBe('/password/forgot');
    const link = linkIn((await mailTo(service.url, user.email))[1]?.text ?? '');
    const page = await (await browser.get(`/password/reset?${link}`)).text();
    expect(page).toContain(`name="code" value="${link.get('code')}"`);
  });
});

describe('change', () => {
  test('the password changes with the current one only; other sessions end, one event, a mail (attack 12.141)', async () => {
    const user = await newUser();
    const [here, there] = [await signedIn(user), await signedIn(user)];
    const open = await forgot(user);
    const change = (fields: object, browser = here) => post('/account/password', fields, browser);
    expect((await change({ password: fresh })).body.fields).toEqual({ current_password: ['required'] });
    const wrong = await change({ current_password: 'not it', password: fresh });
    expect([wrong.status, wrong.body['error'], wrong.body.fields]).toEqual([
      401,
      'invalid_password',
      { current_password: ['invalid_password'] },
    ]);
    const weak = await change({ current_password: password, password: 'short' });
    expect([weak.status, weak.body.fields]).toEqual([422, { password: ['password_too_short'] }]);
    const crossed = await here.postJson(
      '/account/password',
      { current_password: password, password: fresh },
      { origin: 'https://evil.example' },
    );
    expect(crossed.status).toBe(403);
    expect((await here.post('/account/password', { current_password: password, password: fresh })).status).toBe(403);
    expect((await change({ current_password: password, password: fresh }, new Browser(service.url))).status).toBe(401);
    expect(await eventsOf(service, user.id)).toEqual([]);
    const done = await change({ current_password: password, password: fresh });
    expect([done.status, done.body['user']]).toEqual([200, expect.objectContaining({ id: user.id })]);
    expect([await isSignedIn(here), await isSignedIn(there)]).toEqual([true, false]);
    const events = await toldOf(user);
    expect(events.map((event) => event.event)).toEqual(['user.password_changed']);
    expect(events[0]?.data).toMatchObject({ id: user.id, sessions_revoked: true });
    expect((await lastMailTo(service.url, user.email)).subject).toContain('was changed');
    expect((await post('/password/reset', { ...open, password: `${fresh}?` })).status).toBe(410);
  });

  test('a changed password ends every refresh token, offline_access too, and leaves this browser signed in (attack 12.276)', async () => {
    const ctx = await service.context();
    const [user, client] = [await newUser(), await addClient(ctx)];
    const [here, elsewhere] = [await signedIn(user), await signedIn(user)];
    const held: string[] = [];
    for (const [browser, scope] of [
      [here, 'openid offline_access'],
      [elsewhere, 'openid offline_access'],
      [here, 'openid'],
    ] as const) {
      held.push((await redeem(service.url, client, await authorizeCode(browser, client, { scope }))).body.refresh_token ?? '');
    }
    expect((await post('/account/password', { current_password: password, password: fresh }, here)).status).toBe(200);
    for (const refresh_token of held) {
      const refreshed = await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token });
      expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant']);
    }
    expect([await isSignedIn(here), await isSignedIn(elsewhere)]).toEqual([true, false]);
    const again = await redeem(service.url, client, await authorizeCode(here, client, { scope: 'openid offline_access' }));
    expect(again.body.refresh_token).toEqual(expect.any(String));
  });

  test('a password that an administrator sets ends refresh tokens, offline_access too', async () => {
    const ctx = await service.context();
    const [user, client] = [await newUser(), await addClient(ctx)];
    const tokens = await redeem(service.url, client, await authorizeCode(await signedIn(user), client, { scope: 'openid offline_access' }));
    const api = await manage(service.url);
    const answer = await api.update('users', user.id, { password: fresh });
    expect(answer.status).toBe(200);
    const refreshed = await tokenRequest(service.url, client, {
      grant_type: 'refresh_token',
      refresh_token: tokens.body.refresh_token ?? '',
    });
    expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('as a page, with the errors at their fields', async () => {
    const user = await newUser();
    const browser = await signedIn(user);
    const refused = await browser.submit('/account', { current_password: 'not it', password: fresh }, '/account/password');
    expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining('That isn’t your current password')]);
    const done = await browser.submit('/account', { current_password: password, password: fresh }, '/account/password');
    expect(done.headers.get('location')).toBe('/account?done=password');
    expect(await (await browser.get('/account?done=password')).text()).toContain('Password changed');
  });

  test('an account without a password has none to change', async () => {
    const ctx = await service.context();
    const user = await newUser();
    const browser = await signedIn(user);
    await updateUser(ctx.scope, user.id, { password_hash: null });
    const answer = await post('/account/password', { current_password: password, password: fresh }, browser);
    expect([answer.status, answer.body['error']]).toEqual([422, 'no_password']);
  });
});

describe('lockout', () => {
  test('a locked account recovers by mail, keeps its sessions, and opens again (attack 10.115)', async () => {
    const user = await newUser();
    const inside = await signedIn(user);
    const attempt = async (secret: string) => (await post('/login', { email: user.email, password: secret })).status;
    for (let i = 0; i < 10; i++) expect(await attempt('wrong')).toBe(401);
    expect(await attempt(password)).toBe(401);
    expect(await isSignedIn(inside)).toBe(true);
    expect((await post('/password/reset', { ...(await forgot(user)), password: fresh })).status).toBe(200);
    expect(await attempt(fresh)).toBe(200);
    for (let i = 0; i < 10; i++) await attempt('wrong');
    expect(await attempt(fresh)).toBe(401);
    service.clock.advance(901_000);
    expect(await attempt(fresh)).toBe(200);
  });

  test('wrong current passwords count too', async () => {
    const user = await newUser();
    const browser = await signedIn(user);
    for (let i = 0; i < 10; i++) await post('/account/password', { current_password: `wrong ${i}`, password: fresh }, browser);
    expect((await post('/account/password', { current_password: password, password: fresh }, browser)).status).toBe(401);
    expect((await post('/login', { email: user.email, password })).status).toBe(401);
  });
});

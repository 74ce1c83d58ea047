import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { findUser, type UserRow } from '../../src/db/tables/users.js';
import { transaction } from '../../src/domain/context.js';
import { changeAddress } from '../../src/domain/credentials/address-change.js';
import { noOrigin } from '../../src/domain/origin.js';
import { endSessions } from '../../src/domain/sessions/sessions.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addUser, password } from '../support/data.js';
import { eventsOf, subscribe } from '../support/events.js';
import { codeIn, lastMailTo, mailTo, otherCode } from '../support/mailbox.js';
import { auditRows } from '../support/security-events.js';
import { sharedService } from '../support/shared-service.js';
import { setEnvironment } from '../support/signed-in.js';

const service = sharedService();

beforeAll(async () => {
  await subscribe(service, ['user.updated']);
});

async function signedIn(user: UserRow): Promise<Browser> {
  const browser = new Browser(service.url);
  expect((await browser.login(user.email, password)).status).toBe(303);
  return browser;
}

const newUser = async (row: Partial<UserRow> = {}) => addUser(await service.context(), row);
const newAddress = () => `new-${randomUUID().slice(-12)}@example.com`;
const stored = async ({ id }: UserRow) => findUser((await service.context()).scope, id);

async function post(browser: Browser, path: string, body: object): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await browser.postJson(path, body);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('specification 4.5.8', () => {
  test('a code at the new address changes it; both are told, and the old one doesn’t learn the new (specification 4.5.8)', async () => {
    const [user, email] = [await newUser({ email_verified: true }), newAddress()];
    const browser = await signedIn(user);
    expect(await post(browser, '/account/email', { email })).toMatchObject({ status: 202, body: { expires_in: 600 } });
    const code = codeIn(await lastMailTo(service.url, email));
    expect(await post(browser, '/account/email/verify', { code: otherCode(code) })).toMatchObject({
      status: 422,
      body: { error: 'invalid_code', attempts_left: 4 },
    });
    expect((await stored(user))?.email).toBe(user.email);
    expect(await post(browser, '/account/email/verify', { code })).toMatchObject({
      status: 200,
      body: { user: { email, email_verified: true } },
    });
    expect((await lastMailTo(service.url, email)).text).toContain('This is now the email address');
    const told = await lastMailTo(service.url, user.email);
    expect(told.text).toContain('You can no longer sign in with this address');
    expect(told.text).not.toContain(email);
    expect((await eventsOf(service, user.id)).at(-1)).toMatchObject({
      event: 'user.updated',
      data: { email, previous_attributes: { email: user.email } },
    });
    expect((await auditRows(service, 'address.changed')).map(({ target_id }) => target_id)).toContain(user.id);
    expect((await browser.get('/account')).status).toBe(200);
    await signedIn({ ...user, email });
  });

  test('the pages do it without scripts, and go back to the account, which says so', async () => {
    const [user, email] = [await newUser({ email_verified: true }), newAddress()];
    const browser = await signedIn(user);
    const form = { _csrf: csrfOf(await (await browser.get('/account')).text()) };
    const refused = await browser.post('/account/email', { ...form, email: 'nobody' });
    expect(refused.status).toBe(422);
    expect(await refused.text()).toContain('value="nobody"');
    expect((await browser.post('/account/email', { ...form, email })).headers.get('location')).toBe('/account/email/verify');
    const page = await (await browser.get('/account/email/verify')).text();
    expect(page).toContain(email);
    expect((await browser.post('/account/email/verify', { _csrf: csrfOf(page), code: '' })).status).toBe(422);
    const code = codeIn(await lastMailTo(service.url, email));
    const changed = await browser.post('/account/email/verify', { _csrf: csrfOf(page), code });
    expect(changed.headers.get('location')).toBe('/account?done=email');
    expect(await (await browser.get('/account?done=email')).text()).toContain('Email address changed.');
    expect((await browser.get('/account/email/verify')).headers.get('location')).toBe('/account');
  });

  test('without a fresh proof no code goes out (attack 13.1303)', async () => {
    const [user, email] = [await newUser(), newAddress()];
    const browser = await signedIn(user);
    service.clock.advance(3_600_000);
    expect(await post(browser, '/account/email', { email })).toMatchObject({ status: 403, body: { error: 'confirmation_required' } });
    expect(await mailTo(service.url, email)).toEqual([]);
  });

  test('an address that has an account is answered alike, and its owner is told (attack 13.1304)', async () => {
    const [user, other] = [await newUser(), await newUser()];
    const browser = await signedIn(user);
    expect(await post(browser, '/account/email', { email: other.email })).toMatchObject({ status: 202, body: { expires_in: 600 } });
    expect((await lastMailTo(service.url, other.email)).subject).toContain('already have an account');
    expect(await post(browser, '/account/email/verify', { code: '000000' })).toMatchObject({
      status: 422,
      body: { error: 'invalid_code' },
    });
  });

  test('an address that somebody registers before the code is typed is taken', async () => {
    const [user, email] = [await newUser(), newAddress()];
    const browser = await signedIn(user);
    await post(browser, '/account/email', { email });
    const code = codeIn(await lastMailTo(service.url, email));
    await newUser({ email, email_key: email });
    expect(await post(browser, '/account/email/verify', { code })).toMatchObject({ status: 409, body: { error: 'email_taken' } });
  });

  test('a code is worth nothing in another session, and once it has been used (attack 13.1305)', async () => {
    const [user, email] = [await newUser({ email_verified: true }), newAddress()];
    const [browser, elsewhere] = [await signedIn(user), await signedIn(user)];
    await post(browser, '/account/email', { email });
    const code = codeIn(await lastMailTo(service.url, email));
    expect(await post(elsewhere, '/account/email/verify', { code })).toMatchObject({ status: 410, body: { error: 'code_expired' } });
    const both = await Promise.all([1, 2].map(async () => post(browser, '/account/email/verify', { code })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 410]);
  });

  test('a change that is under way when a recovery ends its session moves nothing (attack 72.1971)', async () => {
    const [user, email, ctx] = [await newUser({ email_verified: true }), newAddress(), await service.context()];
    await post(await signedIn(user), '/account/email', { email });
    const code = codeIn(await lastMailTo(service.url, email));
    const [session] = await transaction(ctx, (tx) => endSessions(tx, { user_id: user.id }, 'password_reset'));
    const own = { id: session?.id ?? '', user_id: user.id };
    expect(await changeAddress(ctx, own, code, noOrigin)).toEqual({ outcome: 'expired' });
    expect((await stored(user))?.email).toBe(user.email);
  });

  test('a reset that was mailed to the old address ends with it (attack 13.1306)', async () => {
    const [user, email] = [await newUser({ email_verified: true }), newAddress()];
    const browser = await signedIn(user);
    const reset = await post(new Browser(service.url), '/password/forgot', { email: user.email });
    const old = codeIn(await lastMailTo(service.url, user.email));
    await post(browser, '/account/email', { email });
    await post(browser, '/account/email/verify', { code: codeIn(await lastMailTo(service.url, email)) });
    const { reset_id } = reset.body;
    expect(
      await post(new Browser(service.url), '/password/reset', { reset_id, code: old, password: 'long enough for anybody' }),
    ).toMatchObject({ status: 410, body: { error: 'code_expired' } });
  });

  test('addresses of a required connection are neither left nor taken, nor those of another domain than allowed (attack 13.1307)', async () => {
    const domain = `${randomUUID().slice(-8)}.example`;
    const [user, managed] = [await newUser(), await newUser({ email: `ada@${domain}`, email_key: `ada@${domain}` })];
    const [browser, held] = [await signedIn(user), await signedIn(managed)];
    await addConnection(await service.context(), { display_name: 'Corp', domains: [domain], required: true });
    expect(await (await held.get('/account')).text()).toContain('Corp manages this address.');
    expect(await post(held, '/account/email', { email: newAddress() })).toMatchObject({
      status: 403,
      body: { error: 'domain_not_allowed' },
    });
    expect(await post(browser, '/account/email', { email: `eve@${domain}` })).toMatchObject({
      status: 422,
      body: { error: 'domain_not_allowed' },
    });
    await setEnvironment(service, { allowed_email_domains: ['allowed.example'] });
    expect(await post(browser, '/account/email', { email: newAddress() })).toMatchObject({
      status: 422,
      body: { fields: { email: ['domain_not_allowed'] } },
    });
    await setEnvironment(service, { allowed_email_domains: [] });
  });
});

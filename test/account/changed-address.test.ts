// What rests on an address that an administrator takes from somebody: codes that were mailed to it, and sign-ins that they began.
import { expect, test } from 'vitest';
import { Browser } from '../support/browser.js';
import { addTwoStepUser, halfSignedIn, setEnvironment, totpCode } from '../support/factors.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { manage } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

/** What PATCH of the Management API does, as a directory and an import do. */
async function moveAddress(id: string): Promise<void> {
  const attributes = { email: `moved-${id}@example.com`, email_verified: true };
  expect((await api.update('users', id, attributes)).status).toBe(200);
}

test('a sign-in that a code at the address before began does not go on (attack 68.1930)', async () => {
  await setEnvironment(service, { email_code_sign_in_enabled: true });
  const { user, secret } = await addTwoStepUser(service, { email_verified: true });
  const browser = new Browser(service.url);
  const { sign_in_id } = (await (await browser.postJson('/login/code', { email: user.email })).json()) as { sign_in_id: string };
  const code = codeIn(await lastMailTo(service.url, user.email));
  expect((await browser.postJson('/login/code/verify', { sign_in_id, code })).status).toBe(200);
  expect(browser.cookies.has('idp_signin')).toBe(true);
  await moveAddress(user.id);
  const answer = await browser.postJson('/login/verify', { method: 'totp', code: totpCode(secret, service.clock.now()) });
  expect([answer.status, browser.cookies.has('idp_session')]).toEqual([410, false]);
});

test('a code that was mailed to the address before is no second step any more (attack 68.1930)', async () => {
  await setEnvironment(service, { email_second_factor_enabled: true });
  const { user } = await addTwoStepUser(service, { email_verified: true });
  const browser = await halfSignedIn(service, user);
  expect((await browser.postJson('/login/verify/email', {})).status).toBe(202);
  const code = codeIn(await lastMailTo(service.url, user.email));
  await moveAddress(user.id);
  const answer = await browser.postJson('/login/verify', { method: 'email', code });
  expect([answer.status, browser.cookies.has('idp_session')]).toEqual([410, false]);
});

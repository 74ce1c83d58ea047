// An administrator resets somebody who lost everything: by the Management API, and the person's way back in Chromium.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { updateEnvironment } from '../../src/db/tables/environments.js';
import { addUser, password } from '../support/data.js';
import { sharedChromium, signInAt } from '../support/chromium.js';
import { codeIn, lastMailTo, mailTo } from '../support/mailbox.js';
import { manage } from '../support/management.js';
import { needs } from '../support/programs.js';
import { giveTotp, totpCode } from '../support/factors.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';
import { VirtualAuthenticator } from '../support/virtual-authenticator.js';

const test = needs('chromium');
/** A browser beside other work is slow. */
const patience = { timeout: 120_000 };

const service = sharedManagedService();
const ctx = contextOf(service);
const chromium = sharedChromium();

const signIn = (page: Page, email: string, secret = password) => signInAt(page, service.url, email, secret);

async function reset(user_id: string): Promise<void> {
  const api = await manage(service.url);
  expect((await api.request('PATCH', `/users/${user_id}/reset_authenticators`)).status).toBe(200);
}

test(
  'an app and the codes are lost: after the reset the password is enough to set up another, where the policy asks for one',
  patience,
  async () => {
    const user = await addUser(ctx);
    await giveTotp(ctx, user.id);
    service.clock.advance(60_000);
    const page = await chromium.newPage();
    await signIn(page, user.email);
    await page.waitForURL(/\/login\/verify/);
    await page.getByRole('link', { name: 'Use a recovery code' }).click();
    await page.getByLabel('Recovery code').fill('BBBBB-BBBBB');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.locator('#code-error').waitFor();

    await updateEnvironment(ctx.scope, ctx.environment.id, { second_factor_policy: 'required' });
    service.deps.cache.clear();
    await reset(user.id);
    expect((await lastMailTo(service.url, user.email)).subject).toMatch(/sign-in methods were reset$/);
    // The half sign-in has ended with it.
    await page.goto(`${service.url}/login/verify`);
    await page.waitForURL(/\/login(\?|$)/);
    await signIn(page, user.email);
    await page.waitForURL(/\/login\/enroll/);
    await page.goto(`${service.url}/account`);
    await page.waitForURL(/\/login/);
    await signIn(page, user.email);
    await page.getByRole('button', { name: 'Set up an app' }).click();
    const secret = ((await page.locator('#totp-secret').textContent()) ?? '').replaceAll(' ', '');
    await page.getByRole('textbox', { name: 'Code' }).fill(totpCode(secret, service.clock.now()));
    await page.locator('#totp button[type=submit]').click();
    await page.getByRole('link', { name: 'I’ve saved them' }).click();
    await page.waitForURL(/\/account/);
    await updateEnvironment(ctx.scope, ctx.environment.id, { second_factor_policy: 'optional' });
    service.deps.cache.clear();
    await page.close();
  },
);

test('the passkey was the only way in: the reset sends a mail to set a password, and a new passkey is added', patience, async () => {
  const email = 'mary@example.com';
  const newPassword = 'a lighthouse behind the dunes';
  const page = await chromium.newPage();
  const device = await VirtualAuthenticator.plugIn(page);
  await page.goto(`${service.url}/register`);
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(/\/register\/verify/);
  await page.getByLabel('Code').fill(codeIn(await lastMailTo(service.url, email)));
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('First name').fill('Mary');
  await page.getByLabel('Last name').fill('Shelley');
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('link', { name: 'I’ve saved them' }).click();
  await page.waitForURL(/\/account/);
  await device.lose();

  const api = await manage(service.url);
  const found = await api.request('GET', `/users?filter[email]=${encodeURIComponent(email)}`);
  await reset((found.body['data'] as { id: string }[])[0]?.id as string);
  // The session has ended, wherever it was.
  await page.goto(`${service.url}/account`);
  await page.waitForURL(/\/login/);
  const mails = await mailTo(service.url, email);
  const mail = mails.find(({ subject }) => subject.startsWith('Reset your '));
  await page.goto(/https?:\/\/\S*\/password\/reset\S*/.exec(mail?.text ?? '')?.[0] as string);
  await page.getByLabel('New password').fill(newPassword);
  await page.locator('form[action="/password/reset"] button[type=submit]').click();
  await page.waitForURL((url) => url.pathname !== '/password/reset' || url.search === '');
  await signIn(page, email, newPassword);
  await page.waitForURL(/\/account/);
  const found2 = await VirtualAuthenticator.plugIn(page);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('Passkey added.').waitFor();
  expect(await found2.count()).toBe(1);
  await page.close();
});

// People and what signs them in beside a password, at /account: in Chromium with an authenticator of its own, and without JavaScript.
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { rememberBrowser } from '../../src/domain/sessions/remembered-browsers.js';
import { addUser, password } from '../support/data.js';
import { picture, sharedChromium, signInAt } from '../support/chromium.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { needs } from '../support/programs.js';
import { totpCode } from '../support/factors.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { VirtualAuthenticator } from '../support/virtual-authenticator.js';

const test = needs('chromium');
/** A browser beside other work is slow. */
const patience = { timeout: 120_000 };

const service = sharedService();
const ctx = contextOf(service);
const chromium = sharedChromium();

const signIn = (page: Page, email: string, secret = password) => signInAt(page, service.url, email, secret);

/** A page of a context of its own, whose console is to stay silent. */
async function open(
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<{ context: BrowserContext; page: Page; errors: string[] }> {
  const context = await chromium.newContext({ locale: 'en-GB', ...options });
  const errors: string[] = [];
  context.on('weberror', (error) => errors.push(String(error.error())));
  return { context, page: await context.newPage(), errors };
}

const methods = (page: Page) => page.getByRole('region', { name: 'Sign-in methods' });
const later = () => service.clock.advance(601_000);
const secretOn = async (page: Page) => ((await page.locator('#totp-secret').textContent()) ?? '').replaceAll(' ', '');
const codeNow = (secret: string) => totpCode(secret, service.clock.now());

/** The codes of the page that shows them, and on. */
async function keepCodes(page: Page): Promise<string[]> {
  await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor();
  const codes = ((await page.locator('#recovery-codes').textContent()) ?? '').trim().split('\n');
  expect(codes).toHaveLength(10);
  await page.getByRole('link', { name: 'I’ve saved them' }).click();
  return codes;
}

describe('with an authenticator', () => {
  test('a passkey is added by button; later it confirms that an app may be added too, and nothing is asked twice', patience, async () => {
    const user = await addUser(ctx);
    const { context, page, errors } = await open();
    const device = await VirtualAuthenticator.plugIn(page);
    await signIn(page, user.email);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('Passkey added.').waitFor();
    expect(await device.count()).toBe(1);
    await picture(page, 'account-passkey-added');

    later();
    await page.getByRole('button', { name: 'Add an authenticator app' }).click();
    await page.getByRole('heading', { name: 'Confirm your identity' }).waitFor();
    await picture(page, 'confirm-by-passkey');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('heading', { name: 'Add an authenticator app' }).waitFor();
    await page.getByRole('textbox', { name: 'Code' }).fill(codeNow(await secretOn(page)));
    await page.getByRole('button', { name: 'Add app' }).click();
    await keepCodes(page);
    await page.waitForURL(/\/account$/);
    expect(await methods(page).getByRole('listitem').filter({ hasText: 'Two-step sign-in' }).textContent()).toContain('On');
    expect(errors).toEqual([]);
    await context.close();
  });

  test('the button of somebody who was not there for a while leads to the confirmation and back', patience, async () => {
    const user = await addUser(ctx);
    const { context, page } = await open();
    await VirtualAuthenticator.plugIn(page);
    await signIn(page, user.email);
    await page.getByRole('button', { name: 'Add a passkey' }).waitFor();
    later();
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.waitForURL(/\/account\/confirm\?/);
    await page.getByLabel('Your password').fill(password);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Thank you. Continue here.').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Add a passkey');
    await page.keyboard.press('Enter');
    await page.getByText('Passkey added.').waitFor();
    await context.close();
  });

  test('a dialog that is closed is a sentence, and the page goes on working', patience, async () => {
    const user = await addUser(ctx);
    const { context, page, errors } = await open();
    await signIn(page, user.email);
    const button = page.getByRole('button', { name: 'Add a passkey' });
    await page.evaluate(`navigator.credentials.create = () => Promise.reject(new DOMException('closed', 'NotAllowedError'))`);
    await button.click();
    await page.getByText('No passkey was created. Try again').waitFor();
    expect(await button.getAttribute('aria-busy')).toBeNull();
    await page.evaluate(`navigator.credentials.create = () => Promise.reject(new DOMException('known', 'InvalidStateError'))`);
    await button.click();
    await page.getByText('This device already has a passkey for your account.').waitFor();
    expect([new URL(page.url()).pathname, errors]).toEqual(['/account', []]);
    await context.close();
  });

  test('a person registers with a passkey, loses it, comes back with a recovery code, and enrols another', patience, async () => {
    const email = 'grace@example.com';
    const newPassword = 'a harbour in the morning mist';
    const { context, page, errors } = await open();
    const lost = await VirtualAuthenticator.plugIn(page);
    await page.goto(`${service.url}/register`);
    await page.getByLabel('Email address').fill(email);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(/\/register\/verify/);
    await page.getByLabel('Code').fill(codeIn(await lastMailTo(service.url, email)));
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('First name').fill('Grace');
    await page.getByLabel('Last name').fill('Hopper');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    const [code = ''] = await keepCodes(page);
    await page.waitForURL(/\/account/);
    expect(await methods(page).textContent()).toContain('10 of 10 left');

    // The telephone is gone, and the browser with it: a new one, where nothing is known.
    await lost.lose();
    await context.close();
    later();
    const other = await open();
    await other.page.goto(`${service.url}/password/forgot`);
    await other.page.getByLabel('Email address').fill(email);
    await other.page
      .getByRole('button', { name: /code|Continue|Send/ })
      .first()
      .click();
    await other.page.waitForURL(/\/password\/reset/);
    await other.page.getByLabel('Code').fill(codeIn(await lastMailTo(service.url, email)));
    await other.page.getByLabel('New password').fill(newPassword);
    await other.page.locator('form[action="/password/reset"] button[type=submit]').click();
    await other.page.waitForURL((url) => url.pathname !== '/password/reset' || url.search === '');
    await signIn(other.page, email, newPassword);
    // The mailbox alone opened nothing: the second step is asked for.
    await other.page.waitForURL(/\/login\/verify/);
    await other.page.goto(`${service.url}/account`);
    await other.page.waitForURL(/\/login/);
    await signIn(other.page, email, newPassword);
    await other.page.getByRole('link', { name: 'Use a recovery code' }).click();
    await other.page.getByLabel('Recovery code').fill(code.toLowerCase());
    await other.page.getByRole('button', { name: 'Continue' }).click();
    await other.page.waitForURL(/\/account/);
    expect(await methods(other.page).textContent()).toContain('9 of 10 left');

    const found = await VirtualAuthenticator.plugIn(other.page);
    const old = methods(other.page).locator('.methods li').first();
    await other.page.getByRole('button', { name: 'Add a passkey' }).click();
    await other.page.getByText('Passkey added.').waitFor();
    expect(await found.count()).toBe(1);
    await methods(other.page).locator('.methods li').nth(1).waitFor();
    await old.page().locator('.methods li').nth(1).getByText('Rename or remove').click();
    await other.page
      .locator('.methods li')
      .nth(1)
      .getByRole('button', { name: /^Remove/ })
      .click();
    await other.page.getByText('Removed.').waitFor();
    expect(await methods(other.page).locator('.methods li').count()).toBe(1);
    expect((await lastMailTo(service.url, email)).subject).toMatch(/^A passkey was removed/);
    expect([...errors, ...other.errors]).toEqual([]);
    await other.context.close();
  });
});

describe('without JavaScript', () => {
  test('everything but passkeys works: an app, codes, two-step, devices, names, confirming', patience, async () => {
    const user = await addUser(ctx);
    const { context, page } = await open({ javaScriptEnabled: false, viewport: { width: 320, height: 640 }, colorScheme: 'dark' });
    await signIn(page, user.email);
    await page.getByText('Adding a passkey needs JavaScript').waitFor();
    expect(await page.getByRole('button', { name: 'Add a passkey' }).count()).toBe(0);

    await page.getByRole('button', { name: 'Add an authenticator app' }).click();
    await picture(page, 'totp-without-script');
    expect(await page.getByRole('img', { name: /^QR code/ }).count()).toBe(1);
    const secret = await secretOn(page);
    await page.getByRole('textbox', { name: 'Code' }).fill('123');
    await page.getByRole('button', { name: 'Add app' }).click();
    await page.getByText('That code is incorrect').first().waitFor();
    expect(await secretOn(page)).toBe(secret);
    await page.getByRole('textbox', { name: 'Code' }).fill(codeNow(secret));
    await page.getByRole('button', { name: 'Add app' }).click();
    const [downloaded] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download' }).click()]);
    expect(downloaded.suggestedFilename()).toBe('recovery-codes.txt');
    const codes = await keepCodes(page);

    later();
    await page.getByText('Rename or remove').click();
    await page.getByLabel('Name', { exact: true }).fill('My telephone');
    await page.getByRole('button', { name: /^Save the name/ }).click();
    await page.getByText('What you entered is kept.').waitFor();
    await page.getByText('Use a recovery code').click();
    await page.getByLabel('Recovery code').fill(codes[0] as string);
    await page.locator('#confirm-recovery').getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Name saved.').waitFor();
    expect(await methods(page).textContent()).toContain('My telephone');

    await page.getByRole('button', { name: 'Turn off two-step sign-in' }).click();
    await page.getByText('Two-step sign-in is off.').waitFor();
    await page.getByRole('button', { name: 'Turn on two-step sign-in' }).click();
    await page.getByText('Two-step sign-in is on.').waitFor();
    const origin = { ip_address: '203.0.113.5', user_agent: null, request_id: null };
    await transaction(ctx, (tx) => rememberBrowser(tx, { id: `device of ${user.id}` }, user.id, origin));
    await page.reload();
    await page.getByRole('button', { name: /^Forget Unknown device/ }).click();
    await page.getByText('Device forgotten.').waitFor();
    await page.getByRole('button', { name: 'Create new codes' }).click();
    expect(await keepCodes(page)).not.toContain(codes[1]);
    await page.getByText('Rename or remove').click();
    await page.getByRole('button', { name: 'Remove My telephone' }).click();
    await page.getByText('Removed.').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await context.close();
  });
});

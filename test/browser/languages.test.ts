// A sign-in in a language that is written from right to left, and pages of long words, by keyboard, with and without scripts.
import { describe, expect } from 'vitest';
import { format } from '../../src/lib/languages/messages.js';
import { addClient, addUser, password } from '../support/data.js';
import { axeViolations } from '../support/axe.js';
import { sharedChromium, signInAt } from '../support/chromium.js';
import { Keyboard } from '../support/keyboard.js';
import { needs } from '../support/programs.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const browser = sharedChromium();
const service = sharedService(() => startTestService());
const ctx = contextOf(service);
const client = shared(() => addClient(ctx, { name: 'Acme Notes', first_party: false, redirect_uris: [`${service.url}/healthz`] }));

const screenshots = process.env['SCREENSHOTS'];

const authorizePath = (ui_locales: string) =>
  `/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', scope: 'openid profile', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256', ui_locales })}`;

describe.each([true, false])('with scripts: %s', (javaScriptEnabled) => {
  test('somebody signs in in Arabic by keyboard and allows the application (specification 4.13.1)', async () => {
    const user = await addUser(ctx, { locale: 'en' });
    const context = await browser.newContext({ javaScriptEnabled, locale: 'en-GB' });
    const page = await context.newPage();
    const keys = new Keyboard(page);
    await page.goto(service.url + authorizePath('ar'));
    expect(await page.locator('html').getAttribute('dir')).toBe('rtl');
    expect(await page.title()).toContain('Acme Notes');
    await expect.poll(() => keys.focus()).toBe('input#email');
    // An address runs from left to right, and stands where the language begins.
    expect(
      await page.locator('#email').evaluate((input) => [getComputedStyle(input).direction, getComputedStyle(input).textAlign]),
    ).toEqual(['ltr', 'end']);
    await keys.type(user.email);
    await keys.fill(page.getByLabel('كلمة المرور', { exact: true }), password);
    await keys.leave('Enter', '**/oauth/authorize/**');
    expect(await page.locator('html').getAttribute('lang')).toBe('ar');
    await expect.poll(() => page.getByRole('button', { name: 'سماح', exact: true }).isVisible()).toBe(true);
    expect(await page.getByRole('button', { name: 'إلغاء', exact: true }).isVisible()).toBe(true);
    const stops = await keys.to(page.getByRole('button', { name: 'سماح', exact: true }));
    expect(stops.at(-1)).toBe('button#allow "سماح"');
    await keys.leave('Enter', `${client.redirect_uris[0] ?? ''}**`);
    expect(new URL(page.url()).searchParams.get('code')).toMatch(/^[\w-]{40,}$/);
    await context.close();
  });

  test('somebody tends to the account in Arabic by keyboard, and goes on in German (specification 4.13.1)', async () => {
    const user = await addUser(ctx, { locale: 'ar' });
    const elsewhere = await browser.newContext();
    const other = await elsewhere.newPage();
    await signInAt(other, service.url, user.email, password);
    await other.waitForURL('**/account');

    const context = await browser.newContext({ javaScriptEnabled, locale: 'ar' });
    const page = await context.newPage();
    const keys = new Keyboard(page);
    await page.goto(`${service.url}/login`);
    await keys.type(user.email);
    await keys.fill(page.getByLabel(format('ar', 'common.password'), { exact: true }), password);
    await keys.leave('Enter', '**/account');
    expect(await page.locator('html').getAttribute('lang')).toBe('ar');
    expect(await page.locator('html').getAttribute('dir')).toBe('rtl');

    // Beside each other the first name comes first, which is on the right.
    const stops = await keys.to(page.getByLabel(format('ar', 'profile.first_name'), { exact: true }));
    expect(stops).not.toContain('input#last_name');
    await keys.type('آدا');
    const right = await page.locator('#first_name').evaluate((field) => field.getBoundingClientRect().right);
    await keys.to(page.getByLabel(format('ar', 'profile.last_name'), { exact: true }));
    expect(await page.locator('#last_name').evaluate((field) => field.getBoundingClientRect().right)).toBeLessThan(right);
    await keys.leave('Enter', '**/account?done=*');
    expect(await page.getByRole('status').first().isVisible()).toBe(true);
    expect(await page.locator('#first_name').inputValue()).toBe('آدا');

    await keys.follow(page.getByRole('button', { name: format('ar', 'sessions.end_others'), exact: true }), /done=(?!profile)/);
    await other.goto(`${service.url}/account`);
    expect(new URL(other.url()).pathname).toBe('/login');

    await keys.to(page.locator('.languages summary'));
    await keys.press('Enter');
    await keys.follow(page.getByRole('button', { name: 'Deutsch', exact: true }), '**/account**');
    await expect.poll(() => page.locator('html').getAttribute('lang')).toBe('de');
    await Promise.all([context.close(), elsewhere.close()]);
  });

  test('the switch keeps the application that waits, and the address that was typed (specification 4.13.3)', async () => {
    const context = await browser.newContext({ javaScriptEnabled, locale: 'en-GB' });
    const page = await context.newPage();
    const keys = new Keyboard(page);
    await page.goto(service.url + authorizePath('en'));
    await keys.type('ada@example.com');
    const summary = page.locator('.languages summary');
    await keys.to(summary);
    await page.keyboard.press('Enter');
    const german = page.getByRole('button', { name: 'Deutsch', exact: true });
    await keys.to(german);
    await keys.leave('Enter', '**/login?login_hint=**');
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    expect(await page.locator('h1').textContent()).toBe('Bei Acme Notes anmelden');
    expect(await page.locator('#email').inputValue()).toBe('ada@example.com');
    expect(page.url()).toContain('return_to=');
    await context.close();
  });
});

test.each(['ar', 'de', 'ja', 'he', 'uk'])(
  'pages in %s have no accessibility violation, and fit a phone',
  async (locale) => {
    for (const [width, colorScheme] of [
      [1280, 'light'],
      [390, 'light'],
      [320, 'dark'],
    ] as const) {
      const context = await browser.newContext({ locale, colorScheme, viewport: { width, height: 860 } });
      const page = await context.newPage();
      for (const path of ['/login', '/register', '/password/forgot', '/no-such-page']) {
        await page.goto(service.url + path);
        expect(await page.locator('html').getAttribute('lang')).toBe(locale);
        const languages = page.locator('.languages summary');
        if ((await languages.count()) > 0) await languages.click();
        expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBeLessThanOrEqual(
          0,
        );
        expect(await axeViolations(page)).toEqual([]);
        if (screenshots)
          await page.screenshot({
            path: `${screenshots}/${locale}-${width}-${colorScheme}${path.replaceAll('/', '-')}.png`,
            fullPage: true,
          });
      }
      await context.close();
    }
  },
  120_000,
);

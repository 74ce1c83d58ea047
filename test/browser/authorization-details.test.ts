// The pages with details beyond scopes (RFC 9396), in languages of both directions, on a desk and a phone: a person unticks one.
import { beforeAll, expect } from 'vitest';
import { authorizeQuery, s256 } from '../support/authorize.js';
import { approvalPathIn, asking, askOf } from '../support/approvals.js';
import { addType } from '../support/authorization-details.js';
import { axeViolations } from '../support/axe.js';
import { picture, sharedChromium, signInAt } from '../support/chromium.js';
import { addClient, addResource, addUser, password } from '../support/data.js';
import { deviceCode, startDevice } from '../support/device.js';
import { needs } from '../support/programs.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const browser = sharedChromium();
const service = sharedService(() => startTestService());
const ctx = contextOf(service);
const bank = shared(() => addResource(ctx, { identifier: 'https://bank.example', name: 'Bank' }));
const client = shared(() => addClient(ctx, { name: 'Acme Notes', first_party: false, redirect_uris: [`${service.url}/healthz`], authorization_details_types: ['payment'] })); // prettier-ignore

const agent = shared(() => addClient(ctx, { ...asking, name: 'Acme Assistant', first_party: false, backchannel_users: 'any', grant_types: [...asking.grant_types, deviceCode], authorization_details_types: ['payment'] })); // prettier-ignore

beforeAll(async () => {
  await addType(ctx, bank, 'payment', {
    fields: [
      { name: 'amount', kind: 'money', required: true },
      { name: 'payee', kind: 'text', required: true },
    ],
    sentence: {
      en: 'Pay {amount} to {payee}',
      de: '{amount} an {payee} zahlen',
      ar: 'دفع {amount} إلى {payee}',
      ja: '{payee} に {amount} を支払う',
    },
    remember: true,
  });
});

const detail = (amount: string, payee: string) => ({ type: 'payment', amount: { currency: 'EUR', amount }, payee });
const both = JSON.stringify([detail('1234.5', 'Muster GmbH'), detail('7', 'مكتبة (الشرق)')]);
const path = (ui_locales: string) =>
  `/oauth/authorize?${authorizeQuery(client, { resource: bank.identifier, ...s256(), ui_locales, authorization_details: both })}`;

test('each detail is a sentence with a box, which a person can untick; the page is accessible in both directions (specification 23.3.2)', async () => {
  const user = await addUser(ctx);
  for (const [name, viewport] of [
    ['desk', { width: 1280, height: 900 }],
    ['phone', { width: 375, height: 800 }],
  ] as const)
    // prettier-ignore
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await browser.newContext({ viewport, colorScheme, locale: 'en-GB' });
      const page = await context.newPage();
      await signInAt(page, service.url, user.email, password);
      for (const language of ['en', 'de', 'ar', 'ja']) {
        await page.goto(service.url + path(language));
        expect(await page.locator('.detail-boxes input:checked').count()).toBe(2);
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
        expect(await axeViolations(page)).toEqual([]);
        await picture(page, `details-${language}-${name}-${colorScheme}`);
      }
      await context.close();
    }
  const context = await browser.newContext({ locale: 'en-GB' });
  const page = await context.newPage();
  await signInAt(page, service.url, user.email, password);
  await page.goto(service.url + path('en'));
  await page.getByLabel('Pay \u2068€7.00\u2069').uncheck();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.waitForURL('**/healthz?**');
  const [stored] = (await ctx.scope.knex('authorization_codes').where({ user_id: user.id })) as { authorization_details: unknown }[];
  expect(stored?.authorization_details).toEqual([detail('1234.5', 'Muster GmbH')]);
  await context.close();
});

test('an approval says them without boxes, a device with, and the account what was allowed; accessible in both directions (specification 23.3.2)', async () => {
  const asked = { scope: 'openid', resource: bank.identifier, authorization_details: both };
  for (const [name, viewport] of [
    ['desk', { width: 1280, height: 900 }],
    ['phone', { width: 375, height: 800 }],
  ] as const)
    // prettier-ignore
    for (const colorScheme of ['light', 'dark'] as const) {
      const user = await addUser(ctx);
      await askOf(service.url, agent, { login_hint: user.email, binding_message: 'Order 1815', ...asked });
      const approval = await approvalPathIn(service.url, user);
      const context = await browser.newContext({ viewport, colorScheme, locale: 'en-GB' });
      const page = await context.newPage();
      await signInAt(page, service.url, user.email, password);
      const { user_code } = await startDevice(service.url, agent, asked);
      for (const language of ['en', 'de', 'ar', 'ja']) {
        await ctx.db.knex('users').where({ id: user.id }).update({ locale: language });
        const look = async (which: string, boxes: number) => {
          expect(await page.locator('html').getAttribute('lang')).toBe(language);
          expect(await page.locator('.scopes input:checked').count()).toBe(boxes);
          expect(await page.getByText(/1[.,]?234[.,]50/).count()).toBeGreaterThan(0);
          expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
          expect(await axeViolations(page)).toEqual([]);
          await picture(page, `${which}-details-${language}-${name}-${colorScheme}`);
        };
        await page.goto(service.url + approval);
        await look('approval', 0);
        await page.goto(`${service.url}/account`);
        await look('waiting', 0);
        await page.goto(`${service.url}/device?user_code=${user_code}`);
        await page.locator('main form button[type=submit]').first().click();
        await page.locator('#device-approval').waitFor();
        await look('device', 2);
      }
      await page.locator('#allow').click();
      for (const language of ['en', 'de', 'ar', 'ja']) {
        await ctx.db.knex('users').where({ id: user.id }).update({ locale: language });
        await page.goto(`${service.url}/account/applications`);
        expect(await page.getByText(/1[.,]?234[.,]50/).count()).toBeGreaterThan(0);
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
        expect(await axeViolations(page)).toEqual([]);
        await picture(page, `applications-details-${language}-${name}-${colorScheme}`);
      }
      await context.close();
    }
});

// The consent page with details beyond scopes (RFC 9396), in languages of both directions, on a desk and a phone: a person unticks one.
import { beforeAll, expect } from 'vitest';
import { insertDetailType } from '../../src/db/tables/authorization_detail_types.js';
import { uuidv7 } from '../../src/lib/random.js';
import { axeViolations } from '../support/axe.js';
import { picture, sharedChromium, signInAt } from '../support/chromium.js';
import { addClient, addResource, addUser, password } from '../support/data.js';
import { needs } from '../support/programs.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const browser = sharedChromium();
const service = sharedService(() => startTestService());
const ctx = contextOf(service);
const bank = shared(() => addResource(ctx, { identifier: 'https://bank.example', name: 'Bank' }));
const client = shared(() => addClient(ctx, { name: 'Acme Notes', first_party: false, redirect_uris: [`${service.url}/healthz`], authorization_details_types: ['payment'] })); // prettier-ignore

beforeAll(async () => {
  const at = ctx.clock.now();
  await insertDetailType(ctx.scope, {
    id: uuidv7(at.getTime()),
    name: 'payment',
    api_resource_id: bank.id,
    fields: [
      { name: 'amount', kind: 'money', required: true },
      { name: 'payee', kind: 'text', required: true },
    ],
    sentence: { en: 'Pay {amount} to {payee}', de: '{amount} an {payee} zahlen', ar: 'دفع {amount} إلى {payee}' },
    created_at: at,
    updated_at: at,
  });
});

const detail = (amount: string, payee: string) => ({ type: 'payment', amount: { currency: 'EUR', amount }, payee });
const path = (ui_locales: string) =>
  `/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: client.redirect_uris[0] ?? '',
    scope: 'openid',
    resource: bank.identifier,
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
    ui_locales,
    authorization_details: JSON.stringify([detail('1234.5', 'Muster GmbH'), detail('7', 'مكتبة (الشرق)')]),
  })}`;

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
      for (const language of ['en', 'de', 'ar']) {
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

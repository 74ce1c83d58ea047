// The pages of the device flow in a real browser: by keyboard alone, with scripts and without, under their policies, for everybody.
import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { axeViolations } from '../support/axe.js';
import { sharedChromium, policyViolations } from '../support/chromium.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { deviceCode, pollDevice, startDevice } from '../support/device.js';
import { Keyboard } from '../support/keyboard.js';
import { needs } from '../support/programs.js';
import { sharedService } from '../support/shared-service.js';

const test = needs('chromium');

const service = sharedService();
const browser = sharedChromium();
let tv: TestClient;
let user: UserRow;

beforeAll(async () => {
  const ctx = await service.context();
  tv = await addClient(ctx, { name: 'Acme TV', token_endpoint_auth_method: 'none', grant_types: [deviceCode] });
  user = await addUser(ctx);
});

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test.each([
  ['with scripts', true, 'light'],
  ['without scripts', false, 'dark'],
] as const)('a person with a keyboard alone connects a device, %s', async (_name, javaScriptEnabled, colorScheme) => {
  const { device_code, user_code, verification_uri } = await startDevice(service.url, tv);
  // Without scripts on the page, axe-core never comes to its end.
  const usableByAll = async (page: Page) => (javaScriptEnabled ? expect(await axeViolations(page)).toEqual([]) : undefined);
  const context = await browser.newContext({ javaScriptEnabled, colorScheme, reducedMotion: 'reduce' });
  context.setDefaultTimeout(15_000);
  const complaints = policyViolations(context);
  try {
    const keys = new Keyboard(await context.newPage());
    const { page } = keys;
    await page.goto(verification_uri);
    await expect.poll(() => keys.focus()).toBe('input#email');
    await keys.type(user.email);
    await keys.fill(page.locator('#password'), password);
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'Connect a device' }).waitFor();
    await expect.poll(() => keys.focus()).toBe('input#user_code');
    await usableByAll(page);
    await keys.type('BCDF-GHJK');
    await keys.press('Enter');
    await page.locator('#user_code-error').waitFor();
    await usableByAll(page);
    await keys.mendOne(page.locator('#user_code'));
    await keys.type(user_code.toLowerCase());
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'Allow Acme TV to access your account?' }).waitFor();
    await usableByAll(page);
    expect(await page.locator('.shown-code').textContent()).toBe(user_code);
    const stops = await keys.to(button(page, 'Allow'));
    expect(stops.at(-1)).toContain('Allow');
    await keys.to(button(page, 'Cancel'));
    await keys.to(button(page, 'Allow'), { back: true });
    await keys.press('Space');
    await page.getByRole('heading', { name: 'The device is connected' }).waitFor();
    await usableByAll(page);
    expect((await pollDevice(service.url, tv, device_code)).status).toBe(200);
  } finally {
    await context.close();
  }
  expect(complaints).toEqual([]);
});

test('the code in a link waits through the sign-in, and Cancel is a no', async () => {
  const { device_code, user_code, verification_uri_complete } = await startDevice(service.url, tv);
  const context = await browser.newContext();
  const page = await context.newPage();
  try {
    await page.goto(verification_uri_complete);
    await page.getByLabel('Email address').fill(user.email);
    await page.locator('#password').fill(password);
    await button(page, 'Sign in').click();
    expect(await page.locator('#user_code').inputValue()).toBe(user_code);
    await button(page, 'Continue').click();
    await button(page, 'Cancel').click();
    await page.getByRole('heading', { name: 'The device wasn’t connected' }).waitFor();
    expect((await pollDevice(service.url, tv, device_code)).body.error).toBe('access_denied');
  } finally {
    await context.close();
  }
});

// An agent asks by openid-client, and a passkey on a phone approves (CIBA Core 1.0).
import * as client from 'openid-client';
import { expect } from 'vitest';
import { asking } from '../support/approvals.js';
import { axeViolations } from '../support/axe.js';
import { policyViolations, sharedChromium } from '../support/chromium.js';
import { addClient, addUser, password } from '../support/data.js';
import { lastMailTo } from '../support/mailbox.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { VirtualAuthenticator } from '../support/virtual-authenticator.js';

const test = needs('chromium');
const service = sharedService();
const ctx = contextOf(service);
const browser = sharedChromium();

test('the agent polls, the person follows the mail on the phone, and their passkey approves', async () => {
  const agent = await addClient(ctx, { ...asking, name: 'Acme Assistant', backchannel_users: 'any', first_party: false });
  const user = await addUser(ctx);
  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(15_000);
  const complaints = policyViolations(context);
  const page = await context.newPage();
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  try {
    await VirtualAuthenticator.plugIn(page);
    await page.goto(`${service.url}/login?return_to=/account`);
    await page.getByLabel('Email address').fill(user.email);
    await page.locator('#password').fill(password);
    await button('Sign in').click();
    await page
      .getByRole('button', { name: /passkey/i })
      .first()
      .click();
    await page.getByText('Passkey', { exact: false }).first().waitFor();
    await page.waitForURL(/done=|recovery/);

    const config = await client.discovery(new URL(service.url), agent.id, agent.client_secret, undefined, {
      execute: [client.allowInsecureRequests],
    });
    service.clock.advance(3000);
    const started = await client.initiateBackchannelAuthentication(config, {
      scope: 'openid',
      login_hint: user.email,
      binding_message: 'Pay 49.90 EUR to Acme Travel',
      acr_values: 'phr',
    });
    service.clock.advance(1000);
    const polled = client.pollBackchannelAuthenticationGrant(config, { ...started, interval: 1 });
    const { text } = await lastMailTo(service.url, user.email);
    await page.goto(/http\S+\/approvals\/\S+/.exec(text)?.[0] ?? '');
    await page.getByRole('heading', { name: 'Acme Assistant asks for your approval' }).waitFor();
    await page.getByText('Pay 49.90 EUR to Acme Travel').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
    await button('Approve').click();
    await page.locator('#confirm-passkey').waitFor();
    await page.getByRole('button', { name: /passkey/i }).click();
    await page.getByRole('heading', { name: 'Approved' }).waitFor();
    const tokens = await polled;
    expect(tokens.claims()).toMatchObject({ sub: user.id, acr: 'phr' });
  } finally {
    await context.close();
  }
  expect(complaints).toEqual([]);
});

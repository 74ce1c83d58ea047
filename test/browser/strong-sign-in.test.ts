// Passkeys and second steps in Chromium, with its virtual authenticator (WebAuthn L3 11).
import { randomUUID } from 'node:crypto';
import type { BrowserContext, CDPSession, Locator, Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { axeViolations } from '../support/axe.js';
import { picture, sharedChromium } from '../support/chromium.js';
import { addUser, password } from '../support/data.js';
import { addTwoStepUser, setEnvironment, totpCode, wrongTotpCode } from '../support/factors.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
/** A browser beside other work is slow. */
const patience = { timeout: 120_000 };

const service = sharedService();
const ctx = contextOf(service);
const chromium = sharedChromium();

/** Looks at the page with axe, in both themes, as narrow as a small phone. */
async function inspect(page: Page, name: string): Promise<void> {
  for (const [device, width, colorScheme] of [
    ['desktop', 1280, 'light'],
    ['phone', 390, 'dark'],
  ] as const) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await picture(page, `${name}-${device}`);
  }
  await page.setViewportSize({ width: 320, height: 568 });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    expect(await axeViolations(page, colorScheme === 'light' ? 'all' : 'colours'), `${name} in the ${colorScheme} scheme`).toEqual([]);
    expect(
      await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
      `${name}: nothing to scroll sideways`,
    ).toBeLessThanOrEqual(0);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

type Device = {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly cdp: CDPSession;
  readonly id: string;
  /** Whether somebody touches it at once. */
  present(enabled: boolean): Promise<void>;
  credentials(): Promise<{ credentialId: string; rpId: string; isResidentCredential: boolean }[]>;
};

const complaints: string[] = [];

async function newPage(context: BrowserContext): Promise<Page> {
  context.setDefaultTimeout(30_000);
  context.on('console', (message) => {
    if (/Content Security Policy|Permissions policy/i.test(message.text())) complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  return context.newPage();
}

/** A browser on a device that keeps passkeys. */
async function device({ touched = false }: { touched?: boolean } = {}): Promise<Device> {
  const context = await chromium.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await newPage(context);
  const cdp = await context.newCDPSession(page);
  await cdp.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId: id } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: touched,
    },
  });
  return {
    page,
    context,
    cdp,
    id,
    present: async (enabled) => void (await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId: id, enabled })),
    credentials: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId: id })).credentials as never,
  };
}

/** From the address to the page that asks for name and password. */
async function toLastStep(page: Page, email: string): Promise<void> {
  await page.goto(`${service.url}/register?return_to=%2Faccount%3Ffrom%3Dhere`);
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(/\/register\/verify\?/);
  await page.getByLabel('Code').fill(codeIn(await lastMailTo(service.url, email)));
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('First name').waitFor();
}

/** The address of a new account whose only way in is a passkey on the device. */
async function registerByPasskey(own: Device): Promise<string> {
  const email = `${randomUUID()}@example.com`;
  await toLastStep(own.page, email);
  await own.page.getByLabel('First name').fill('Grace');
  await own.page.getByLabel('Last name').fill('Hopper');
  await own.present(true);
  await own.page.getByRole('button', { name: 'Use a passkey' }).click();
  await own.page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor();
  await own.present(false);
  return email;
}

/** Signs in by the button. The page offers passkeys by itself as well, which the virtual one may take before the button is pressed. */
async function pressUnlessTaken(page: Page, arrived: RegExp, press = (button: Locator) => button.click()): Promise<void> {
  const pressed = press(page.getByRole('button', { name: 'Sign in with a passkey' })).then(() => page.waitForURL(arrived));
  await Promise.any([page.waitForURL(arrived), pressed]);
}

const signOut = async ({ page }: Pick<Device, 'page'>) => {
  await page.goto(`${service.url}/account`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(/\/login/);
};

async function passwordStep(page: Page, email: string, return_to = ''): Promise<void> {
  await page.goto(`${service.url}/login${return_to && `?return_to=${encodeURIComponent(return_to)}`}`);
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

describe('with a passkey', () => {
  test('an account is registered, and signed in to by autofill and by button', patience, async () => {
    const own = await device();
    const { page } = own;
    const email = `grace-${randomUUID()}@example.com`;
    await toLastStep(page, email);
    await inspect(page, 'register-complete');
    // Names come first: the browser says so, and makes no passkey.
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    expect(await page.evaluate('document.activeElement.id')).toBe('first_name');
    expect(await own.credentials()).toEqual([]);
    await page.getByLabel('First name').fill('Grace');
    await page.getByLabel('Last name').fill('Hopper');
    await own.present(true);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor();
    expect(await own.credentials()).toMatchObject([{ rpId: 'localhost', isResidentCredential: true }]);
    await own.present(false);
    await page.getByRole('link', { name: 'I’ve saved them' }).click();
    await page.waitForURL(/\/account\?from=here$/);
    await signOut(own);

    // The browser offers it where the address is typed, which the virtual one takes at once.
    await own.present(true);
    await page.goto(`${service.url}/login?return_to=%2Faccount%3Fby%3Dautofill`);
    await page.waitForURL(/\/account\?by=autofill$/);
    await own.present(false);
    await signOut(own);

    await page.goto(`${service.url}/login?return_to=%2Faccount%3Fby%3Dbutton`);
    const button = page.getByRole('button', { name: 'Sign in with a passkey' });
    await button.waitFor();
    expect(await page.getByLabel('Email address').getAttribute('autocomplete')).toBe('username webauthn');
    await inspect(page, 'login');
    await own.present(true);
    await pressUnlessTaken(page, /\/account\?by=button$/);
    expect(complaints).toEqual([]);
    await own.context.close();
  });

  test('a dialog that is cancelled is a sentence, and the page goes on; the live region says it', patience, async () => {
    const own = await device();
    await registerByPasskey(own);
    await signOut(own);
    const { page } = own;
    await own.cdp.send('WebAuthn.setUserVerified', { authenticatorId: own.id, isUserVerified: false });
    await page.goto(`${service.url}/login`);
    await own.present(true);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('status').getByText('No passkey was used. Try again, or choose another way.').waitFor();
    await picture(page, 'login-cancelled');
    await own.cdp.send('WebAuthn.setUserVerified', { authenticatorId: own.id, isUserVerified: true });
    await pressUnlessTaken(page, /\/account$/);
    await own.context.close();
  });

  test('one that is good no more is refused in words, and the browser is told to forget it', patience, async () => {
    const own = await device();
    const { page } = own;
    const email = await registerByPasskey(own);
    await signOut(own);
    await ctx.scope
      .knex('authenticators')
      .where({ kind: 'passkey' })
      .whereIn('user_id', ctx.scope.knex('users').select('id').where({ email }))
      .delete();
    await page.addInitScript(
      `PublicKeyCredential.signalUnknownCredential = async (told) => { sessionStorage.setItem('told', JSON.stringify(told)) }`,
    );
    await page.goto(`${service.url}/login`);
    const [known] = await own.credentials();
    // Touched once: the page that answers offers passkeys again, and the virtual one would take part at once.
    await page.route('**/login/passkey', async (route) => {
      await own.present(false);
      await route.continue();
    });
    await own.present(true);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('That passkey no longer signs anyone in here.').first().waitFor();
    await expect.poll(() => page.evaluate(`sessionStorage.getItem('told')`)).not.toBeNull();
    const told = JSON.parse(String(await page.evaluate(`sessionStorage.getItem('told')`))) as { rpId: string; credentialId: string };
    expect(told).toEqual({ rpId: 'localhost', credentialId: Buffer.from(known?.credentialId ?? '', 'base64').toString('base64url') });
    await picture(page, 'login-unknown-passkey');
    await own.context.close();
  });

  test('a page that is open for long renews its challenge before it runs out', patience, async () => {
    const own = await device();
    await registerByPasskey(own);
    await signOut(own);
    const { page } = own;
    await page.clock.install();
    await page.goto(`${service.url}/login`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    const renewed = page.waitForResponse(/\/login\/passkey\/options$/);
    await page.clock.fastForward(250_000);
    expect((await renewed).status()).toBe(200);
    service.clock.advance(310_000);
    const again = page.waitForResponse(/\/login\/passkey\/options$/);
    await page.clock.fastForward(250_000);
    expect((await again).status()).toBe(200);
    await own.present(true);
    // A click by hand waits for frames, which the clock of the page holds.
    await pressUnlessTaken(page, /\/account$/, (button) => button.dispatchEvent('click'));
    await own.context.close();
  });
});

describe('the second step', () => {
  test('by an authenticator app, beside every other way; a wrong code says how many are left', patience, async () => {
    const { user, secret, recovery_codes } = await addTwoStepUser(service);
    await setEnvironment(service, { email_second_factor_enabled: true });
    const page = await newPage(await chromium.newContext());
    await passwordStep(page, user.email, '/account?x=y');
    await page.waitForURL(/\/login\/verify\?/);
    await inspect(page, 'verify-totp');
    await page.getByLabel('Code').fill(wrongTotpCode(secret, service.clock.now()));
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('4 attempts are left.').first().waitFor();
    await inspect(page, 'verify-totp-wrong');
    await page.getByRole('link', { name: 'Get a code by email' }).click();
    await inspect(page, 'verify-email');
    await page.getByRole('button', { name: 'Send code' }).click();
    await page.getByText('We sent a code to').waitFor();
    await inspect(page, 'verify-email-sent');
    await page.getByRole('link', { name: 'Use a recovery code' }).click();
    await inspect(page, 'verify-recovery');
    await page.getByLabel('Recovery code').fill(recovery_codes[0] ?? '');
    await page.getByLabel('Don’t ask again in this browser').check();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(/\/account\?x=y$/);
    // This browser is remembered.
    await signOut({ page });
    await passwordStep(page, user.email);
    await page.waitForURL(/\/account$/);
    await setEnvironment(service, { email_second_factor_enabled: false });
    await page.context().close();
  });

  test('by a passkey, offered first once it was used last', patience, async () => {
    const own = await device();
    const { page } = own;
    const { user, secret } = await addTwoStepUser(service);
    await setEnvironment(service, { second_factor_policy: 'optional' });
    await passwordStep(page, user.email);
    await page.getByLabel('Code').fill(totpCode(secret, service.clock.now()));
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(/\/account$/);
    await own.present(true);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.waitForURL(/\/account\?done=passkey/);
    await own.present(false);
    await signOut(own);
    await passwordStep(page, user.email);
    await page.getByRole('button', { name: 'Use your passkey' }).waitFor();
    await inspect(page, 'verify-passkey');
    expect(await page.getByRole('link', { name: 'Use your authenticator app' }).count()).toBe(1);
    await own.present(true);
    await page.getByRole('button', { name: 'Use your passkey' }).click();
    await page.waitForURL(/\/account$/);
    await own.context.close();
  });
});

describe('while the policy demands a factor', () => {
  test('a passkey is added on the way, and the codes are kept', patience, async () => {
    const own = await device();
    const { page } = own;
    const user = await addUser(ctx);
    await setEnvironment(service, { second_factor_policy: 'required', second_factor_grace_lifetime: 86_400 });
    await passwordStep(page, user.email, '/account?x=y');
    await page.getByRole('heading', { name: 'Protect your account' }).waitFor();
    await inspect(page, 'enroll');
    await own.present(true);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor();
    await inspect(page, 'recovery-codes');
    await page.getByRole('link', { name: 'I’ve saved them' }).click();
    await page.waitForURL(/\/account\?x=y$/);
    await setEnvironment(service, { second_factor_policy: 'optional', second_factor_grace_lifetime: 0 });
    await own.context.close();
  });
});

describe('without scripts', () => {
  test('a code by mail, the second step and enrolment are all there; passkeys alone are not offered', patience, async () => {
    await setEnvironment(service, { email_code_sign_in_enabled: true, second_factor_policy: 'required' });
    const page = await newPage(await chromium.newContext({ javaScriptEnabled: false }));
    const { email } = await addUser(ctx);
    await page.goto(`${service.url}/login?return_to=%2Faccount%3Fx%3Dy`);
    expect(await page.getByRole('button', { name: /passkey/i }).count()).toBe(0);
    await picture(page, 'login-plain');
    await page.getByLabel('Email address').fill(email);
    await page.getByRole('button', { name: 'Email me a code' }).click();
    await page.waitForURL(/\/login\/code\/verify\?/);
    await picture(page, 'code-verify');
    await page.getByLabel('Code').fill(codeIn(await lastMailTo(service.url, email)));
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(/\/login\/enroll\?/);
    await picture(page, 'enroll-plain');
    expect(await page.getByRole('button', { name: 'Add a passkey' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Set up an app' }).click();
    const secret = ((await page.locator('#totp-secret').textContent()) ?? '').replaceAll(' ', '');
    await picture(page, 'enroll-totp');
    await page.getByRole('textbox', { name: 'Code' }).fill(totpCode(secret, service.clock.now()));
    await page.getByRole('button', { name: 'Add app' }).click();
    await page.getByRole('link', { name: 'I’ve saved them' }).click();
    await page.waitForURL(/\/account\?x=y$/);
    await setEnvironment(service, { email_code_sign_in_enabled: false, second_factor_policy: 'optional' });

    await signOut({ page });
    service.clock.advance(30_000);
    await passwordStep(page, email);
    await page.waitForURL(/\/login\/verify/);
    await page.getByLabel('Code').fill(totpCode(secret, service.clock.now()));
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(/\/account$/);
    await page.context().close();
  });

  test('the page of a passkey says what it needs, and where to go instead', patience, async () => {
    const own = await device();
    const email = await registerByPasskey(own);
    await ctx.scope
      .knex('users')
      .where({ email })
      .update({ password_hash: await ctx.crypto.passwords.hash(password) });
    const page = await newPage(await chromium.newContext({ javaScriptEnabled: false }));
    await passwordStep(page, email);
    await page.getByText('Passkeys need JavaScript').waitFor();
    await picture(page, 'verify-passkey-plain');
    await page.getByRole('link', { name: 'Use a recovery code' }).click();
    await page.getByLabel('Recovery code').waitFor();
    await page.context().close();
    await own.context.close();
  });
});

test('a browser without a place for passkeys offers a phone or a security key', patience, async () => {
  const page = await newPage(await chromium.newContext());
  await page.goto(`${service.url}/login`);
  await page.getByRole('button', { name: 'Passkey on another device' }).waitFor();
  await inspect(page, 'login-no-platform');
  expect(complaints).toEqual([]);
  await page.context().close();
});

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { locate, pathOf } from './programs.js';

/**
 * The installed Chromium, without a window and without calls home. Where the system has it without windows altogether, that: the same engine
 * for a third of the processor time.
 */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: locate('chromium-headless-shell') ?? pathOf('chromium'),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

/** One Chromium for all tests of a file, from the first hook that comes after this on. */
export function sharedChromium(): Pick<Browser, 'newContext' | 'newPage'> {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  return { newContext: (options) => (browser as Browser).newContext(options), newPage: (options) => (browser as Browser).newPage(options) };
}

/** Fills the login page at that URL as a person does, and sends it. */
export async function signInAt(page: Page, url: string, email: string, secret: string): Promise<void> {
  await page.goto(`${url}/login`);
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(secret);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** What the policies of the pages have to stop from now on. */
export function policyViolations(where: Page | BrowserContext): string[] {
  const found: string[] = [];
  (where as Page).on('console', (message) => {
    if (/Content Security Policy/i.test(message.text())) found.push(message.text());
  });
  return found;
}

/** Leaves a picture of the page behind for looking at, when SCREENSHOTS names a directory. */
export async function picture(page: Page, name: string): Promise<void> {
  const directory = process.env['SCREENSHOTS'];
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true });
}

/** Loads the page again and again until its main part shows the text: what is there for print alone names the page's address, and whatever that asks for. */
export async function reloadUntil(page: Page, text: string): Promise<void> {
  await expect
    .poll(
      async () => {
        await page.reload();
        return page.locator('main').innerText();
      },
      { timeout: 20_000, interval: 150 },
    )
    .toContain(text);
}

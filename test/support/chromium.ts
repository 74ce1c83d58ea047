import { chromium, type Browser, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { locate, pathOf } from './programs.js';

/**
 * The installed Chromium, without a window and without calls home. Where the system has it without windows altogether, that: the same engine
 * for a third of the processor time.
 */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
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
}

/** Loads the page again and again until its main part says so. */
export async function reloadUntil(page: Page, text: string): Promise<void> {
  await expect
    .poll(
      async () => {
        await page.reload();
        return page.locator('main').textContent();
      },
      { timeout: 20_000, interval: 150 },
    )
    .toContain(text);
}

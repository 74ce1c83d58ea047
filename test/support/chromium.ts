import { chromium, type Browser } from 'playwright-core';
import { pathOf } from './programs.js';

/** The installed Chromium, without a window and without calls home. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: pathOf('chromium'),
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

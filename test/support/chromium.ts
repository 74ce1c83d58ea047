import { chromium, type Browser } from 'playwright-core';
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

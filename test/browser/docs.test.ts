import { describe, expect } from 'vitest';
import { axeViolations } from '../support/axe.js';
import { sharedChromium } from '../support/chromium.js';
import { needs } from '../support/programs.js';
import { Keyboard } from '../support/keyboard.js';
import { sharedService } from '../support/shared-service.js';

const test = needs('chromium');

const browser = sharedChromium();
const service = sharedService();

const paths = [
  '/docs',
  '/docs/api/clients',
  '/docs/api/config',
  '/docs/webhooks',
  '/docs/events',
  '/docs/guides',
  '/docs/guides/spring',
  '/docs/search',
  '/docs/search?q=refresh+token',
  '/docs/search?q=xyzzy',
  `/docs/search?q=${'w'.repeat(200)}`,
];

describe('the documentation', () => {
  test.each([
    ['wide and light', { width: 1280, height: 860 }, 'light'],
    ['narrow and dark', { width: 320, height: 568 }, 'dark'],
  ] as const)(
    '%s: nothing that axe-core objects to, and it fits',
    async (_name, viewport, colorScheme) => {
      const context = await browser.newContext({ viewport, colorScheme });
      try {
        const page = await context.newPage();
        const objections: string[] = [];
        for (const path of paths) {
          await page.goto(service.url + path);
          const fits = await page.evaluate('document.documentElement.scrollWidth <= innerWidth');
          const found = await axeViolations(page);
          if (!fits || found.length > 0) objections.push(`${path.slice(0, 40)}: ${fits ? '' : 'too wide; '}${found.join('; ')}`);
        }
        expect(objections).toEqual([]);
      } finally {
        await context.close();
      }
    },
    60_000,
  );

  test.each([true, false])(
    'a keyboard alone searches and arrives at the section (scripts: %s)',
    async (javaScriptEnabled) => {
      const context = await browser.newContext({ javaScriptEnabled, viewport: { width: 1280, height: 860 } });
      try {
        const keys = new Keyboard(await context.newPage());
        const { page } = keys;
        await page.goto(`${service.url}/docs/webhooks`);
        await keys.to(page.getByRole('searchbox', { name: 'Search the documentation' }));
        await keys.type('test vector');
        await keys.leave('Enter', '**/docs/search?q=test+vector');
        expect(await page.title()).toMatch(/^Search: test vector · /);
        await keys.skip();
        await keys.follow(page.locator('.findings a').first(), '**/docs/webhooks#test-vector');
        const heading = page.locator('#test-vector');
        expect(await heading.evaluate((element) => element.getBoundingClientRect().top >= 0)).toBe(true);
      } finally {
        await context.close();
      }
    },
    30_000,
  );
});

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import type { Context } from '../../src/domain/context.js';
import { permit } from './administrators.js';
import { axeViolations } from './axe.js';
import { picture, signInAt } from './chromium.js';
import { addUser, password } from './data.js';

const desktop = { width: 1280, height: 860 };

/** A page of a browser in which a new administrator has signed in, who may do everything. */
export async function administratorsPage(
  browser: Pick<Browser, 'newContext'>,
  ctx: Context,
  options: BrowserContextOptions = {},
): Promise<{ admin: UserRow; page: Page }> {
  const admin = await addUser(ctx);
  await permit(ctx, admin.id, ...managementPermissions);
  const page = await (await browser.newContext({ viewport: desktop, ...options })).newPage();
  await signInAt(page, ctx.environment.issuer, admin.email, password);
  await page.waitForURL('**/account');
  return { admin, page };
}

/** The page as desktops and phones show it, in the light and in the dark: no violation, nothing to scroll sideways for, and a picture of each. */
export async function look(page: Page, name: string): Promise<void> {
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [390, 'dark'],
    [390, 'light'],
    [1280, 'dark'],
  ] as const) {
    await page.setViewportSize({ width, height: desktop.height });
    await page.emulateMedia({ colorScheme });
    expect(await axeViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
    await picture(page, `${name}-${width}-${colorScheme}`);
  }
  await page.setViewportSize(desktop);
  await page.emulateMedia({ colorScheme: 'light' });
}

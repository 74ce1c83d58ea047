// "Why can't Lena sign in?": from her name to the reason, in a real browser, on a desk and on a phone, in light and dark.
import { expect } from 'vitest';
import { flushSecurityTrail } from '../../src/domain/audit/security-trail.js';
import { look, administratorsPage } from '../support/administrators-page.js';
import { Browser } from '../support/browser.js';
import { sharedChromium } from '../support/chromium.js';
import { addUser, password } from '../support/data.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const chromium = sharedChromium();
const service = sharedService();
const ctx = contextOf(service);

const agent = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36';

test('why somebody cannot sign in is two clicks from the list of users, and reads on a phone', async () => {
  const lena = await addUser(ctx, { email: 'lena.vogel@example.com', first_name: 'Lena', last_name: 'Vogel' });
  const { page } = await administratorsPage(chromium, ctx);
  const hers = new Browser(service.url);
  const headers = { 'user-agent': agent };
  await hers.postJson('/login', { email: lena.email, password }, headers);
  for (let i = 0; i < ctx.environment.lockout_threshold; i++)
    await new Browser(service.url).postJson('/login', { email: lena.email, password: 'wrong' }, headers);
  await flushSecurityTrail(service.deps);
  await page.goto(`${service.url}/dashboard/users?search=lena`);
  await page.locator('a.row-link', { hasText: lena.email }).click();
  await page.getByRole('link', { name: 'Activity', exact: true }).click();
  expect(await page.locator('tbody th').allTextContents()).toEqual([expect.stringContaining('Locked until'), expect.stringContaining('Wrong password'), expect.stringContaining('Signed in with password')]); // prettier-ignore
  await page.getByText('A password reset ends it at once').waitFor();
  await look(page, 'user-activity');
  await page.goto(`${service.url}/dashboard/security_events`);
  await look(page, 'security-events');
  await page.goto(`${service.url}/dashboard/audit_logs`);
  await look(page, 'audit-log');
});

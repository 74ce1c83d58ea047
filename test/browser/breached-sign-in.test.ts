// A leaked password in use: an administrator requires a reset and sees whose it is; the person is told at the sign-in.
import { expect } from 'vitest';
import { administratorsPage, look } from '../support/administrators-page.js';
import { sharedChromium, signInAt } from '../support/chromium.js';
import { addUser, password } from '../support/data.js';
import { needs } from '../support/programs.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const chromium = sharedChromium();
const service = sharedService();
const ctx = contextOf(service);

test('a reset is required on the settings’ page, shown at the person and asked for at the sign-in (specification 4.1.9)', async () => {
  const user = await addUser(ctx, { password_breached_at: service.clock.now() });
  const { page } = await administratorsPage(chromium, ctx);
  await page.goto(`${service.url}/dashboard/users/${user.id}`);
  await page.getByText('Found in a data breach').waitFor();
  await look(page, 'user with a breached password');
  await page.goto(`${service.url}/dashboard/settings/security`);
  await page.getByLabel('When someone signs in with a breached password').selectOption('require_reset');
  await look(page, 'breached passwords in use');
  await page.getByRole('button', { name: /^Save/ }).first().click();
  await expect.poll(async () => (await service.context()).environment.breached_password_sign_in).toBe('require_reset');
  const person = await (await chromium.newContext()).newPage();
  await signInAt(person, service.url, user.email, password);
  await person.getByText('can’t be used to sign in any more').waitFor();
  await look(person, 'sign-in with a breached password');
});

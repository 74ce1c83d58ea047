import { expect, test } from 'vitest';
import { listRoleNamesOfUser } from '../../src/db/tables/roles.js';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { setupUrl } from '../../src/domain/users/setup.js';
import { Browser } from '../support/browser.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();

const fields = { email: 'root@example.com', first_name: 'Grace', last_name: 'Hopper', password: 'nanoseconds of wire' };
const path = async () => {
  const url = new URL(setupUrl(await service.context()));
  return { page: url.pathname + url.search, token: url.searchParams.get('token') ?? '' };
};

test('a changed or old set-up address is refused', async () => {
  const { page } = await path();
  const browser = new Browser(service.url);
  expect((await browser.get(`${page}x`)).status).toBe(403);
  expect((await browser.get('/dashboard/setup')).status).toBe(403);
  service.clock.advance(3_600_001);
  expect((await browser.get(page)).status).toBe(403);
});

test('mistakes are told on the form and make nobody', async () => {
  const { page, token } = await path();
  const answer = await new Browser(service.url).submit(page, { token, ...fields, email: 'root', password: 'short' });
  expect(answer.status).toBe(422);
  const html = await answer.text();
  expect(html).toContain('Enter an email address');
  expect(html).toContain('Choose a longer password');
  expect(await findUserByEmailKey((await service.context()).scope, 'root@example.com')).toBeNull();
});

test('the first administrator is made once, is signed in, and the address is dead afterwards; two at once make one', async () => {
  const { page, token } = await path();
  const browsers = [new Browser(service.url), new Browser(service.url)];
  const answers = await Promise.all(
    browsers.map((browser, i) => browser.submit(page, { token, ...fields, email: `root${i}@example.com` })),
  );
  expect(answers.map((answer) => answer.status).sort((one, other) => one - other)).toEqual([303, 403]);
  const winner = answers.findIndex((answer) => answer.status === 303);
  expect(answers[winner]?.headers.get('location')).toBe('/dashboard');
  expect(browsers[winner]?.cookies.has('idp_session')).toBe(true);
  const { scope } = await service.context();
  const user = await findUserByEmailKey(scope, `root${winner}@example.com`);
  expect(await listRoleNamesOfUser(scope, user?.id ?? '')).toEqual(['administrator']);
  expect((await new Browser(service.url).get(page)).status).toBe(403);
});

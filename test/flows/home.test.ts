import { afterAll, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { Browser } from '../support/browser.js';
import { addUser } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();

async function setKind(kind: string): Promise<void> {
  await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ kind });
  service.deps.cache.clear();
}

const ctx = contextOf(service);
afterAll(() => setKind('development'));

const home = async (browser: Browser) => {
  const response = await browser.get('/');
  return { status: response.status, location: response.headers.get('location'), html: await response.text() };
};

test('of a development environment is the page with the addresses for developers', async () => {
  await setKind('development');
  const { status, html } = await home(new Browser(service.url));
  expect(status).toBe(200);
  expect(html).toContain('/.well-known/openid-configuration');
  expect(html).toContain(`<h1>${ctx.environment.name}</h1>`);
});

test.each(['staging', 'production'])(
  'of a %s environment leads people to sign in and to their account, and administrators on',
  async (kind) => {
    await setKind(kind);
    const stranger = new Browser(service.url);
    expect(await home(stranger)).toMatchObject({ status: 303, location: '/account' });
    const signIn = await stranger.get('/account');
    expect(signIn.headers.get('location')).toMatch(/^\/login\?/);
    const person = await signedIn(service, await addUser(ctx));
    expect(await home(person)).toMatchObject({ status: 303, location: '/account' });
    const administrator = await home(await signedInWith(service, 'users:read'));
    expect(administrator.status).toBe(200);
    expect(administrator.html).toContain('href="/dashboard"');
  },
);

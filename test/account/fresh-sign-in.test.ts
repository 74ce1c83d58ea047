// How somebody signs in changes only within ten minutes of a proof of who they are.
import { beforeEach, expect, test } from 'vitest';
import { linkIdentity, listIdentities } from '../../src/domain/connections/identities.js';
import { updateUser, type UserRow } from '../../src/db/tables/users.js';
import { csrfOf, type Browser } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addUser, password } from '../support/data.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const connection = shared(() => addConnection(ctx, { display_name: 'Corp', authorization_endpoint: 'http://127.0.0.1:9/a', token_endpoint: 'http://127.0.0.1:9/t', jwks_uri: 'http://127.0.0.1:9/j' })); // prettier-ignore
const other = shared(() => addConnection(ctx, { display_name: 'Hub', strategy: 'github', issuer: null }));
let user: UserRow;
let browser: Browser;
let unlink: string;

beforeEach(async () => {
  user = await addUser(ctx);
  const account = { connection_id: connection.id, generation: 1, subject: user.id, email: 'ada@corp.example', claims: {} };
  unlink = `/account/identities/${(await linkIdentity(ctx, user.id, account)).id}/unlink`;
  browser = await signedIn(service, user);
});

const token = async () => csrfOf(await (await browser.get('/account')).text());
const linked = async () => (await listIdentities(ctx, user.id)).length;
const later = () => service.clock.advance(600_000);

test('within ten minutes of the sign-in nothing is asked', async () => {
  service.clock.advance(500_000);
  expect((await browser.post(unlink, { _csrf: await token() })).status).toBe(303);
  expect(await linked()).toBe(0);
});

test('afterwards a page asks for the password; the wrong one changes nothing, the right one does it (attack 13.252)', async () => {
  later();
  const _csrf = await token();
  const asked = await browser.post(unlink, { _csrf });
  const html = await asked.text();
  expect([asked.status, await linked()]).toEqual([403, 1]);
  expect(html).toContain(`action="${unlink}"`);
  const wrong = await browser.post(unlink, { _csrf: csrfOf(html), current_password: 'wrong' });
  expect([wrong.status, await linked()]).toEqual([401, 1]);
  const right = await browser.post(unlink, { _csrf: csrfOf(html), current_password: password });
  expect([right.status, right.headers.get('location'), await linked()]).toEqual([303, '/account?done=identity', 0]);
  // It renewed the sign-in: the next one isn't asked.
  expect((await browser.post(`/auth/sso/${connection.id}/connect`, { _csrf: await token() })).status).toBe(200);
});

test('connecting is asked the same, before anybody leaves for the provider (attack 13.252)', async () => {
  later();
  const path = `/auth/sso/${connection.id}/connect`;
  const asked = await browser.post(path, { _csrf: await token() });
  const html = await asked.text();
  expect([asked.status, asked.headers.get('refresh')]).toEqual([403, null]);
  expect(html).toContain(`action="${path}"`);
  const leaving = await browser.post(path, { _csrf: csrfOf(html), current_password: password });
  expect([leaving.status, leaving.headers.get('refresh')?.startsWith('0; url=http://127.0.0.1:9/a?')]).toEqual([200, true]);
});

test('as JSON: 403 without a password, 401 for a wrong one, 200 for the right one', async () => {
  later();
  const post = async (body: object) => {
    const response = await browser.postJson(unlink, body, { origin: service.url });
    return [response.status, ((await response.json()) as { error?: string }).error];
  };
  expect(await post({})).toEqual([403, 'fresh_sign_in_required']);
  expect(await post({ current_password: 'wrong' })).toEqual([401, 'invalid_password']);
  expect(await linked()).toBe(1);
  expect(await post({ current_password: password })).toEqual([200, undefined]);
  expect(await linked()).toBe(0);
});

test('without a password: through a connection of theirs that says when somebody signed in, and by no other', async () => {
  await linkIdentity(ctx, user.id, { connection_id: other.id, generation: 1, subject: user.id, email: null, claims: {} });
  await updateUser(ctx.scope, user.id, { password_hash: null });
  later();
  const html = await (await browser.post(unlink, { _csrf: await token() })).text();
  expect(html).toContain('Sign in again with Corp');
  expect(html).toContain(`/auth/sso/${connection.id}?prompt=login`);
  expect(html).not.toContain('Sign in again with Hub');
  expect(html).not.toContain('name="current_password"');
});

test('guesses count towards the lock of the account', async () => {
  later();
  const { lockout_threshold } = ctx.environment;
  const _csrf = await token();
  for (let guess = 0; guess < lockout_threshold; guess++) await browser.post(unlink, { _csrf, current_password: `wrong ${guess}` });
  expect((await browser.post(unlink, { _csrf, current_password: password })).status).not.toBe(303);
  expect(await linked()).toBe(1);
});

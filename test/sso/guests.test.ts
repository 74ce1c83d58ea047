// Somebody who connected an account at an organization's provider that doesn't manage them: that provider says who signs in for the organization, and nothing more.
import { afterEach, expect, test } from 'vitest';
import { linkIdentity } from '../../src/domain/connections/identities.js';
import { findUser, type UserRow } from '../../src/db/tables/users.js';
import { Browser, csrfOf, locationParameters, pkcePair } from '../support/browser.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { creationOptionsAt, refusalOf, setEnvironment } from '../support/factors.js';
import { mailTo } from '../support/mailbox.js';
import { allowCode } from '../support/oauth.js';
import { addDomain, addMembership, addOrganization } from '../support/organizations.js';
import { samlKeyPair } from '../support/saml-provider.js';
import { addSamlConnection, answer, beginAt, signedAssertion } from '../support/saml-sign-in.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { SoftwareAuthenticator } from '../support/software-authenticator.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const key = shared(() => samlKeyPair());
const client = shared(() => addClient(ctx, { organization_usage: 'allow', first_party: true }));
const organization = shared(() => addOrganization(ctx));
const connection = shared(() =>
  addSamlConnection(ctx, key, {}, { organization_id: organization.id, domains: [], trusted: false, account_linking: 'verified_email' }),
);
const usual = shared(async () => {
  const { second_factor_policy, second_factor_grace_lifetime, lockout_threshold, new_device_mail } = ctx.environment;
  return { second_factor_policy, second_factor_grace_lifetime, lockout_threshold, new_device_mail };
});
afterEach(() => setEnvironment(service, usual));

let number = 0;

/** A member with an address elsewhere, whose account at the provider is connected. */
async function guest(domain = 'elsewhere.example'): Promise<UserRow> {
  const user = await addUser(ctx, { email: `guest-${(number += 1)}@${domain}` });
  await addMembership(ctx, organization, user);
  const { id: connection_id, generation } = connection;
  await linkIdentity(ctx, user.id, { connection_id, generation, subject: user.email, email: user.email, claims: {} });
  return user;
}

/** The provider says that it is the user. */
async function come({ email }: UserRow, browser = new Browser(service.url)) {
  const { request, told } = await beginAt(ctx, browser, connection);
  const said = signedAssertion({ ...told, name_id: email, attributes: { email } }, key);
  const { status, headers } = await answer(browser, connection, said, request.relay_state);
  return { browser, status, to: headers.get('location') ?? '' };
}

const isInside = async (browser: Browser) => (await browser.get('/account')).status === 200;

const requestOf = (fields: Record<string, string>, { id, redirect_uris }: Pick<TestClient, 'id' | 'redirect_uris'> = client) =>
  `/oauth/authorize?${new URLSearchParams({
    client_id: id,
    redirect_uri: redirect_uris[0] ?? '',
    response_type: 'code',
    scope: 'openid',
    code_challenge: pkcePair().challenge,
    code_challenge_method: 'S256',
    ...fields,
  })}`;

const signsInFor = async (browser: Browser): Promise<boolean> =>
  locationParameters(await browser.get(requestOf({ prompt: 'none', organization: organization.name }))).get('code') !== null;

test('adds no passkey on the way in, to come back with it as the person for everybody (attack 64.1880)', async () => {
  const user = await guest();
  await setEnvironment(service, { second_factor_policy: 'required', second_factor_grace_lifetime: 0 });
  const { browser, to } = await come(user);
  expect(to).toMatch(/^\/login\/enroll/);
  for (const path of ['passkey/options', 'passkey', 'totp', 'totp/verify', 'skip'])
    expect([path, await refusalOf(await browser.postJson(`/login/enroll/${path}`, {}))]).toEqual([path, [403, 'factor_required']]);
  const page = await browser.get(to);
  expect([page.status, await page.text()]).toEqual([403, expect.stringContaining('href="/login"')]);
  expect(await isInside(browser)).toBe(false);
  expect((await findUser(ctx.scope, user.id))?.authenticator_kinds).toEqual([]);
});

test('enrols once the account here is proven, and then comes in by the provider and the factor', async () => {
  const user = await guest();
  await setEnvironment(service, { second_factor_policy: 'required', second_factor_grace_lifetime: 0 });
  const { browser } = await come(user);
  const asked = await browser.postJson('/login', { email: user.email, password });
  expect(await asked.json()).toMatchObject({ redirect_to: '/login/enroll' });
  const options = await creationOptionsAt(browser, '/login/enroll/passkey/options');
  const credential = new SoftwareAuthenticator().create(options, { origin: service.url });
  expect((await browser.postJson('/login/enroll/passkey', { credential })).status).toBe(200);
  expect(await isInside(browser)).toBe(true);
  expect((await come(user)).to).toMatch(/^\/login\/verify/);
});

test('goes on for the organization while the time to enrol lasts', async () => {
  const user = await guest();
  await setEnvironment(service, { second_factor_policy: 'required', second_factor_grace_lifetime: 86_400 });
  const { browser, to } = await come(user);
  expect(to).not.toMatch(/^\/login/);
  expect([await signsInFor(browser), await isInside(browser)]).toEqual([true, false]);
  expect((await findUser(ctx.scope, user.id))?.factor_required_since).not.toBeNull();
});

test('whom the organization manages enrols as everybody does', async () => {
  const domain = 'managed-guests.example';
  await addDomain(ctx, organization, domain);
  const user = await guest(domain);
  await setEnvironment(service, { second_factor_policy: 'required', second_factor_grace_lifetime: 0 });
  const { browser } = await come(user);
  await creationOptionsAt(browser, '/login/enroll/passkey/options');
});

test('takes no wrong password back, and no browser to guess on with, by coming in again and again (attack 64.1881)', async () => {
  const user = await guest();
  await setEnvironment(service, { lockout_threshold: 3 });
  for (let round = 0; round < 3; round++) {
    const { browser } = await come(user);
    expect((await browser.login(user.email, 'wrong')).status).toBe(401);
  }
  const { browser } = await come(user);
  expect((await browser.login(user.email, password)).status).toBe(401);
});

test('is told once of a browser that is new, and again when the account itself is used there', async () => {
  const user = await guest();
  await setEnvironment(service, { new_device_mail: true });
  const told = async () => (await mailTo(service.url, user.email)).length;
  await come(user);
  service.clock.advance(700_000);
  const { browser } = await come(user);
  expect(await told()).toBe(1);
  await come(user, browser);
  expect(await told()).toBe(1);
  expect((await browser.login(user.email, password)).status).toBe(303);
  expect(await told()).toBe(2);
  await come(user, browser);
  expect(await told()).toBe(2);
});

test('is not signed out by a form of another site below the same domain (attack 64.1884)', async () => {
  const { browser } = await come(await guest());
  const page = await (await browser.get('/oauth/logout')).text();
  const [, request = ''] = /name="request" value="([^"]+)"/.exec(page) ?? [];
  const form = { request, decision: 'logout' };
  expect((await browser.post('/oauth/logout/confirm', form)).status).toBe(403);
  expect(await signsInFor(browser)).toBe(true);
  expect((await browser.post('/oauth/logout/confirm', { ...form, _csrf: csrfOf(page) })).status).toBe(200);
  expect(await signsInFor(browser)).toBe(false);
});

test('takes back no deletion that the person has asked for (attack 67.1912)', async () => {
  const user = await guest();
  const deletion_due_at = new Date(service.clock.now().getTime() + 86_400_000);
  await ctx.db.knex('users').where({ id: user.id }).update({ deletion_due_at });
  const due = async () => (await findUser(ctx.scope, user.id))?.deletion_due_at;
  const { browser } = await come(user);
  expect([await signsInFor(browser), await due()]).toEqual([true, deletion_due_at]);
  expect((await browser.login(user.email, password)).status).toBe(303);
  expect(await due()).toBeNull();
});

test('allows an application nothing that the person is not asked about elsewhere (attack 67.1918)', async () => {
  const user = await guest();
  const { browser } = await come(user);
  const stranger = await addClient(ctx, { organization_usage: 'allow', first_party: false });
  const inOrganization = { organization: organization.name };
  const answerOf = async (fields: Record<string, string>) =>
    locationParameters(await browser.get(requestOf({ prompt: 'none', ...fields }, stranger))).get('error');
  const allow = async (fields: Record<string, string>) => (await allowCode(browser, stranger, { scope: 'openid', ...fields })).code;
  expect(await allow(inOrganization)).not.toBe('');
  expect(await answerOf(inOrganization)).toBe('consent_required');
  expect((await browser.login(user.email, password)).status).toBe(303);
  expect(await answerOf({})).toBe('consent_required');
  expect(await allow({})).not.toBe('');
  expect([await answerOf({}), await answerOf(inOrganization)]).toEqual([null, null]);
});

// Signing in through an organization's connection: whom it speaks for, whose account it is, and who is led to it.
import { beforeEach, describe, expect, test } from 'vitest';
import { listIdentities } from '../../src/domain/connections/identities.js';
import { findUser, findUserByEmailKey, type UserRow } from '../../src/db/tables/users.js';
import { permit } from '../support/administrators.js';
import { Browser, csrfOf, locationParameters, pkcePair } from '../support/browser.js';
import { addClient, addUser } from '../support/data.js';
import { giveTotp } from '../support/factors.js';
import { mailTo } from '../support/mailbox.js';
import { addDomain, addMembership, addOrganization, changeRow } from '../support/organizations.js';
import { readRequest, samlKeyPair } from '../support/saml-provider.js';
import { addSamlConnection, answer, beginAt, signedAssertion } from '../support/saml-sign-in.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { codeOf, startAt } from '../support/sso.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const key = shared(() => samlKeyPair());
const password = 'correct horse battery staple';
let browser: Browser;
let number = 0;

beforeEach(() => {
  browser = new Browser(service.url);
});

/** An organization with a verified domain of its own, and its connection. */
async function customer(row: Parameters<typeof addOrganization>[1] = {}, options: Record<string, unknown> = {}) {
  const domain = `customer-${(number += 1)}.example`;
  const organization = await addOrganization(ctx, row);
  const { id: organization_id } = organization;
  const connection = await addSamlConnection(ctx, key, options, { organization_id, domains: [], trusted: false });
  await addDomain(ctx, organization, domain);
  return { organization, connection, domain };
}
type Customer = Awaited<ReturnType<typeof customer>>;

/** Comes through the connection as whom its provider names. */
async function come({ connection }: Pick<Customer, 'connection'>, email: string, at = browser): Promise<Response> {
  const { request, told } = await beginAt(ctx, at, connection);
  return answer(at, connection, signedAssertion({ ...told, name_id: email, attributes: { email } }, key), request.relay_state);
}

const whoIsIn = async (email: string) => {
  const page = await browser.get('/account');
  return page.status === 200 && (await page.text()).includes(email);
};
const linkedTo = async (user: UserRow) => (await listIdentities(ctx, user.id)).map(({ connection_id }) => connection_id);

describe('an account of an address in the organization’s domains', () => {
  test('is linked by the provider’s word, and told (specification 16.4.1)', async () => {
    const own = await customer();
    const user = await addUser(ctx, { email: `ada@${own.domain}` });
    expect((await come(own, user.email)).status).toBe(303);
    expect(await whoIsIn(user.email)).toBe(true);
    expect(await linkedTo(user)).toEqual([own.connection.id]);
    expect((await mailTo(service.url, user.email)).map(({ subject }) => subject).join()).toContain(own.connection.display_name);
  });

  test('that somebody else registered first is cleared before it is linked, its second step unasked (attack 60.1811)', async () => {
    const own = await customer();
    const user = await addUser(ctx, { email: `eve@${own.domain}`, email_verified: false });
    const squatter = await signedIn(service, user);
    await giveTotp(ctx, user.id);
    expect((await come(own, user.email)).status).toBe(303);
    expect(await whoIsIn(user.email)).toBe(true);
    const after = await findUser(ctx.scope, user.id);
    expect(after).toMatchObject({ email_verified: true, password_hash: null, authenticator_kinds: [] });
    expect(await linkedTo(user)).toEqual([own.connection.id]);
    expect((await squatter.get('/account')).status).toBe(303);
    expect((await mailTo(service.url, user.email)).map(({ text }) => text).join()).toContain('The password was removed');
  });

  test('that administers the environment is linked by its own proof alone, verified or not (specification 8.3.3)', async () => {
    const own = await customer();
    for (const email_verified of [true, false]) {
      const user = await addUser(ctx, { email: `${email_verified ? 'chief' : 'deputy'}@${own.domain}`, email_verified });
      await permit(ctx, user.id, 'clients:read');
      const asked = await come(own, user.email, new Browser(service.url));
      expect([asked.status, await asked.text()]).toEqual([200, expect.stringContaining('type="password"')]);
      expect(await linkedTo(user)).toEqual([]);
      expect(await findUser(ctx.scope, user.id)).toMatchObject({ email_verified, password_hash: user.password_hash });
    }
  });
});

test('of addresses elsewhere, another organization’s too, the provider learns nothing, not even whether there is an account (specification 16.4.1)', async () => {
  const [own, theirs] = [await customer(), await customer()];
  await addDomain(ctx, own.organization, 'waiting-for-proof.example', { status: 'pending' });
  await addDomain(ctx, own.organization, 'no-longer-proven.example', { status: 'failed' });
  const there = await addUser(ctx, { email: `ben@${theirs.domain}`, email_verified: false });
  const addresses = [
    there.email,
    `nobody@${theirs.domain}`,
    'one@waiting-for-proof.example',
    'one@no-longer-proven.example',
    'one@elsewhere.example',
  ];
  for (const email of addresses) {
    const refused = await come(own, email, new Browser(service.url));
    expect([email, refused.status, await codeOf(refused)]).toEqual([email, 403, 'sso_domain_not_allowed']);
  }
  expect(await findUser(ctx.scope, there.id)).toMatchObject({ email_verified: false });
  await changeRow(ctx, 'organizations', { id: own.organization.id }, { status: 'disabled' });
  ctx.cache.invalidate(ctx.environment.id, 'connections');
  expect(await codeOf(await come(own, `new@${own.domain}`))).toBe('sso_domain_not_allowed');
  expect(await findUserByEmailKey(ctx.scope, `new@${own.domain}`)).toBeNull();
});

test('a guest connects it on the account page and then signs in by it, for this organization alone (specification 16.2.7)', async () => {
  const own = await customer();
  const guest = await addUser(ctx, { email: `guest-${number}@elsewhere.example` });
  await addMembership(ctx, own.organization, guest);
  const inside = await signedIn(service, guest);
  const page = await (await inside.get('/account')).text();
  const connect = `/auth/sso/${own.connection.id}/connect`;
  expect(page).toContain(`action="${connect}"`);
  const led = await inside.post(connect, { _csrf: csrfOf(page) });
  const request = readRequest(new URL((led.headers.get('refresh') as string).replace('0; url=', '')));
  const said = { ...(await beginAt(ctx, new Browser(service.url), own.connection)).told, request_id: request.id, name_id: guest.email };
  const connected = await answer(inside, own.connection, signedAssertion(said, key), request.relay_state);
  expect([connected.status, connected.headers.get('location')]).toEqual([303, '/account?done=connected']);
  expect(await linkedTo(guest)).toEqual([own.connection.id]);

  expect((await come(own, guest.email)).status).toBe(303);
  expect((await browser.get('/account')).headers.get('location')).toMatch(/^\/login/);
  const client = await addClient(ctx, { organization_usage: 'allow', first_party: true });
  const asked = (organization: string) =>
    browser.get(
      `/oauth/authorize?${new URLSearchParams({ client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', response_type: 'code', scope: 'openid', prompt: 'none', organization, code_challenge: pkcePair().challenge, code_challenge_method: 'S256' })}`,
    );
  expect(locationParameters(await asked(own.organization.name)).get('code')).not.toBeNull();
  const other = await addOrganization(ctx);
  await addMembership(ctx, other, guest);
  expect(locationParameters(await asked(other.name)).get('error')).toBe('login_required');
});

test('nobody reads on the account page whose connections there are, but members (attack 60.1812)', async () => {
  const own = await customer();
  const user = await addUser(ctx);
  const inside = await signedIn(service, user);
  const offered = async () => (await (await inside.get('/account')).text()).includes(own.connection.id);
  expect(await offered()).toBe(false);
  const { id } = await addMembership(ctx, own.organization, user);
  expect(await offered()).toBe(true);
  await changeRow(ctx, 'organization_memberships', { id }, { status: 'suspended' });
  expect(await offered()).toBe(false);
  await changeRow(ctx, 'organization_memberships', { id }, { status: 'active' });
  await changeRow(ctx, 'organizations', { id: own.organization.id }, { status: 'disabled' });
  expect(await offered()).toBe(false);
});

describe('who is led to it', () => {
  /** Where the sign-in page leads an address; null: to its own form. */
  async function leads(email: string, secret = ''): Promise<string | null> {
    const stranger = new Browser(service.url);
    const page = await (await stranger.get('/login')).text();
    return (await stranger.post('/login', { _csrf: csrfOf(page), email, password: secret })).headers.get('location');
  }

  test('a right password still works, unless require_sso says otherwise, or nothing does any more (specification 16.2.6, 16.2.8)', async () => {
    const own = await customer();
    const user = await addUser(ctx, { email: `ada@${own.domain}` });
    const theirs = expect.stringContaining(`/auth/sso/${own.connection.id}`) as string;
    const set = async (changes: Record<string, unknown>) => {
      await changeRow(ctx, 'organizations', { id: own.organization.id }, changes);
      ctx.cache.invalidate(ctx.environment.id, 'connections');
    };
    expect(await leads(user.email)).toEqual(theirs);
    expect(await leads(user.email, password)).toBe('/account');
    for (const require_sso of ['domains', 'everyone']) {
      await set({ require_sso });
      expect(await leads(user.email, password)).toEqual(theirs);
    }
    await set({ status: 'disabled' });
    expect(await leads(user.email, password)).toBe('/account');
    await set({ status: 'enabled' });
    await changeRow(ctx, 'organization_domains', { organization_id: own.organization.id }, { status: 'failed' });
    ctx.cache.invalidate(ctx.environment.id, 'connections');
    expect(await leads(user.email, password)).toBe('/account');
    expect(await leads(user.email)).toBeNull();
  });
});

describe('what its options make of a request', () => {
  test.each([
    ['persistent', 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'],
    ['email', 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'],
    ['transient', 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'],
    ['unspecified', undefined],
  ])('name_id_format %s asks for %s (specification 16.7.1)', async (name_id_format, format) => {
    const { connection } = await customer({}, { name_id_format });
    const { request } = await beginAt(ctx, browser, connection);
    expect(request.attribute('Format')).toBe(format);
  });

  test('force_authn asks for a new sign-in, and without sign_requests nothing is signed (specification 16.7.1)', async () => {
    const { connection } = await customer({}, { force_authn: true, sign_requests: false });
    const { request } = await beginAt(ctx, browser, connection);
    expect(request.attribute('ForceAuthn')).toBe('true');
    expect([...(await startAt(browser, connection)).searchParams.keys()].sort()).toEqual(['RelayState', 'SAMLRequest']);
    expect(await (await browser.get(`/auth/sso/${connection.id}/metadata`)).text()).toContain('AuthnRequestsSigned="false"');
  });
});

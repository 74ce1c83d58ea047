// What people do with an invitation: whoever has the link and the address gets in, once, and nobody else.
import { expect, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { acceptInvitation } from '../../src/domain/organizations/invitations.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient, addUser, password } from '../support/data.js';
import { addOrganization, invitationPath, invite } from '../support/invitations.js';
import { lastMailTo } from '../support/mailbox.js';
import { link, manage, startManagedService, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

let number = 0;

const service = sharedManagedService();
const api = shared(() => manage(service.url));

/** An invitation of an address, an account's or a stranger's, with the path in its mail. */
async function invited(email: string, { client }: { client?: string } = {}) {
  const organization = await addOrganization(api);
  const answer = await invite(api, { organization, email, ...(client !== undefined && { client }) });
  return { organization, record: answer.body['data'] as Document, path: await invitationPath(service.url, email) };
}

async function person(row: Document = {}): Promise<{ email: string; browser: Browser }> {
  const email = `guest-${(number += 1)}@example.com`;
  await addUser(await service.context(), { email, ...row });
  const browser = new Browser(service.url);
  await browser.login(email, password);
  return { email, browser };
}

const membersOf = async ({ id }: Document) =>
  (await api.get(`/organization_memberships?filter[organization]=${id}`)).body['data'] as Document[];

/** Posts to the path with a token of the browser's own, as a page of ours would. */
const post = async (browser: Browser, path: string, from = '/account'): Promise<Response> =>
  browser.post(path, { _csrf: csrfOf(await (await browser.get(from)).text()) });

test('the user of the address accepts, and goes on to where the invitation leads (specification 16.10.4, 16.10.5)', async () => {
  const { email, browser } = await person();
  const client = await addClient(await service.context(), { initiate_login_uri: 'https://notes.example/login' });
  const { organization, path } = await invited(email, { client: client.id });
  const page = await browser.get(path);
  expect([page.status, page.headers.get('referrer-policy')]).toEqual([200, 'no-referrer']);
  expect(await page.text()).toContain(organization['attributes'].display_name);
  expect(await membersOf(organization)).toHaveLength(0);
  const accepted = await browser.submit(path, {});
  const landing = `https://notes.example/login?iss=${encodeURIComponent(service.url)}`;
  expect([accepted.status, accepted.headers.get('location')]).toEqual([303, landing]);
  expect(await membersOf(organization)).toHaveLength(1);
  expect((await browser.get(path)).headers.get('location')).toBe(landing);
  expect((await post(browser, path)).status).toBe(410);
});

test('its mail and its page look like the organization; the mail says on whose service (specification 16.10.9)', async () => {
  const email = `guest-${(number += 1)}@example.com`;
  const organization = await addOrganization(api);
  const id = organization['id'] as string;
  const branding = { logo_url: 'https://acme.example/logo.png', primary_color: '#0b6b3a' };
  await api.update('organizations', id, { branding });
  await invite(api, { organization, email });
  const { display_name } = organization['attributes'];
  const { text, html } = await lastMailTo(service.url, email);
  expect(text).toContain(`join ${display_name} on ${(await service.context()).environment.name}.`);
  expect(html).toMatch(new RegExp(`acme\\.example/logo\\.png[\\s\\S]*<bdi>${display_name}</bdi>`));
  expect(html).toContain('#0b6b3a');
  const page = await (await new Browser(service.url).get(await invitationPath(service.url, email))).text();
  for (const shown of [`src="${branding.logo_url}" alt="${display_name}"`, '0b6b3a']) expect(page).toContain(shown);
});

test('without a client it leads to the account; with a client of no sign-in address to its first page (specification 16.10.5)', async () => {
  const { email, browser } = await person();
  const client = await addClient(await service.context(), { client_uri: 'https://notes.example/' });
  const { path } = await invited(email, { client: client.id });
  expect((await browser.submit(path, {})).headers.get('location')).toBe('https://notes.example/');
  expect((await browser.submit((await invited(email)).path, {})).headers.get('location')).toBe('/account');
});

test('whoever was removed does not come back by an invitation of before, but by one that is sent again (attack 64.1883)', async () => {
  const { email, browser } = await person();
  const { organization, record, path } = await invited(email);
  const user = (await api.get(`/users?filter[email]=${email}`)).body['data'][0] as Document;
  const { id } = await api.create(
    'organization_memberships',
    {},
    { organization: link('organization', organization['id']), user: link('user', user['id']) },
  );
  service.clock.advance(60_000);
  expect((await api.delete(`/organization_memberships/${id}`)).status).toBe(204);
  expect((await browser.submit(path, {})).status).toBe(410);
  expect(await membersOf(organization)).toHaveLength(0);
  expect((await api.post(`/organization_invitations/${record['id']}/resend`)).status).toBe(202);
  expect((await browser.submit(await invitationPath(service.url, email), {})).status).toBe(303);
  expect(await membersOf(organization)).toHaveLength(1);
});

test('an invitation that two browsers accept at once makes one member (attack 43.1333)', async () => {
  const { email, browser } = await person();
  const second = new Browser(service.url);
  await second.login(email, password);
  const { organization, path } = await invited(email);
  const answers = await Promise.all([browser.submit(path, {}), second.submit(path, {})]);
  expect(answers.map(({ status }) => status).sort()).toContain(303);
  expect(await membersOf(organization)).toHaveLength(1);
});

test('somebody signed in with another address is told who is invited, and can switch (attack 43.1334)', async () => {
  const { email } = await person();
  const { browser } = await person();
  const { organization, path } = await invited(email);
  const html = await (await browser.get(path)).text();
  expect(html).toContain(email);
  expect(html).toContain('Use another account');
  expect((await post(browser, path, path)).status).toBe(403);
  expect(await membersOf(organization)).toHaveLength(0);
  const out = await browser.post('/logout', { _csrf: csrfOf(html), return_to: path });
  expect(out.headers.get('location')).toBe(path);
  expect(await (await browser.get(path)).text()).toContain('Sign in to accept');
});

test('an account whose address nobody has proven can not accept (attack 43.1334)', async () => {
  const { email, browser } = await person({ email_verified: false });
  const { organization, path } = await invited(email);
  expect(await (await browser.get(path)).text()).toContain('isn’t confirmed yet');
  expect((await post(browser, path, path.replace(/^.*$/, '/account'))).status).toBe(403);
  expect(await membersOf(organization)).toHaveLength(0);
});

test('revoked, expired, replaced, guessed, and one of a disabled organization: one answer, whatever the request (attacks 43.1331, 43.1335, 43.1336)', async () => {
  const { email, browser } = await person();
  const [revoked, replaced, disabled] = [await invited(email), await invited(email), await invited(email)];
  await api.patch(`/organization_invitations/${revoked.record['id']}/revoke`);
  await api.post(`/organization_invitations/${replaced.record['id']}/resend`);
  const change = { data: { type: 'organization', id: disabled.organization['id'], attributes: { status: 'disabled' } } };
  await api.patch(`/organizations/${disabled.organization['id']}`, change);
  const guessed = `/invitations/in_${'A'.repeat(43)}`;
  for (const path of [revoked.path, replaced.path, disabled.path, guessed, '/invitations/x', '/invitations/%00']) {
    expect((await browser.get(path)).status).toBe(410);
    expect((await post(browser, path)).status).toBe(410);
    expect((await post(browser, `${path}/register`)).status).toBe(410);
  }
  for (const { organization } of [revoked, replaced, disabled]) expect(await membersOf(organization)).toHaveLength(0);
});

test('an expired invitation is worth nothing (attack 43.1336)', async () => {
  const later = await startManagedService();
  try {
    const other = await manage(later.url);
    const organization = await addOrganization(other);
    await invite(other, { organization, email: 'late@example.com' }, { expires_in: 3600 });
    const path = await invitationPath(later.url, 'late@example.com');
    later.clock.advance(3_600_000);
    expect((await new Browser(later.url).get(path)).status).toBe(410);
  } finally {
    await later.stop();
  }
});

test('another site accepts nothing in somebody’s name (attack 43.1337)', async () => {
  const { email, browser } = await person();
  const { organization, path } = await invited(email);
  expect((await browser.post(path, {})).status).toBe(403);
  expect((await browser.post(`${path}/register`, {})).status).toBe(403);
  expect(await membersOf(organization)).toHaveLength(0);
});

/** Registers through the invitation as the pages lead. */
async function register(browser: Browser, path: string): Promise<{ complete: () => Promise<Response>; status: number }> {
  const answer = await browser.submit(path, {}, `${path}/register`);
  const html = await answer.text();
  const registration_token = /name="registration_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const fields = { registration_token, first_name: 'Ada', last_name: 'Lovelace', password, return_to: path };
  return { complete: () => browser.post('/register/complete', { _csrf: csrfOf(html), ...fields }), status: answer.status };
}

const setRegistration = async (registration_enabled: boolean) => {
  const { id } = (await api.get('/environments?filter[slug]=default')).body['data'][0];
  await api.update('environments', id, { registration_enabled });
};

test('a stranger registers without a code, even where registration is off, and is a member (specification 16.10.6, attack 43.1338)', async () => {
  await setRegistration(false);
  const { organization, path } = await invited('stranger@example.com');
  const browser = new Browser(service.url);
  const { status, complete } = await register(browser, path);
  expect(status).toBe(200);
  const completed = await complete();
  expect([completed.status, completed.headers.get('location')]).toEqual([303, path]);
  expect((await browser.get(path)).headers.get('location')).toBe('/account');
  const [member] = await membersOf(organization);
  expect(member?.['attributes'].source).toBe('invitation');
  const [user] = (await api.get('/users?filter[email]=stranger@example.com')).body['data'];
  expect(user.attributes.email_verified).toBe(true);
  expect((await complete()).status).not.toBe(303);
  // Nothing else is open there.
  expect((await browser.get('/register')).status).toBe(403);
  await setRegistration(true);
});

test('an invitation whose maker may no longer make it when its stranger has registered makes no account (attack 67.1914)', async () => {
  const { record, path } = await invited('late@example.com');
  const { complete } = await register(new Browser(service.url), path);
  const { db, scope } = await service.context();
  const { id: inviter_id } = await addUser(await service.context());
  const where = { environment_id: scope.environment_id, id: record['id'] };
  await db.knex('organization_invitations').where(where).update({ inviter_id, inviter_name: 'Maker' });
  expect((await complete()).status).toBe(410);
  expect((await api.get('/users?filter[email]=late@example.com')).body['data']).toHaveLength(0);
});

test('an invitation whose maker may no longer make it by the time it is accepted stays open for whoever sends it again', async () => {
  const ctx = await service.context();
  const user = await addUser(ctx);
  const { organization, record } = await invited(user.email);
  const { id: inviter_id } = await addUser(ctx);
  const rows = ctx.db.knex('organization_invitations').where({ environment_id: ctx.scope.environment_id, id: record['id'] });
  await rows.clone().update({ inviter_id, inviter_name: 'Maker' });
  const { token_digest } = (await rows.clone().first()) as { token_digest: Buffer };
  expect(await transaction(ctx, (tx) => acceptInvitation(tx, token_digest, user))).toBeNull();
  expect(await rows.clone().first()).toMatchObject({ accepted_at: null });
  expect((await api.post(`/organization_invitations/${record['id']}/resend`)).status).toBe(202);
  expect(await membersOf(organization)).toHaveLength(0);
});

test('an invitation that is revoked while its stranger registers makes no account (attack 43.1339)', async () => {
  const { record, path } = await invited('revoked@example.com');
  const { complete } = await register(new Browser(service.url), path);
  await api.patch(`/organization_invitations/${record['id']}/revoke`);
  expect((await complete()).status).toBe(410);
  expect((await api.get('/users?filter[email]=revoked@example.com')).body['data']).toHaveLength(0);
});

test('who has an account signs in, and makes no second one (specification 16.10.6)', async () => {
  const { email } = await person();
  const { path } = await invited(email);
  const browser = new Browser(service.url);
  expect(await (await browser.get(path)).text()).toContain(`login_hint=${encodeURIComponent(email)}`);
  expect((await post(browser, `${path}/register`, '/login')).status).toBe(409);
  expect((await browser.login(email, password, path)).headers.get('location')).toBe(path);
});

test('a member sees the organization on the account page, leaves it once confirmed, and nobody else’s (specification 16.10.7)', async () => {
  const { email, browser } = await person();
  const { browser: other } = await person();
  expect(await (await browser.get('/account')).text()).not.toContain('organizations-title');
  const { organization, path } = await invited(email);
  await browser.submit(path, {});
  expect(await (await browser.get('/account')).text()).toContain(organization['attributes'].display_name);
  const leave = `/account/organizations/${organization['id']}/leave`;
  expect((await other.get(leave)).status).toBe(404);
  expect((await post(other, leave)).status).toBe(404);
  expect((await browser.post(leave, {})).status).toBe(403);
  expect((await browser.submit(leave, {})).headers.get('location')).toBe('/account?done=organization');
  expect(await membersOf(organization)).toHaveLength(0);
  expect((await browser.get(leave)).status).toBe(404);
});

test('the last administrator of an organization can not leave it (specification 16.10.7)', async () => {
  const { email, browser } = await person();
  const organization = await addOrganization(api);
  const [admin] = (await api.get('/roles?filter[name]=organization_admin')).body['data'];
  await invite(api, { organization, email, roles: [admin.id] });
  await browser.submit(await invitationPath(service.url, email), {});
  const leave = `/account/organizations/${organization['id']}/leave`;
  expect((await browser.submit(leave, {})).status).toBe(409);
  expect(await membersOf(organization)).toHaveLength(1);
});

// Devices for an organization: named by the device or chosen on the page, and judged as at the authorization endpoint (specification 5.18.9).
import { beforeEach, describe, expect, test } from 'vitest';
import { transaction } from '../../../src/domain/context.js';
import { resumeMember, suspendMember } from '../../../src/domain/organizations/memberships.js';
import { insert } from '../../../src/db/scope.js';
import type { MembershipRow } from '../../../src/db/tables/organization_memberships.js';
import type { OrganizationRow } from '../../../src/db/tables/organizations.js';
import type { UserRow } from '../../../src/db/tables/users.js';
import { csrfOf, type Browser } from '../../support/browser.js';
import { addClient, addResource, addUser, type TestClient } from '../../support/data.js';
import { answerDevice, deviceCode, pollDevice, questionOf, startDevice, typeUserCode } from '../../support/device.js';
import { claimsOf, oauthPost, tokenRequest } from '../../support/oauth.js';
import { addMembership, addOrganization, addRoleOf, changeRow } from '../../support/organizations.js';
import { contextOf, shared, sharedService } from '../../support/shared-service.js';
import { lastRow } from '../../support/security-events.js';
import { signedIn } from '../../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const apis = shared(async () => ({
  jwt: await addResource(ctx, { identifier: 'https://jwt.example', token_format: 'jwt' }),
  opaque: await addResource(ctx, { identifier: 'https://opaque.example', token_format: 'opaque' }),
}));
const clientWith = (organization_usage: 'deny' | 'allow' | 'require'): TestClient =>
  shared(() => addClient(ctx, { organization_usage, name: 'Acme TV', grant_types: [deviceCode, 'refresh_token'] }));
const clients = { deny: clientWith('deny'), allow: clientWith('allow'), require: clientWith('require') };

let user: UserRow;
let browser: Browser;
let acme: OrganizationRow;
let membership: MembershipRow;

beforeEach(async () => {
  user = await addUser(ctx);
  browser = await signedIn(service, user);
  acme = await addOrganization(ctx);
  const roles = [await addRoleOf(ctx, apis.jwt, ['read']), await addRoleOf(ctx, apis.opaque, ['read'])];
  membership = await addMembership(ctx, acme, user, { roles });
  const elsewhere = await addRoleOf(ctx, apis.jwt, ['write'], 'environment');
  await insert<Record<string, unknown>>(ctx.scope, 'user_roles', { user_id: user.id, role_id: elsewhere.id });
});

const start = (client: TestClient, fields: Record<string, string> = {}) =>
  startDevice(service.url, client, { scope: 'openid roles', ...fields });
const introspected = async (client: TestClient, token: string) =>
  (await oauthPost(service.url, '/oauth/introspect', client, { token })).body;
const named = () => ({ org_id: acme.id, org_name: acme.name });

/** The page that comes once the organization is chosen; the empty name is the personal account. */
async function choose(user_code: string, organization: string): Promise<Response> {
  const html = await (await typeUserCode(browser, user_code)).text();
  expect(html).toContain('Choose an organization');
  return browser.post('/device', { _csrf: csrfOf(html), user_code, organization });
}

describe('a device that names one', () => {
  test('gets tokens for it, of either format, whose rights are the membership’s, also when they are refreshed (specification 5.18.9)', async () => {
    for (const organization of [acme.id, acme.name]) {
      for (const resource of [apis.jwt.identifier, apis.opaque.identifier]) {
        const { user_code, device_code } = await start(clients.allow, { organization, resource });
        await answerDevice(browser, user_code);
        const { body } = await pollDevice(service.url, clients.allow, device_code, { organization: acme.name });
        expect(await introspected(clients.allow, body.access_token)).toMatchObject({ active: true, ...named(), permissions: ['read'] });
        expect(claimsOf(body.id_token as string)).toMatchObject(named());
        const refreshed = await tokenRequest(service.url, clients.allow, {
          grant_type: 'refresh_token',
          refresh_token: body.refresh_token as string,
        });
        expect(await introspected(clients.allow, refreshed.body.access_token)).toMatchObject({ active: true, ...named() });
      }
    }
  });

  test('is shown on the page, and told in the security event', async () => {
    const { user_code } = await start(clients.allow, { organization: acme.name });
    const html = await (await typeUserCode(browser, user_code)).text();
    expect(html).toContain(`<dd>${acme.display_name}</dd>`);
    await browser.post('/device/answer', { ...questionOf(html), decision: 'allow' });
    expect((await lastRow(service, 'device.approved')).changes).toMatchObject({ organization: [null, acme.name] });
  });

  test('leaves it out: no organization where it is allowed, and the only one where it is required', async () => {
    const free = await start(clients.allow, { resource: apis.jwt.identifier });
    await answerDevice(browser, free.user_code);
    const { body } = await pollDevice(service.url, clients.allow, free.device_code);
    expect(claimsOf(body.access_token)).not.toHaveProperty('org_id');
    expect(claimsOf(body.access_token)).toMatchObject({ permissions: ['write'] });
    const bound = await start(clients.require, { resource: apis.jwt.identifier });
    await answerDevice(browser, bound.user_code);
    expect(claimsOf((await pollDevice(service.url, clients.require, bound.device_code)).body.access_token)).toMatchObject(named());
  });

  test('of a client that takes none, or beyond 255 characters, doesn’t start', async () => {
    for (const [client, organization] of [
      [clients.deny, acme.name],
      [clients.allow, 'a'.repeat(256)],
    ] as const) {
      const answer = await oauthPost(service.url, '/oauth/device_authorization', client, { organization });
      expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    }
  });

  const strangers: readonly [string, () => Promise<string>][] = [
    ['unknown', async () => 'nobody'],
    ['one that the person is no member of', async () => (await addOrganization(ctx)).name],
    [
      'disabled',
      async () => {
        await changeRow(ctx, 'organizations', { id: acme.id }, { status: 'disabled' });
        return acme.name;
      },
    ],
    [
      'one that suspended the person',
      async () => {
        await changeRow(ctx, 'organization_memberships', { id: membership.id }, { status: 'suspended' });
        return acme.name;
      },
    ],
  ];
  test.each(strangers)('%s: one page, which names the account, and no tokens (specification 16.2.4)', async (_name, make) => {
    const { user_code, device_code } = await start(clients.allow, { organization: await make() });
    const page = await typeUserCode(browser, user_code);
    expect(page.status).toBe(403);
    expect(await page.text()).toContain(`You’re signed in as ${user.email}.`);
    expect((await pollDevice(service.url, clients.allow, device_code)).body.error).toBe('authorization_pending');
  });
});

describe('a person who chooses', () => {
  test('is asked where several are open, with a form of its own token, and gets tokens for that one', async () => {
    const other = await addOrganization(ctx, { display_name: 'Umbrella' });
    await addMembership(ctx, other, user);
    const { user_code, device_code } = await start(clients.require);
    const page = await (await choose(user_code, other.name)).text();
    expect(page).toContain('<dd>Umbrella</dd>');
    await browser.post('/device/answer', { ...questionOf(page), decision: 'allow' });
    const { body } = await pollDevice(service.url, clients.require, device_code);
    expect(claimsOf(body.id_token as string)).toMatchObject({ org_id: other.id });
  });

  test('may take the personal account where the client allows it, and no foreign organization', async () => {
    const { user_code, device_code } = await start(clients.allow, { organization: 'choose' });
    expect((await choose(user_code, (await addOrganization(ctx)).name)).status).toBe(403);
    const page = await (await choose(user_code, '')).text();
    await browser.post('/device/answer', { ...questionOf(page), decision: 'allow' });
    expect(claimsOf((await pollDevice(service.url, clients.allow, device_code)).body.id_token as string)).not.toHaveProperty('org_id');
  });

  test('without the form’s token chooses nothing', async () => {
    const { user_code } = await start(clients.allow, { organization: 'choose' });
    expect((await browser.post('/device', { user_code, organization: acme.name })).status).toBe(403);
  });
});

describe('what ends meanwhile', () => {
  test('a membership between the page and the yes: 403, and the device waits', async () => {
    const { user_code, device_code } = await start(clients.allow, { organization: acme.name });
    const question = questionOf(await (await typeUserCode(browser, user_code)).text());
    await changeRow(ctx, 'organization_memberships', { id: membership.id }, { status: 'suspended' });
    expect((await browser.post('/device/answer', { ...question, decision: 'allow' })).status).toBe(403);
    expect((await pollDevice(service.url, clients.allow, device_code)).body.error).toBe('authorization_pending');
  });

  test('a membership between the yes and the tokens, resumed or not: invalid_grant (specification 16.3.6)', async () => {
    for (const isResumed of [false, true]) {
      const { user_code, device_code } = await start(clients.allow, { organization: acme.name });
      await answerDevice(browser, user_code);
      service.clock.advance(2000);
      await transaction(ctx, async (tx) => {
        const suspended = await suspendMember(tx, null, membership);
        if (isResumed) await resumeMember(tx, null, suspended);
      });
      expect((await pollDevice(service.url, clients.allow, device_code)).body.error).toBe('invalid_grant');
      if (!isResumed) await changeRow(ctx, 'organization_memberships', { id: membership.id }, { status: 'active' });
    }
  });

  test('what the organization demands of a sign-in is judged before the page asks (specification 16.2.9)', async () => {
    await changeRow(ctx, 'organizations', { id: acme.id }, { max_authentication_age: 60 });
    service.clock.advance(61_000);
    const { user_code } = await start(clients.allow, { organization: acme.name });
    expect((await typeUserCode(browser, user_code)).status).toBe(403);
    const free = await start(clients.allow);
    expect((await typeUserCode(browser, free.user_code)).status).toBe(200);
  });
});

test('another organization with the device code is invalid_target, and the code stays (specification 16.3.4)', async () => {
  const other = await addOrganization(ctx);
  const { user_code, device_code } = await start(clients.allow, { organization: acme.name });
  await answerDevice(browser, user_code);
  const poll = (organization: string) => pollDevice(service.url, clients.allow, device_code, { organization });
  for (const word of [other.name, 'nobody']) expect((await poll(word)).body.error).toBe('invalid_target');
  expect((await poll(acme.id)).status).toBe(200);
});

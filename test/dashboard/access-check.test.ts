// May this person, with this client, there? The page of an external server answers as the token endpoint would, and shows what that refused.
import { describe, expect, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { blockClient, unblockClient } from '../../src/domain/grants/authorizations.js';
import { refusalRules, type RefusalRule } from '../../src/lib/refusal-rules.js';
import { signedInWith } from '../support/administrators.js';
import { apiIdentifier, askForAssertion, changed, sharedAssertionWorld, signInToApp } from '../support/assertions.js';
import type { Browser } from '../support/browser.js';
import { addClient } from '../support/data.js';
import { addMembership, addOrganization } from '../support/organizations.js';
import { lastRow } from '../support/security-events.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();
const world = sharedAssertionWorld(service);
const entities: Readonly<Record<string, string>> = { '&#34;': '"', '&#39;': '’', '&amp;': '&' };
const withoutMarkup = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&[#\w]+;/g, (entity) => entities[entity] ?? entity)
    .replaceAll(/\s+/g, ' ');
const readers = [
  'external_servers:read',
  'outbound_grants:read',
  'users:read',
  'clients:read',
  'organization_memberships:read',
  'organization_groups:read',
  'roles:read',
];

const ask = async (browser: Browser, question: Record<string, string> = {}) => {
  const asked = new URLSearchParams({ user: world.user.email, client: world.app.id, resource: apiIdentifier, acr: '1', ...question });
  const page = await browser.get(`/dashboard/external_servers/${world.server.id}/access_check?${asked.toString()}`);
  expect(page.status).toBe(200);
  return withoutMarkup(await page.text());
};
const grant = (columns: Record<string, unknown>) => changed(world.a, 'outbound_grants', { id: world.outbound.id }, columns);

test('says yes with what the assertion that is then issued says (specification 19.3.5)', async () => {
  const shown = await ask(await signedInWith(service, ...readers), { scope: 'write' });
  expect(shown).toContain('Yes. The scope is: write');
  const { id_token: subject_token } = await signInToApp(service, world);
  const { body } = await askForAssertion(service, world, { subject_token, scope: 'write' });
  const { jti, iat, exp, auth_time, amr, ...claims } = JSON.parse(
    Buffer.from((body.access_token as string).split('.')[1] as string, 'base64url').toString(),
  ) as Record<string, unknown>;
  expect([jti, iat, exp, auth_time, amr].every((one) => one !== undefined)).toBe(true);
  const preview = JSON.parse(/\{[^{}]*"iss"[^{}]*\}/.exec(shown)?.[0] ?? '{}') as Record<string, unknown>;
  expect({ ...preview, auth_time: undefined }).toEqual({ ...claims, auth_time: undefined });
});

describe('says no with the rule that decides', () => {
  const cases: [string, RefusalRule, () => Promise<unknown>, () => Promise<unknown>, Record<string, string>][] = [
    ['the client is disabled', 'client_disabled', () => changed(world.a, 'clients', { id: world.app.id }, { status: 'disabled' }), () => changed(world.a, 'clients', { id: world.app.id }, { status: 'enabled' }), {}],
    ['the person is blocked', 'user_blocked', () => changed(world.a, 'users', { id: world.user.id }, { status: 'blocked' }), () => changed(world.a, 'users', { id: world.user.id }, { status: 'active' }), {}],
    ['the grant is disabled', 'no_outbound_grant', () => grant({ status: 'disabled' }), () => grant({ status: 'enabled' }), {}],
    ['the server is disabled', 'no_outbound_grant', () => changed(world.a, 'external_servers', { id: world.server.id }, { status: 'disabled' }), () => changed(world.a, 'external_servers', { id: world.server.id }, { status: 'enabled' }), {}],
    ['the grant is of an organization that the person is not in', 'outbound_grant_for_others', async () => grant({ organization_id: (await addOrganization(world.a)).id }), () => grant({ organization_id: null }), {}],
    ['the sign-in is too weak', 'sign_in_class_not_met', () => grant({ required_acr: '2' }), () => grant({ required_acr: null }), {}],
    ['nothing of the scope is granted', 'outbound_scope_not_granted', async () => {}, async () => {}, { scope: 'admin' }],
    ['the person is no member of the organization', 'not_a_member', async () => {}, async () => {}, { organization: 'nowhere' }],
    ['the server wants people of an organization', 'not_a_member', () => changed(world.a, 'external_servers', { id: world.server.id }, { tenant: 'organization' }), () => changed(world.a, 'external_servers', { id: world.server.id }, { tenant: 'none' }), {}],
  ]; // prettier-ignore
  test.each(cases)('%s: %s (specification 19.3.5)', async (_what, rule, begin, end, question) => {
    await begin();
    const shown = await ask(await signedInWith(service, ...readers), question);
    await end();
    expect(shown).toContain(refusalRules[rule].found);
    expect(shown).toContain('No: ');
    expect(shown).not.toContain('Yes.');
  });

  test('a client that the person has blocked', async () => {
    const browser = await signedInWith(service, ...readers);
    const out = { user_id: world.user.id, client_id: world.app.id };
    await transaction(world.a, (tx) => blockClient(tx, out, 'person'));
    expect(await ask(browser)).toContain(refusalRules.client_blocked.found);
    await transaction(world.a, (tx) => unblockClient(tx, out, 'person'));
    expect(await ask(browser)).toContain('Yes. The scope is: read write');
  });

  test('a client that may not exchange tokens', async () => {
    const other = await addClient(world.a, { grant_types: ['authorization_code'] });
    expect(await ask(await signedInWith(service, ...readers), { client: other.id })).toContain(refusalRules.grant_type_not_allowed.found);
  });

  test('and yes again for the stronger sign-in, and for the member', async () => {
    const browser = await signedInWith(service, ...readers);
    const organization = await addOrganization(world.a);
    await addMembership(world.a, organization, world.user);
    await grant({ required_acr: '2', organization_id: organization.id });
    expect(await ask(browser, { acr: '2', organization: organization.name })).toContain('Yes. The scope is: read write');
    await grant({ required_acr: null, organization_id: null });
  });
});

test('unknown people and clients, odd values and missing permissions are told so (attacks 43.1605 and 63.1863)', async () => {
  const browser = await signedInWith(service, ...readers);
  expect(await ask(browser, { user: 'nobody@nowhere.example' })).toContain('There is no user with this address.');
  expect(await ask(browser, { user: '' })).toContain('Enter the address of a user and choose a client.');
  const unknown = await browser.get(`/dashboard/external_servers/${world.server.id}/access_check?user=${world.user.email}&client=nothing`);
  expect(unknown.status).toBe(404);
  expect(await ask(browser, { resource: 'x', acr: '9', scope: '"\\é', organization: 'x'.repeat(999) })).toContain('No: ');
  for (const lacking of readers.slice(1)) {
    const narrow = await signedInWith(service, ...readers.filter((one) => one !== lacking));
    const asked = new URLSearchParams({ user: world.user.email, client: world.app.id }).toString();
    const page = await narrow.get(`/dashboard/external_servers/${world.server.id}/access_check?${asked}`);
    expect(await page.text()).not.toMatch(/Yes\. The scope/);
  }
});

test('refused assertions are told at the external server, by the kind of rule; others are not (specification 19.3.2, 19.3.6)', async () => {
  await grant({ required_acr: 'phr' });
  // An ID token counts whole seconds: one of the second in which the client was blocked above is ended with those of before.
  let subject_token = '';
  await expect
    .poll(async () => {
      subject_token = (await signInToApp(service, world)).id_token;
      return (await askForAssertion(service, world, { subject_token })).body['error'];
    })
    .toBe('insufficient_user_authentication');
  await grant({ required_acr: null });
  expect(await lastRow(service, 'assertion.refused')).toMatchObject({ target_type: 'external_server', target_id: world.server.id, actor_id: world.app.id });
  expect((await askForAssertion(service, world, { subject_token, scope: 'admin' })).body).toMatchObject({ error: 'invalid_scope' });
  await expect
    .poll(async () => {
      const page = await (await signedInWith(service, 'external_servers:read', 'security_events:read')).get(`/dashboard/external_servers/${world.server.id}/refused_assertions`);
      return withoutMarkup(await page.text());
    })
    .toMatch(/API or scope that the client may not have[\s\S]*too weak or too old/);
  const blind = await signedInWith(service, 'external_servers:read');
  expect((await blind.get(`/dashboard/external_servers/${world.server.id}/refused_assertions`)).status).not.toBe(200);
}); // prettier-ignore

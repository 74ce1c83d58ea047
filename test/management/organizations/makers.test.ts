// Invitations and set-up links go on by themselves: no further than whoever made them may go by now.
import { beforeAll, describe, expect, test } from 'vitest';
import { table } from '../../../src/db/scope.js';
import type { RoleRow } from '../../../src/db/tables/roles.js';
import type { UserRow } from '../../../src/db/tables/users.js';
import { apiResourceOf } from '../../../src/domain/clients/clients.js';
import { managementPermissions } from '../../../src/domain/reach/management-permissions.js';
import { Browser, csrfOf } from '../../support/browser.js';
import { addClient, addGrant, addUser } from '../../support/data.js';
import { invitationPath, invite } from '../../support/invitations.js';
import { Api, manage } from '../../support/management.js';
import { allowCode, redeem } from '../../support/oauth.js';
import { addMembership, addOrganization, addRoleOf } from '../../support/organizations.js';
import { contextOf, shared, sharedManagedService } from '../../support/shared-service.js';
import { signedIn } from '../../support/signed-in.js';
import { askForSetupLink, openedBy } from '../../support/setup-links.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const all = shared(() => manage(service.url));
const client = shared(() => addClient(ctx, { organization_usage: 'allow' }));
let management: { readonly id: string };
beforeAll(async () => {
  management = (await apiResourceOf(ctx, ctx.environment.management_audience)) as { id: string };
  await addGrant(ctx, client, management as never, [...managementPermissions], 'user');
});

const adminRole = async () => (await table<RoleRow>(ctx.scope, 'roles').where({ name: 'organization_admin' } as never))[0] as RoleRow;

/** The Management API as a person has it: for an organization, or by roles of the environment. */
async function apiOf(user: UserRow, organization?: string): Promise<Api> {
  const fields = { resource: ctx.environment.management_audience, scope: managementPermissions.join(' ') };
  const browser = await signedIn(service, user);
  const code = await allowCode(browser, client, organization === undefined ? fields : { ...fields, organization });
  return new Api(service.url, (await redeem(service.url, client, code)).body.access_token);
}

/** An organization, and one of its administrators. */
async function administered() {
  const organization = await addOrganization(ctx);
  const maker = await addUser(ctx);
  const { id } = await addMembership(ctx, organization, maker, { roles: [await adminRole()] });
  return { organization, maker, membership_id: id, api: await apiOf(maker, organization.name) };
}
type Administered = Awaited<ReturnType<typeof administered>>;

const ended: Record<string, (one: Administered) => Promise<unknown>> = {
  removed: ({ membership_id }) => all.delete(`/organization_memberships/${membership_id}`),
  suspended: ({ membership_id }) => all.patch(`/organization_memberships/${membership_id}/suspend`),
  demoted: ({ membership_id }) => ctx.db.knex('organization_membership_roles').where({ membership_id }).delete(),
  blocked: ({ maker }) => all.patch(`/users/${maker.id}/block`),
  deleted: ({ maker }) => all.delete(`/users/${maker.id}`),
};

/** Somebody is invited, and signed in; what they come to by the link. */
async function invited(api: Api, organization: { readonly id: string }, roles?: readonly string[]) {
  const user = await addUser(ctx);
  const { status, body } = await invite(api, { organization, email: user.email, ...(roles && { roles }) });
  expect(status).toBe(201);
  const browser = await signedIn(service, user);
  const path = () => invitationPath(service.url, user.email);
  const opens = async () => (await browser.get(await path())).status;
  // With a token of the browser's own, whatever the page of the invitation shows.
  const token = async () => csrfOf(await (await browser.get('/account')).text());
  const accepts = async () => (await browser.post(await path(), { _csrf: await token() })).status;
  const members = () => ctx.db.knex('organization_memberships').where({ organization_id: organization.id, user_id: user.id });
  return { id: body['data'].id as string, opens, accepts, members };
}

describe('an invitation', () => {
  test.each(Object.keys(ended))('whose maker is %s is worth nothing, until another one sends it (attack 67.1914)', async (how) => {
    const one = await administered();
    const { id, opens, accepts, members } = await invited(one.api, one.organization);
    expect(await opens()).toBe(200);
    await ended[how]?.(one);
    expect([await opens(), await accepts(), await members()]).toEqual([410, 410, []]);
    const other = await addUser(ctx);
    await addMembership(ctx, one.organization, other, { roles: [await adminRole()] });
    const resent = await (await apiOf(other, one.organization.name)).post(`/organization_invitations/${id}/resend`);
    expect(resent.status).toBe(202);
    expect(await accepts()).toBe(303);
    expect(await members()).toHaveLength(1);
  });

  test('with roles that reach further by now than its maker is theirs alone who hold that (attack 67.1914)', async () => {
    const organization = await addOrganization(ctx);
    const narrow = await addRoleOf(ctx, management, ['organization_invitations:read', 'organization_invitations:write'], 'environment');
    const maker = await addUser(ctx);
    await ctx.db.knex('user_roles').insert({ environment_id: ctx.environment.id, user_id: maker.id, role_id: narrow.id });
    const given = await addRoleOf(ctx, management, ['organization_invitations:read']);
    const api = await apiOf(maker);
    const { id, opens, accepts, members } = await invited(api, organization, [given.id]);
    const [permission] = await ctx.db.knex('permissions').where({ api_resource_id: management.id, name: 'directories:read' });
    await ctx.db.knex('role_permissions').insert({ environment_id: ctx.environment.id, role_id: given.id, permission_id: permission.id });
    expect([await opens(), await accepts(), await members()]).toEqual([410, 410, []]);
    const refused = await api.post(`/organization_invitations/${id}/resend`);
    expect([refused.status, refused.body['errors'][0]]).toEqual([
      403,
      expect.objectContaining({ code: 'scope_escalation', meta: { required: ['directories:read'] } }),
    ]);
    expect((await all.post(`/organization_invitations/${id}/resend`)).status).toBe(202);
    expect(await accepts()).toBe(303);
    expect(await members()).toHaveLength(1);
  });

  test('of an administrator of the environment, and of a client, is accepted', async () => {
    const organization = await addOrganization(ctx);
    const maker = await addUser(ctx);
    const [administrator] = await table<RoleRow>(ctx.scope, 'roles').where({ name: 'administrator' } as never);
    await ctx.db.knex('user_roles').insert({ environment_id: ctx.environment.id, user_id: maker.id, role_id: administrator?.id });
    for (const api of [await apiOf(maker), all]) {
      const { accepts } = await invited(api, organization, [(await adminRole()).id]);
      expect(await accepts()).toBe(303);
    }
  });
});

describe('a set-up link', () => {
  test.each(Object.keys(ended))('whose maker is %s is worth nothing, also to the browser that has it (attack 67.1915)', async (how) => {
    const one = await administered();
    const asked = async () => {
      const { body } = await askForSetupLink(one.api, one.organization);
      return { path: new URL(body['data'].attributes.url).pathname, inside: `/setup/${body['data'].id}` };
    };
    const [waiting, begun] = [await asked(), await asked()];
    const browser = await openedBy(service.url, begun);
    expect((await browser.get(`${begun.inside}/domains`)).status).toBe(200);
    const csrf = csrfOf(await (await browser.get(`${begun.inside}/domains`)).text());
    await ended[how]?.(one);
    expect((await new Browser(service.url).get(waiting.path)).status).toBe(410);
    expect((await browser.get(`${begun.inside}/domains`)).status).toBe(410);
    expect((await browser.post(`${begun.inside}/domains`, { _csrf: csrf, domain: 'too-late.example' })).status).toBe(410);
    expect(await ctx.db.knex('organization_domains').where({ organization_id: one.organization.id })).toEqual([]);
  });
});

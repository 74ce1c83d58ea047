// What an organization's administrators would need to be the environment's: its connection, and the people who came to it by themselves.
import { beforeAll, expect, test } from 'vitest';
import { table } from '../../../src/db/scope.js';
import { addClientConnections } from '../../../src/db/tables/client_connections.js';
import type { ConnectionRow } from '../../../src/db/tables/connections.js';
import type { RoleRow } from '../../../src/db/tables/roles.js';
import { findUser, type UserRow } from '../../../src/db/tables/users.js';
import { apiResourceOf } from '../../../src/domain/clients/clients.js';
import { transaction } from '../../../src/domain/context.js';
import { linkIdentity } from '../../../src/domain/connections/identities.js';
import { organizationPermissions } from '../../../src/domain/reach/management-permissions.js';
import { permit } from '../../support/administrators.js';
import { Browser } from '../../support/browser.js';
import { addClient, addGrant, addUser } from '../../support/data.js';
import { Api, link, links, manage, startManagedService, type Document as ApiDocument } from '../../support/management.js';
import { allowCode, redeem } from '../../support/oauth.js';
import { addDomain, addMembership, addOrganization } from '../../support/organizations.js';
import { entityId, samlKeyPair, type SamlKeyPair } from '../../support/saml-provider.js';
import { addSamlConnection, answer, beginAt, signedAssertion } from '../../support/saml-sign-in.js';
import { contextOf, sharedService } from '../../support/shared-service.js';
import { signedIn } from '../../support/signed-in.js';

const service = sharedService(startManagedService);
const ctx = contextOf(service);
let keys: SamlKeyPair[];
let api: Api;
let connection: ConnectionRow;
let admin: UserRow;

/** An organization's connection, and the token of its administrator. */
beforeAll(async () => {
  keys = [await samlKeyPair(), await samlKeyPair()];
  const client = await addClient(ctx, { organization_usage: 'allow' });
  const management = await apiResourceOf(ctx, ctx.environment.management_audience);
  await addGrant(ctx, client, management as never, [...organizationPermissions], 'user');
  const organization = await addOrganization(ctx);
  await addDomain(ctx, organization, 'operator.example');
  const [role] = await table<RoleRow>(ctx.scope, 'roles').where({ name: 'organization_admin' } as never);
  admin = await addUser(ctx);
  await addMembership(ctx, organization, admin, { roles: [role as RoleRow] });
  connection = await addSamlConnection(ctx, keys[0] as SamlKeyPair, {}, { organization_id: organization.id, domains: [] });
  const scope = organizationPermissions.join(' ');
  const asked = { resource: ctx.environment.management_audience, scope, organization: organization.name };
  const code = await allowCode(await signedIn(service, admin), client, asked);
  api = new Api(service.url, (await redeem(service.url, client, code)).body.access_token);
});

const change = (attributes: Record<string, unknown>) => api.update('connections', connection.id, attributes);
const certified = (key: SamlKeyPair | undefined) => ({
  options: { idp_entity_id: entityId, idp_sso_url: 'https://provider.example/sso', idp_certificates: [key?.certificate ?? ''] },
});

const linkAt = (to: ConnectionRow, user: UserRow, subject: string) =>
  transaction(ctx, (tx) =>
    linkIdentity(tx, user.id, { connection_id: to.id, generation: to.generation, subject, email: user.email, claims: {} }),
  );

/** Signs in as the operator by a response that the key signs; answers where the dashboard then leads. */
async function dashboardBy(key: SamlKeyPair): Promise<number> {
  const browser = new Browser(service.url);
  const { request, told } = await beginAt(ctx, browser, connection);
  const told_of = { ...told, attributes: { email: 'operator@operator.example' } };
  await answer(browser, connection, signedAssertion(told_of, key), request.relay_state);
  return (await browser.get('/dashboard')).status;
}

test('an organization’s connection is not its administrators’ to change once one of the environment’s has come to it (attack 43.1489)', async () => {
  const [own, another] = keys as [SamlKeyPair, SamlKeyPair];
  expect((await change(certified(own))).status).toBe(200);
  const operator = await addUser(ctx, { email: 'operator@operator.example' });
  await permit(ctx, operator.id, 'clients:read');
  await linkAt(connection, operator, 'ada');
  for (const attributes of [certified(another), { second_factor: 'provider' }, { status: 'disabled' }]) {
    const { status, body } = await change(attributes);
    expect([status, body['errors']?.[0].code, body['errors']?.[0].meta]).toEqual([403, 'scope_escalation', { required: ['clients:read'] }]);
  }
  expect(await dashboardBy(another)).not.toBe(200);
  expect(await dashboardBy(own)).toBe(200);
});

test('somebody who may write users is not an organization’s administrator by one’s password, address or session (attack 43.1496)', async () => {
  const narrow = await manage(service.url, 'users:write authenticators:write sessions:write');
  const set = (attributes: Record<string, unknown>) => narrow.update('users', admin.id, attributes);
  for (const attributes of [{ password: 'a password of mine, long enough' }, { email: 'mine@evil.example' }, { external_id: 'mine' }]) {
    const { status, body } = await set(attributes);
    expect([status, body['errors']?.[0].code]).toEqual([403, 'scope_escalation']);
    expect(body['errors']?.[0].meta.required).toContain('connections:write');
  }
  expect((await narrow.patch(`/users/${admin.id}/block`)).status).toBe(403);
  expect((await narrow.delete(`/users/${admin.id}`)).status).toBe(403);
  expect((await set({ nickname: 'Boss' })).status).toBe(200);
});

test('an organization’s provider says who its own people are, and nobody else’s (attack 43.1497)', async () => {
  const [key] = keys as [SamlKeyPair];
  const { organization_id } = connection;
  const synced = await addSamlConnection(ctx, key, {}, { organization_id, domains: [], profile_sync: 'on_login' });
  const people = {
    own: await addUser(ctx, { email: 'own@operator.example' }),
    guest: await addUser(ctx, { email: 'guest@other.example' }),
  };
  for (const [name_id, user] of Object.entries(people)) {
    await linkAt(synced, user, name_id);
    const browser = new Browser(service.url);
    const { request, told } = await beginAt(ctx, browser, synced);
    const attributes = { email: user.email, given_name: 'Renamed', family_name: 'There' };
    const response = await answer(browser, synced, signedAssertion({ ...told, name_id, attributes }, key), request.relay_state);
    expect(response.status).toBe(303);
  }
  expect((await findUser(ctx.scope, people.own.id))?.first_name).toBe('Renamed');
  expect((await findUser(ctx.scope, people.guest.id))?.first_name).toBe('Ada');
});

test('who may write connections, directories or set-up links alone makes nothing that signs in as an organization’s people (attack 43.1506)', async () => {
  const organization = await addOrganization(ctx);
  const related = { organization: link('organization', organization.id) };
  const oidc = { strategy: 'oidc', issuer: 'https://provider.example', provider_client_id: 'x', provider_client_secret: 's' };
  const kinds = [
    ['connections', { name: 'speaker', display_name: 'Speaker', ...oidc }, []],
    ['directories', {}, []],
    ['setup_links', { parts: ['connection'] }, organizationPermissions],
  ] as const;
  for (const [path, attributes, more] of kinds) {
    const make = (caller: Api) => caller.attempt(path, attributes, related);
    const own = new Set([...more, 'organizations:read', `${path}:read`, `${path}:write`]);
    const refused = await make(await manage(service.url, [...own].join(' ')));
    expect([refused.status, refused.body['errors']?.[0].meta]).toEqual([403, { required: ['users:write'] }]);
    const made = await make(await manage(service.url, [...own, 'users:write'].join(' ')));
    expect(made.status).toBe(201);
    const { id } = made.body['data'];
    const narrow = await manage(service.url, [...own].join(' '));
    const then = path === 'setup_links' ? await narrow.patch(`/${path}/${id}/revoke`) : await narrow.delete(`/${path}/${id}`);
    expect(then.status).toBe(path === 'setup_links' ? 200 : 403);
  }
});

test('roles that speak for an organization’s people are given from outside only by who may set those people’s passwords (attack 43.1507)', async () => {
  const organization = await addOrganization(ctx);
  const admin = await manage(service.url);
  const created = await admin.create('roles', { name: 'Speakers', kind: 'organization' });
  const found = await admin.get('/permissions?filter[search]=connections:write&page[size]=100');
  const speaking = (found.body['data'] as ApiDocument[]).filter((one) => one['attributes'].name === 'connections:write');
  await admin.post(`/roles/${created['id']}/relationships/permissions`, links('permission', ...speaking.map((one) => one['id'] as string)));
  const user = await addUser(ctx);
  const roles = links('role', created['id'] as string);
  const base = ['organizations:read', 'organizations:write', 'users:read', 'roles:read', 'connections:write', 'organization_memberships:write', 'organization_memberships:read', 'organization_invitations:write', 'organization_invitations:read']; // prettier-ignore
  const [narrow, wide] = [await manage(service.url, base.join(' ')), await manage(service.url, [...base, 'users:write'].join(' '))];
  const related = { organization: link('organization', organization.id), roles };
  const attempts = (caller: Api) => [
    () => caller.attempt('organization_memberships', {}, { ...related, user: link('user', user.id) }),
    () => caller.attempt('organization_invitations', { email: 'new@member.example' }, related),
    () => caller.post(`/organizations/${organization.id}/relationships/default_roles`, roles),
  ]; // prettier-ignore
  for (const attempt of attempts(narrow)) {
    const { status, body } = await attempt();
    expect([status, body['errors']?.[0].meta]).toEqual([403, { required: ['users:write'] }]);
  }
  for (const attempt of attempts(wide)) expect([200, 201, 204]).toContain((await attempt()).status);
});

test('who may write organizations alone deletes none that others come in through (attack 43.1603, specification 13.2.26)', async () => {
  const admin = await manage(service.url);
  const narrow = await manage(service.url, 'organizations:read organizations:write');
  const refusalOf = async (id: string) => {
    const { status, body } = await narrow.delete(`/organizations/${id}`);
    return [status, body['errors']?.[0].meta];
  };
  const empty = await addOrganization(ctx);
  const [linked, offered, provisioned] = [await addOrganization(ctx), await addOrganization(ctx), await addOrganization(ctx)];
  const operator = await addUser(ctx);
  await permit(ctx, operator.id, 'roles:read');
  await linkAt(await addSamlConnection(ctx, keys[0] as SamlKeyPair, {}, { organization_id: linked.id, domains: [] }), operator, 'operator');
  const of = await addSamlConnection(ctx, keys[0] as SamlKeyPair, {}, { organization_id: offered.id, domains: [] });
  const client = await addClient(ctx, { first_party: false });
  const management = await apiResourceOf(ctx, ctx.environment.management_audience);
  await addGrant(ctx, client, management as never, ['clients:read'], 'client');
  await addClientConnections(ctx.scope, client.id, [of.id]);
  const directory = { type: 'directory', attributes: {}, relationships: { organization: link('organization', provisioned.id) } };
  expect((await admin.post('/directories', { data: directory })).status).toBe(201);
  expect(await refusalOf(linked.id)).toEqual([403, { required: ['roles:read', 'users:write'] }]);
  expect(await refusalOf(offered.id)).toEqual([403, { required: ['clients:read', 'users:write'] }]);
  expect(await refusalOf(provisioned.id)).toEqual([403, { required: ['users:write'] }]);
  expect(await refusalOf(empty.id)).toEqual([204, undefined]);
  const wide = await manage(service.url, 'organizations:read organizations:write users:write roles:read clients:read');
  for (const { id } of [linked, offered, provisioned]) expect((await wide.delete(`/organizations/${id}`)).status).toBe(204);
});

test('who may write organizations alone disables and enables none that others come in through (attack 60.1810, specification 13.2.32)', async () => {
  const narrow = await manage(service.url, 'organizations:read organizations:write');
  const wide = await manage(service.url, 'organizations:read organizations:write users:write roles:read');
  const set = (caller: Api, id: string, attributes: Record<string, unknown>) => caller.update('organizations', id, attributes);
  const [empty, linked, provisioned] = [await addOrganization(ctx), await addOrganization(ctx), await addOrganization(ctx)];
  const operator = await addUser(ctx);
  await permit(ctx, operator.id, 'roles:read');
  await linkAt(await addSamlConnection(ctx, keys[0] as SamlKeyPair, {}, { organization_id: linked.id, domains: [] }), operator, 'switched');
  const directory = { type: 'directory', attributes: {}, relationships: { organization: link('organization', provisioned.id) } };
  expect((await (await manage(service.url)).post('/directories', { data: directory })).status).toBe(201);
  for (const status of ['disabled', 'enabled']) {
    expect((await set(narrow, empty.id, { status })).status).toBe(200);
    for (const [one, required] of [
      [linked, ['roles:read', 'users:write']],
      [provisioned, ['users:write']],
    ] as const) {
      const refused = await set(narrow, one.id, { status });
      const { code, meta, source } = refused.body['errors'][0];
      expect([refused.status, code, meta, source]).toEqual([403, 'scope_escalation', { required }, { pointer: '/data/attributes/status' }]);
      expect((await set(narrow, one.id, { status: status === 'disabled' ? 'enabled' : 'disabled', display_name: status })).status).toBe(
        200,
      );
      expect((await set(wide, one.id, { status })).body['data'].attributes.status).toBe(status);
    }
  }
});

test('who may write organizations and domains alone opens and shuts no way in by require_sso or a domain (attack 67.1917, specification 13.2.32)', async () => {
  const permissions = 'organizations:read organizations:write organization_domains:read organization_domains:write';
  const [narrow, wide] = [await manage(service.url, permissions), await manage(service.url, `${permissions} users:write roles:read`)];
  const [linked, empty] = [await addOrganization(ctx), await addOrganization(ctx)];
  const operator = await addUser(ctx);
  await permit(ctx, operator.id, 'roles:read');
  await linkAt(await addSamlConnection(ctx, keys[0] as SamlKeyPair, {}, { organization_id: linked.id, domains: [] }), operator, 'shut');
  for (const [index, one] of [linked, empty].entries()) {
    await addDomain(ctx, one, `waits-${index}.example`, { status: 'pending' });
    await addDomain(ctx, one, `shut-${index}.example`);
  }
  const set = (caller: Api, { id }: { id: string }, require_sso: string) => caller.update('organizations', id, { require_sso });
  const domainsOf = async (id: string) => (await wide.get(`/organization_domains?filter[organization]=${id}&sort=-domain`)).body['data'];
  const refusal = ({ status, body }: Awaited<ReturnType<Api['get']>>) => [status, body['errors']?.[0].meta];
  const refused = [403, { required: ['roles:read', 'users:write'] }];
  const [waits, verified] = await domainsOf(linked.id);
  for (const value of ['everyone', 'nobody']) {
    expect(refusal(await set(narrow, linked, value))).toEqual(refused);
    expect((await set(wide, linked, value)).status).toBe(200);
    expect((await set(narrow, empty, value)).status).toBe(200);
  }
  expect(refusal(await narrow.delete(`/organization_domains/${verified.id}`))).toEqual(refused);
  expect((await narrow.delete(`/organization_domains/${waits.id}`)).status).toBe(204);
  expect((await wide.delete(`/organization_domains/${verified.id}`)).status).toBe(204);
  for (const { id } of await domainsOf(empty.id)) expect((await narrow.delete(`/organization_domains/${id}`)).status).toBe(204);
});

test('who acts for the organization itself asks for its provider, and gives up a domain (specification 13.2.32)', async () => {
  const id = connection.organization_id as string;
  for (const require_sso of ['domains', 'nobody']) expect((await api.update('organizations', id, { require_sso })).status).toBe(200);
  await addDomain(ctx, { id }, 'given-up.example');
  const { body } = await api.get('/organization_domains?filter[domain]=given-up.example');
  expect((await api.delete(`/organization_domains/${body['data'][0].id}`)).status).toBe(204);
});

test('who acts for the organization itself makes and changes what speaks for its people (specification 13.2.30)', async () => {
  const { organization_id } = connection;
  const directory = await api.attempt('directories', {});
  expect(directory.status).toBe(201);
  expect((await api.patch(`/directories/${directory.body['data'].id}/rotate_token`)).status).toBe(200);
  const oidc = { strategy: 'oidc', issuer: 'https://provider.example', provider_client_id: 'x', provider_client_secret: 's' };
  const made = await api.attempt('connections', { name: 'second', display_name: 'Second', ...oidc });
  expect([made.status, made.body['data']?.relationships.organization.data.id]).toEqual([201, organization_id]);
});

// Organizations as configuration: what a document says of them, and what stays data (specification 15.1).
import { beforeEach, expect, test } from 'vitest';
import { addUser } from '../../support/data.js';
import { applied, apply, exported, plan, problemsOf, told } from '../../support/configuration.js';
import { link, manage, managementClient, managementToken, Api, type Document } from '../../support/management.js';
import { contextOf, shared, sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url));
beforeEach(async () => {
  for (const name of ['organizations', 'connections', 'configurations']) await ctx.db.knex(name).delete();
  await ctx.db.knex('roles').where({ kind: 'organization', is_system: false }).delete();
  for (const name of ['organizations', 'organization_domains', 'connections']) ctx.cache.invalidate(ctx.environment.id, name);
});

const role = { name: 'seller', kind: 'organization', permissions: [] };
const acme: Document = {
  name: 'acme',
  display_name: 'Acme',
  external_id: 'crm-7',
  branding: { primary_color: '#336699' },
  auto_membership: 'domain',
  require_sso: 'domains',
  required_acr: '2',
  metadata: { plan: 'gold' },
  default_roles: ['seller'],
  domains: ['acme.example', 'acme-labs.example'],
};
const connection: Document = {
  name: 'acme-sso',
  display_name: 'Acme',
  strategy: 'oidc',
  issuer: 'https://idp.acme.example',
  provider_client_id: 'shop',
  organization: 'acme',
};
const document = (more: Document = {}): Document => ({
  version: 1,
  roles: [role],
  organizations: [acme],
  connections: [connection],
  ...more,
});
const idOf = async (name: string) => ((await api.get(`/organizations?filter[name]=${name}`)).body['data'] as { id: string }[])[0]?.id ?? '';

test('a document makes organizations, their domains and connections; the same once more does nothing', async () => {
  const planned = await plan(api, document());
  expect(told(planned)).toEqual([
    'create role seller',
    'create organization acme',
    'create organization_domain acme#acme.example',
    'create organization_domain acme#acme-labs.example',
    'create connection acme-sso',
  ]);
  expect(await idOf('acme')).toBe('');
  const meta = await applied(api, document(), { expected_state: planned.body['meta'].state });
  expect(meta['changes']).toEqual(planned.body['meta'].changes);
  const { body } = await api.get(`/organizations/${await idOf('acme')}?include=default_roles,domains,connections`);
  expect(body['data'].attributes).toMatchObject({
    external_id: 'crm-7',
    require_sso: 'domains',
    primary_color: '#336699',
    metadata: { plan: 'gold' },
  });
  expect((body['included'] as Document[]).map(({ attributes }) => attributes.name ?? attributes.domain).sort()).toEqual([
    'acme-labs.example',
    'acme-sso',
    'acme.example',
    'seller',
  ]);
  const again = await applied(api, document());
  expect([again['changes'], again['state']]).toEqual([[], meta['state']]);
  expect((await api.get('/config/drift')).body['meta'].changes).toEqual([]);
});

test('an exported document is the same elsewhere: nothing to do here, everything there', async () => {
  await applied(api, document());
  const out = await exported(api);
  expect(out['organizations']).toMatchObject([{ ...acme, domains: ['acme-labs.example', 'acme.example'] }]);
  const [ofAcme] = out['connections'] as Document[];
  expect(ofAcme).toMatchObject({ name: 'acme-sso', organization: 'acme' });
  expect(ofAcme).not.toHaveProperty('domains');
  expect(told(await plan(api, out, { prune: true }))).toEqual([]);
  await api.delete(`/connections/${(await api.get('/connections')).body['data'][0].id}`);
  await ctx.db.knex('organizations').delete();
  for (const name of ['organizations', 'organization_domains']) ctx.cache.invalidate(ctx.environment.id, name);
  await applied(api, out);
  expect((await exported(api))['organizations']).toEqual(out['organizations']);
});

test('what differs is changed, null is the default, and drift says who changed it by hand', async () => {
  await applied(api, document());
  const changed = { ...acme, display_name: 'Acme & Co.', require_sso: null, default_roles: [], domains: ['acme.example'] };
  const meta = await applied(api, document({ organizations: [changed] }), { prune: true });
  expect(meta['changes']).toMatchObject([
    {
      action: 'update',
      kind: 'organization',
      attributes: { display_name: ['Acme', 'Acme & Co.'], require_sso: ['domains', 'nobody'], default_roles: [['seller'], []] },
    },
    { action: 'delete', kind: 'organization_domain', key: 'acme#acme-labs.example' },
  ]);
  const id = await idOf('acme');
  await api.update('organizations', id, { require_sso: 'everyone' });
  expect((await api.get('/config/drift')).body['meta'].changes).toMatchObject([
    { kind: 'organization', key: 'acme', attributes: { require_sso: ['nobody', 'everyone'] }, changed: { actor_id: managementClient.id } },
  ]);
});

test('members, invitations and directories are data: a document leaves them, and does not take an organization from its members', async () => {
  await applied(api, document());
  const of = await idOf('acme');
  const user = await addUser(ctx);
  await api.create('organization_memberships', {}, { organization: link('organization', of), user: link('user', user.id) });
  await api.create('directories', {}, { organization: link('organization', of) });
  expect(told(await plan(api, document(), { prune: true }))).toEqual([]);
  expect(JSON.stringify(await exported(api))).not.toContain(user.email);
  const none = await apply(api, { version: 1, organizations: [] }, { prune: true });
  expect([none.status, problemsOf(none)]).toEqual([422, ['not_empty /meta/document/organizations']]);
});

test('customers’ connections stay where the document is not about organizations', async () => {
  await applied(api, document());
  expect(told(await plan(api, { version: 1, connections: [] }, { prune: true }))).toEqual([]);
  expect(told(await plan(api, { version: 1, organizations: [acme], connections: [] }, { prune: true }))).toEqual([
    'delete connection acme-sso',
  ]);
});

test('a state that was seen without organizations is the same with them', async () => {
  await applied(api, document());
  const { state } = (await api.get('/config')).body['meta'] as Document;
  expect((await plan(api, { version: 1, roles: [role] }, { expected_state: state })).status).toBe(200);
  const id = await idOf('acme');
  await api.update('organizations', id, { display_name: 'Other' });
  expect((await plan(api, { version: 1, roles: [role] }, { expected_state: state })).status).toBe(200);
  expect((await plan(api, document(), { expected_state: state })).status).toBe(409);
});

const wrong: Readonly<Record<string, [Document, string]>> = {
  'a role that is not there': [
    { organizations: [{ ...acme, default_roles: ['nobody'] }] },
    'related_not_found /meta/document/organizations/0/default_roles/0',
  ],
  'a role of the environment': [
    { roles: [{ name: 'clerk' }], organizations: [{ ...acme, default_roles: ['clerk'] }] },
    'wrong_role_kind /meta/document/organizations/0/default_roles',
  ],
  'a domain of everybody': [
    { organizations: [{ ...acme, domains: ['gmail.com'] }] },
    'invalid_domain /meta/document/organizations/0/domains/0',
  ],
  'a domain twice': [
    { organizations: [{ ...acme, domains: ['acme.example', 'acme.example'] }] },
    'duplicate_value /meta/document/organizations/0/domains/1',
  ],
  'a reserved name': [
    { organizations: [{ ...acme, name: 'choose' }], connections: [] },
    'reserved_name /meta/document/organizations/0/name',
  ],
  'a connection of nobody': [
    { connections: [{ ...connection, organization: 'nobody' }] },
    'related_not_found /meta/document/connections/0/organization',
  ],
  'domains of a connection of its': [
    { connections: [{ ...connection, domains: ['acme.example'] }] },
    'invalid_value /meta/document/connections/0/domains',
  ],
  'a member that it does not have': [
    { organizations: [{ ...acme, logo_url: null }] },
    'unknown_member /meta/document/organizations/0/logo_url',
  ],
};
test.each(Object.entries(wrong))('%s is refused at its place', async (_name, [more, problem]) => {
  const answer = await apply(api, document({ roles: [role], ...more }));
  expect(answer.status).toBe(422);
  expect(problemsOf(answer)).toContain(problem);
  expect(await idOf('acme')).toBe('');
});

test('a connection moves to no other organization', async () => {
  await applied(api, document());
  const answer = await apply(api, document({ connections: [{ ...connection, organization: null }] }));
  expect(problemsOf(answer)).toEqual(['invalid_value /meta/document/connections/0/organization']);
});

test('a document of organizations takes their permissions', async () => {
  const narrow = new Api(service.url, await managementToken(service.url, managementClient, { scope: 'organizations:read roles:read' }));
  const answer = await plan(narrow, { version: 1, organizations: [acme] });
  expect([answer.status, answer.body['errors'][0].code]).toEqual([403, 'insufficient_scope']);
});

test('a document makes nobody’s connection for people whom its caller may not change (attack 43.1506)', async () => {
  await applied(api, document({ connections: [] }));
  const scope = ['environments', 'organizations', 'organization_domains', 'connections', 'roles', 'permissions', 'api_resources'].map(
    (name) => `${name}:read`,
  );
  const holding = async (...more: string[]) =>
    new Api(service.url, await managementToken(service.url, managementClient, { scope: [...scope, ...more].join(' ') }));
  const wanted = { version: 1, connections: [connection] };
  const refused = await apply(await holding('connections:write'), wanted);
  expect([refused.status, refused.body['errors'][0].meta.required]).toEqual([403, ['users:write']]);
  expect((await apply(await holding('connections:write', 'users:write'), wanted)).status).toBe(200);
});

test('who may read connections and not organizations learns from no plan who the customers are (attack 68.1931)', async () => {
  await applied(api, document());
  const blind = await manage(service.url, 'environments:read connections:read connections:write');
  const named = (organization: string, name: string) => plan(blind, { version: 1, connections: [{ ...connection, name, organization }] });
  for (const organization of ['acme', 'nobody'])
    for (const name of ['acme-sso', 'another'])
      expect((await named(organization, name)).body['errors']?.[0]).toMatchObject({
        code: 'insufficient_scope',
        meta: { required: expect.arrayContaining(['organizations:read']) },
      });
  const { organization: _organization, ...own } = connection;
  expect((await plan(blind, { version: 1, connections: [own] })).status).toBe(200);
});

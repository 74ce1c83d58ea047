// Organizations, their members and domains: what can be made of them, by whom, and what is told of it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findConnection } from '../../src/db/tables/connections.js';
import { createContext } from '../../src/domain/context.js';
import { managingOrganization, speaksForAddress } from '../../src/domain/organizations/domains.js';
import { isRemovedMember } from '../../src/domain/organizations/memberships.js';
import { domainCheckPass } from '../../src/jobs/domain-checks.js';
import { addUser } from '../support/data.js';
import { lastMailTo, mailTo } from '../support/mailbox.js';
import { link, links, manage, startManagedService, type Api, type Document } from '../support/management.js';
import type { TestService } from '../support/service.js';

const records = new Map<string, string[]>();
let service: TestService;
let api: Api;
let number = 0;

beforeAll(async () => {
  const txtLookup = async (name: string) => records.get(name) ?? [];
  service = await startManagedService({}, { overrides: { txtLookup } });
  api = await manage(service.url);
});
afterAll(() => service?.stop());

const organization = (attributes: Document = {}, relationships?: Document) => {
  number += 1;
  return api.create('organizations', { name: `org-${number}`, display_name: `Org ${number}`, ...attributes }, relationships);
};
const role = (name: string, kind = 'organization') => api.create('roles', { name, kind });
const member = (of: Document, user: { id: string }, more: Document = {}) => ({
  data: {
    type: 'organization_membership',
    relationships: { organization: link('organization', of['id']), user: link('user', user.id), ...more },
  },
});
const claim = (of: Document, domain: string) =>
  api.attempt('organization_domains', { domain }, { organization: link('organization', of['id']) });
const errorOf = ({ status, body }: { status: number; body: Document }) => [status, body['errors']?.[0]?.code];

/** Puts the domain's record into its zone and has it looked for. */
async function verify(domain: Document) {
  const [record] = domain['attributes'].verification_records as { name: string; value: string }[];
  records.set(record!.name, [...(records.get(record!.name) ?? []), record!.value]);
  return api.patch(`/organization_domains/${domain['id']}/verify`);
}

test('an organization is made, found, changed and deleted (specification 16.1.1, 16.1.6)', async () => {
  const made = await organization({ name: 'acme', display_name: 'Acme Ltd', external_id: 'crm-1', logo_url: 'https://acme.example/l.png' });
  expect(made['attributes']).toMatchObject({
    name: 'acme',
    status: 'enabled',
    auto_membership: 'connection',
    require_sso: 'nobody',
    logo_url: 'https://acme.example/l.png',
    branding: { logo_url: 'https://acme.example/l.png' },
    metadata: {},
  });
  for (const filter of ['name=acme', 'external_id=crm-1', 'search=cme lt', `search=${made['id']}`])
    expect((await api.get(`/organizations?filter[${filter.replace('=', ']=')}`)).body['data']).toMatchObject([{ id: made['id'] }]);
  const patch = (attributes: Document) => api.update('organizations', made['id'], attributes);
  expect((await patch({ primary_color: '#112233' })).body['data'].attributes.branding).toEqual({
    logo_url: 'https://acme.example/l.png',
    primary_color: '#112233',
  });
  expect(errorOf(await patch({ name: 'other' }))).toEqual([403, 'attribute_read_only']);
  for (const name of ['choose', 'A', 'a_b', '-a', 'a-', 'x', crypto.randomUUID()])
    expect((await api.attempt('organizations', { name, display_name: 'X' })).status).toBe(422);
  const twice = { data: { type: 'organization', attributes: { name: 'acme', display_name: 'X' } } };
  expect(errorOf(await api.post('/organizations', twice))).toEqual([409, 'already_exists']);
  const user = await addUser(await service.context());
  expect((await api.post('/organization_memberships', member(made, user))).status).toBe(201);
  expect(errorOf(await api.delete(`/organizations/${made['id']}`))).toEqual([409, 'not_empty']);
  expect((await patch({ status: 'disabled' })).status).toBe(200);
  expect((await api.delete(`/organizations/${made['id']}`)).status).toBe(204);
  expect((await api.get(`/users/${user.id}`)).status).toBe(200);
});

test('an external id is one organization’s, and a list is of the status or the domain that is asked for (specification 16.1.1)', async () => {
  const [one, two] = [await organization({ external_id: 'crm-one' }), await organization({ status: 'disabled' })];
  const named = { name: 'named-alike', display_name: 'X', external_id: 'crm-one' };
  const twice = await api.attempt('organizations', named);
  expect([errorOf(twice), twice.body['errors'][0].source.pointer]).toEqual([[409, 'already_exists'], '/data/attributes/external_id']);
  await claim(one, 'listed.example');
  const listed = async (filter: string) =>
    ((await api.get(`/organizations?page[size]=100&filter${filter}`)).body['data'] as Document[]).map(({ id }) => id as string);
  expect(await listed('[domain]=LISTED.example')).toEqual([one['id']]);
  expect(await listed('[status]=disabled')).toContain(two['id']);
  expect(await listed('[status]=disabled')).not.toContain(one['id']);
});

test('what goes with an organization is all that is its own (specification 16.1.6)', async () => {
  const acme = await organization();
  const related = { organization: link('organization', acme['id']) };
  const make = async (path: string, attributes: Document) => {
    const { status, body } = await api.attempt(path, attributes, related);
    expect([path, status]).toEqual([path, 201]);
    return `/${path}/${body['data'].id}`;
  };
  const oidc = { strategy: 'oidc', provider_client_id: 'x', issuer: 'https://idp.gone.example', provider_client_secret: 's' };
  const own = [
    await make('organization_domains', { domain: 'gone.example' }),
    await make('connections', { name: 'gone', display_name: 'Gone', ...oidc }),
    await make('directories', {}),
    await make('organization_invitations', { email: 'ada@gone.example' }),
    await make('setup_links', { parts: ['domains'] }),
  ];
  expect((await api.delete(`/organizations/${acme['id']}`)).status).toBe(204);
  for (const path of own) expect([path, (await api.get(path)).status]).toEqual([path, 404]);
});

test('of two organizations that prove a domain at once one has it (attack 43.1422)', async () => {
  const claimed = [];
  for (const of of [await organization(), await organization()])
    claimed.push((await claim(of, 'contested.example')).body['data'] as Document);
  for (const { attributes } of claimed) {
    const [{ name, value }] = attributes.verification_records as [{ name: string; value: string }];
    records.set(name, [...(records.get(name) ?? []), value]);
  }
  const answers = await Promise.all(claimed.map(({ id }) => api.patch(`/organization_domains/${id}/verify`)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
});

test('a user is a member once, with the default roles or those that are named (specification 16.1.2, 16.1.4)', async () => {
  const [reader, editor] = [await role('reader'), await role('editor')];
  const acme = await organization({}, { default_roles: links('role', reader['id']) });
  const [one, two] = [await addUser(await service.context()), await addUser(await service.context())];
  const made = await api.post('/organization_memberships?include=roles', member(acme, one));
  expect(made.body['data']).toMatchObject({ attributes: { status: 'active', source: 'manual' } });
  expect(made.body['data'].relationships.roles.data).toEqual([{ type: 'role', id: reader['id'] }]);
  expect(errorOf(await api.post('/organization_memberships', member(acme, one)))).toEqual([409, 'already_exists']);
  const named = await api.post('/organization_memberships?include=roles', member(acme, two, { roles: links('role', editor['id']) }));
  expect(named.body['data'].relationships.roles.data).toEqual([{ type: 'role', id: editor['id'] }]);
  const path = `/organization_memberships/${made.body['data'].id}`;
  expect((await api.patch(`${path}/suspend`)).body['data'].attributes.status).toBe('suspended');
  expect(errorOf(await api.patch(`${path}/suspend`))).toEqual([409, 'invalid_transition']);
  expect((await api.patch(`${path}/resume`)).body['data'].attributes.status).toBe('active');
  expect(errorOf(await api.patch(`${path}/resume`))).toEqual([409, 'invalid_transition']);
  expect(
    (await api.get(`/organization_memberships?filter[organization]=${acme['id']}&filter[role]=${editor['id']}`)).body['data'],
  ).toHaveLength(1);
});

test('whoever was removed is remembered until somebody lets them in again (specification 16.1.5, attack 43.1426)', async () => {
  const [acme, user, ctx] = [await organization(), await addUser(await service.context()), await service.context()];
  const made = (await api.post('/organization_memberships', member(acme, user))).body['data'];
  expect((await api.delete(`/organization_memberships/${made.id}`)).status).toBe(204);
  expect(await isRemovedMember(ctx, acme['id'], user.id)).toBe(true);
  expect((await api.post('/organization_memberships', member(acme, user))).status).toBe(201);
  expect(await isRemovedMember(ctx, acme['id'], user.id)).toBe(false);
});

test('roles of an organization and of the environment stay apart at every endpoint (specification 16.1.3, attack 43.1420)', async () => {
  const [own, foreign] = [await role('of-organizations'), await role('of-the-environment', 'environment')];
  const [acme, user] = [await organization(), await addUser(await service.context())];
  const wrong = [422, 'wrong_role_kind'];
  const made = (await api.post('/organization_memberships', member(acme, user))).body['data'];
  expect(
    errorOf(await api.post('/organization_memberships', member(await organization(), user, { roles: links('role', foreign['id']) }))),
  ).toEqual(wrong);
  expect(errorOf(await api.post(`/organization_memberships/${made.id}/relationships/roles`, links('role', foreign['id'])))).toEqual(wrong);
  expect(errorOf(await api.post(`/organizations/${acme['id']}/relationships/default_roles`, links('role', foreign['id'])))).toEqual(wrong);
  expect(errorOf(await api.post(`/users/${user.id}/relationships/roles`, links('role', own['id'])))).toEqual(wrong);
  const ofUser = { data: { type: 'user', attributes: { email: 'kind@example.com' }, relationships: { roles: links('role', own['id']) } } };
  expect(errorOf(await api.post('/users', ofUser))).toEqual(wrong);
  expect(errorOf(await api.attempt('roles', { name: 'x', kind: 'organization', is_default: true }))).toEqual(wrong);
  const changed = { data: { type: 'role', id: own['id'], attributes: { kind: 'environment' } } };
  expect(errorOf(await api.patch(`/roles/${own['id']}`, changed))).toEqual([403, 'attribute_read_only']);
});

test('nobody gives a member more than they hold (attack 43.1421)', async () => {
  const admin = (await api.get('/roles?filter[name]=organization_admin')).body['data'][0];
  expect(admin.attributes).toMatchObject({ kind: 'organization', is_system: true });
  const narrow = await manage(
    service.url,
    'organization_memberships:write organization_memberships:read roles:read organizations:read users:read',
  );
  const [acme, user] = [await organization(), await addUser(await service.context())];
  const refused = await narrow.post('/organization_memberships', member(acme, user, { roles: links('role', admin.id) }));
  expect(errorOf(refused)).toEqual([403, 'scope_escalation']);
  expect(refused.body['errors'][0].meta.required).toContain('connections:write');
  expect((await narrow.post('/organization_memberships', member(acme, user))).status).toBe(201);
});

test('a domain is proven by its record, by one organization, and then speaks (specification 16.4.3, 16.4.4, attacks 43.1422 and 43.1424)', async () => {
  const [acme, rival] = [await organization(), await organization()];
  const [domain, theirs] = [(await claim(acme, 'acme.example')).body['data'], (await claim(rival, 'acme.example')).body['data']];
  const ctx = await service.context();
  expect(domain.attributes.status).toBe('pending');
  expect((await api.patch(`/organization_domains/${domain.id}/verify`)).body['data'].attributes).toMatchObject({
    status: 'pending',
    failure_reason: 'record_not_found',
  });
  expect(await speaksForAddress(ctx, acme['id'], 'ada@acme.example')).toBe(false);
  expect((await verify(domain)).body['data'].attributes.status).toBe('verified');
  expect(errorOf(await verify(theirs))).toEqual([409, 'already_exists']);
  const later = createContext(service.deps, ctx.environment);
  expect(await speaksForAddress(later, acme['id'], 'ada@ACME.example')).toBe(true);
  expect(await speaksForAddress(later, acme['id'], 'ada@sub.acme.example')).toBe(false);
  expect((await managingOrganization(later, 'ada@acme.example'))?.organization.id).toBe(acme['id']);
});

test.each(['co.uk', 'gmail.com', '127.0.0.1', 'localhost', 'x.localhost', 'UPPER.example', 'github.io'])(
  '%s is no company’s domain (specification 16.4.3, attack 43.1423)',
  async (domain) => expect((await claim(await organization(), domain)).status).toBe(422),
);

test('a connection of an organization speaks for its verified domains, and has none of its own (specification 16.4.2, attack 43.1425)', async () => {
  const [acme, rival] = [await organization(), await organization()];
  const attributes = {
    display_name: 'Acme',
    strategy: 'oidc',
    provider_client_id: 'x',
    issuer: 'https://idp.acme.example',
    provider_client_secret: 's',
  };
  const make = (more: Document) =>
    api.attempt('connections', { name: `c-${(number += 1)}`, ...attributes, ...more }, { organization: link('organization', acme['id']) });
  const connection = (await make({})).body['data'];
  expect(connection.attributes).toMatchObject({ account_linking: 'verified_email', domains: [] });
  expect((await make({ domains: ['acme-two.example'] })).status).toBe(422);
  expect((await make({ required: true })).status).toBe(422);
  const change = { data: { type: 'connection', id: connection.id, attributes: { domains: ['acme-two.example'] } } };
  expect((await api.patch(`/connections/${connection.id}`, change)).status).toBe(422);
  const [domain, theirs] = [(await claim(acme, 'acme-two.example')).body['data'], (await claim(rival, 'acme-three.example')).body['data']];
  const lead = (id: string) =>
    api.patch(`/organization_domains/${id}`, {
      data: { type: 'organization_domain', id, relationships: { connection: link('connection', connection.id) } },
    });
  expect((await lead(domain.id)).status).toBe(200);
  expect((await lead(theirs.id)).status).toBe(422);

  // As soon as they are verified they are shown, alone and in lists, and may be sent back; nothing else may.
  const shown = async () => {
    const one = (await api.get(`/connections/${connection.id}`)).body['data'].attributes.domains;
    const [listed] = (await api.get(`/connections?filter[name]=${connection.attributes.name}`)).body['data'];
    const [included] = (await api.get(`/organization_domains/${domain.id}?include=connection`)).body['included'];
    return [one, listed.attributes.domains, included.attributes.domains];
  };
  expect(await shown()).toEqual([[], [], []]);
  await verify(domain);
  const own = ['acme-two.example'];
  expect(await shown()).toEqual([own, own, own]);
  const changed = await api.patch(`/connections/${connection.id}`, change);
  expect([changed.status, changed.body['data'].attributes.domains]).toEqual([200, own]);
  expect((await findConnection((await service.context()).scope, connection.id))?.domains).toEqual(own);
  change.data.attributes.domains = [...own, 'acme-three.example'];
  expect((await api.patch(`/connections/${connection.id}`, change)).status).toBe(422);
});

test('a record that is gone for two weeks ends the domain, and administrators get mail (specification 16.4.4)', async () => {
  const acme = await organization();
  const admin = await addUser(await service.context(), { email: 'chief@acme-four.example' });
  const [builtIn] = (await api.get('/roles?filter[name]=organization_admin')).body['data'];
  await api.post('/organization_memberships', member(acme, admin, { roles: links('role', builtIn.id) }));
  const domain = (await claim(acme, 'acme-four.example')).body['data'];
  await verify(domain);
  records.clear();
  service.clock.advance(86_400_000);
  await domainCheckPass(service.deps);
  expect((await lastMailTo(service.url, 'chief@acme-four.example')).text).toContain(`/dashboard/organization_domains/${domain.id}`);
  service.clock.advance(14 * 86_400_000);
  await domainCheckPass(service.deps);
  api = await manage(service.url);
  expect((await api.get(`/organization_domains/${domain.id}`)).body['data'].attributes.status).toBe('failed');
  expect((await mailTo(service.url, 'chief@acme-four.example')).filter(({ text }) => text.includes(domain.id))).toHaveLength(2);
  const later = await service.context();
  expect(await speaksForAddress(later, acme['id'], 'ada@acme-four.example')).toBe(false);
  expect(await managingOrganization(later, 'ada@acme-four.example')).toBeNull();
});

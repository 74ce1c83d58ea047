// Tokens that are bound to an organization, on every collection of the Management API: own records, others’, and collections that are nobody’s (specification 16.5).
import { beforeAll, describe, expect, test } from 'vitest';
import { insert, table } from '../../../src/db/scope.js';
import type { ConnectionRow } from '../../../src/db/tables/connections.js';
import type { OrganizationRow } from '../../../src/db/tables/organizations.js';
import type { RoleRow } from '../../../src/db/tables/roles.js';
import type { UserRow } from '../../../src/db/tables/users.js';
import { apiResourceOf } from '../../../src/domain/clients/clients.js';
import { managementPermissions, organizationPermissions } from '../../../src/domain/reach/management-permissions.js';
import { endpoints } from '../../../src/management/calls/index.js';
import { resources } from '../../../src/management/resources/index.js';
import type { Resource } from '../../../src/management/resource.js';
import { digest } from '../../../src/lib/digest.js';
import { uuidv7 } from '../../../src/lib/random.js';
import { addConnection } from '../../support/connections.js';
import { addClient, addGrant, addUser } from '../../support/data.js';
import { managementToken, startManagedService } from '../../support/management.js';
import { allowCode, redeem } from '../../support/oauth.js';
import { addDomain, addMembership, addOrganization, addRoleOf, changeRow } from '../../support/organizations.js';
import { contextOf, shared, sharedService } from '../../support/shared-service.js';
import { signedIn } from '../../support/signed-in.js';

const service = sharedService(startManagedService);
const ctx = contextOf(service);

type Tenant = {
  organization: OrganizationRow;
  admin: UserRow;
  member: UserRow;
  connection: ConnectionRow;
  role: RoleRow;
  membership_id: string;
  directory_id: string;
  setup_link_id: string;
};
let own: Tenant;
let other: Tenant;
let token: string;
let powerful: RoleRow;

const adminRole = async () => (await table<RoleRow>(ctx.scope, 'roles').where({ name: 'organization_admin' } as never))[0] as RoleRow;

async function tenant(name: string): Promise<Tenant> {
  const organization = await addOrganization(ctx, { name, display_name: name });
  const [admin, member] = [await addUser(ctx), await addUser(ctx)];
  const management = await apiResourceOf(ctx, ctx.environment.management_audience);
  const role = await addRoleOf(ctx, management as { id: string }, ['organizations:read']);
  await addMembership(ctx, organization, admin, { roles: [await adminRole()] });
  const membership = await addMembership(ctx, organization, member, { roles: [role] });
  const connection = await addConnection(ctx, { organization_id: organization.id });
  await addDomain(ctx, organization, `${name}.example`);
  const now = ctx.clock.now();
  const stamps = { organization_id: organization.id, created_at: now, updated_at: now };
  const directory_id = uuidv7(now.getTime());
  const token = { token_digest: digest(name), token_hint: 'hint' };
  await insert<Record<string, unknown>>(ctx.scope, 'directories', { ...stamps, ...token, id: directory_id });
  const group = { directory_id, display_name: 'Everybody', display_name_key: 'everybody' };
  await insert<Record<string, unknown>>(ctx.scope, 'organization_groups', { ...stamps, ...group, id: uuidv7(now.getTime()) });
  const setup_link_id = uuidv7(now.getTime());
  const opened = { sections: ['domains'], token_digest: digest(`link of ${name}`), expires_at: new Date(now.getTime() + 3_600_000) };
  await insert<Record<string, unknown>>(ctx.scope, 'setup_links', { ...stamps, ...opened, id: setup_link_id });
  return { organization, admin, member, connection, role, membership_id: membership.id, directory_id, setup_link_id };
}

async function boundToken(
  whose: UserRow,
  organization: OrganizationRow,
  scope = managementPermissions.join(' '),
): Promise<{ token: string; scope: string }> {
  const browser = await signedIn(service, whose);
  const resource = ctx.environment.management_audience;
  const code = await allowCode(browser, client, { resource, scope, organization: organization.name });
  const { body } = await redeem(service.url, client, code);
  return { token: body.access_token, scope: String(body['scope']) };
}

const api = (method: string, path: string, data?: unknown, by = token) =>
  fetch(`${service.url}/api/${path}`, {
    method,
    headers: { authorization: `Bearer ${by}`, ...(data === undefined ? {} : { 'content-type': 'application/vnd.api+json' }) },
    ...(data === undefined ? {} : { body: JSON.stringify({ data }) }),
  });
type Body = {
  data: { id: string; attributes: Record<string, unknown> }[] & { id: string; attributes: Record<string, unknown> };
  errors: { code: string }[];
  included: { type: string; id: string; attributes: object }[];
};
const bodyOf = async (answer: Response) => (await answer.json()) as Body;
const codeOf = async (answer: Response) => (await bodyOf(answer)).errors[0]?.code;

const client = shared(() => addClient(ctx, { organization_usage: 'allow' }));

beforeAll(async () => {
  const management = await apiResourceOf(ctx, ctx.environment.management_audience);
  await addGrant(ctx, client, management as never, [...managementPermissions], 'user');
  [own, other] = [await tenant('own'), await tenant('other')];
  powerful = await addRoleOf(ctx, management as { id: string }, ['clients:write', 'organizations:read']);
  ({ token } = await boundToken(own.admin, own.organization));
});

const touch = ({ id }: OrganizationRow) => ({ type: 'organization', id, attributes: { metadata: { touched: true } } });
const routed = resources.filter(({ routed: isRouted }) => isRouted !== false);
const isOpen = ({ path, permissions }: Resource) => organizationPermissions.includes(`${permissions ?? path}:read`);

/** Ids of a record that is the tenant’s, by the collections that have such; of roles all are. */
const recordOf: Record<string, (whose: Tenant) => string | Promise<string>> = {
  organizations: ({ organization }) => organization.id,
  organization_memberships: ({ membership_id }) => membership_id,
  organization_invitations: async ({ organization }) => (await firstOf('organization_invitations', organization)) || invited(organization),
  organization_domains: async ({ organization }) => firstOf('organization_domains', organization),
  connections: ({ connection }) => connection.id,
  directories: ({ directory_id }) => directory_id,
  organization_groups: async ({ organization }) => firstOf('organization_groups', organization),
  setup_links: ({ setup_link_id }) => setup_link_id,
  audit_logs: ({ organization }) => firstOf('audit_logs', organization),
};
async function invited(organization: OrganizationRow): Promise<string> {
  const relationships = { organization: { data: { type: 'organization', id: organization.id } } };
  const attributes = { email: `invited@${organization.name}.example` };
  const answer = await api(
    'POST',
    'organization_invitations',
    { type: 'organization_invitation', attributes, relationships },
    await managementToken(service.url),
  );
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { data: { id: string } }).data.id;
}
async function firstOf(name: string, organization: OrganizationRow): Promise<string> {
  const rows = await table<{ id: string }>(ctx.scope, name)
    .where({ organization_id: organization.id } as never)
    .orderBy('id', 'desc');
  return rows[0]?.id ?? '';
}

test('the token holds what counts within an organization, and nothing else (specification 16.5.1)', async () => {
  const { scope } = await boundToken(own.admin, own.organization);
  expect(scope.split(' ').sort()).toEqual([...organizationPermissions].sort());
  await addMembership(ctx, own.organization, other.member, { roles: [powerful] });
  const narrow = await boundToken(other.member, own.organization);
  expect(narrow.scope).toBe('organizations:read');
  expect((await api('GET', 'clients', undefined, narrow.token)).status).toBe(403);
  await table(ctx.scope, 'organization_memberships')
    .where({ organization_id: own.organization.id, user_id: other.member.id } as never)
    .delete();
  expect((await api('GET', 'organizations', undefined, narrow.token)).status).toBe(401);
});

const byPath = (some: readonly Resource[]) => some.map((one) => [one.path, one] as const);

test.each(byPath(routed.filter((one) => !isOpen(one))))(
  '%s are refused: lists, records, writes (specification 16.5.3)',
  async (path, resource) => {
    for (const [method, address, data] of [
      ['GET', path],
      ['GET', `${path}/${own.organization.id}`],
      ...(resource.create ? ([['POST', path, { type: resource.type, attributes: {} }]] as const) : []),
      ...(resource.update
        ? ([['PATCH', `${path}/${own.organization.id}`, { type: resource.type, id: own.organization.id }]] as const)
        : []),
      ...(resource.remove ? ([['DELETE', `${path}/${own.organization.id}`]] as const) : []),
    ] as [string, string, unknown][]) {
      const answer = await api(method, address, data);
      expect([method, answer.status, await codeOf(answer)]).toEqual([method, 403, 'insufficient_scope']);
    }
  },
);

test.each(byPath(routed.filter((one) => isOpen(one) && one.path !== 'roles')))(
  '%s: the organization’s records alone (specification 16.5.2, attack 43.1320)',
  async (path, resource) => {
    const sample = recordOf[path];
    if (!sample) throw new Error(`${path} need a record of a tenant in this test`);
    if (path === 'audit_logs')
      for (const one of [own, other])
        await api('PATCH', `organizations/${one.organization.id}`, touch(one.organization), await managementToken(service.url));
    const [mine, theirs] = [await sample(own), await sample(other)];
    const ids = (await bodyOf(await api('GET', `${path}?page[size]=100`))).data.map(({ id }) => id);
    expect(ids).toContain(mine);
    expect(ids).not.toContain(theirs);
    expect((await api('GET', `${path}/${mine}`)).status).toBe(200);
    expect((await api('GET', `${path}/${theirs}`)).status).toBe(404);
    for (const name of Object.keys(resource.relationships)) {
      for (const address of [`${path}/${theirs}/${name}`, `${path}/${theirs}/relationships/${name}`])
        expect([403, 404]).toContain((await api('GET', address)).status);
      const linkage = await api('GET', `${path}/${mine}/relationships/${name}`);
      expect([200, 403]).toContain(linkage.status);
      expect([200, 403]).toContain((await api('GET', `${path}/${mine}/${name}`)).status);
    }
    if (resource.update) expect((await api('PATCH', `${path}/${theirs}`, { type: resource.type, id: theirs })).status).toBe(404);
    if (resource.remove && !resource.organization?.without) expect((await api('DELETE', `${path}/${theirs}`)).status).toBe(404);
    for (const [verb, { method, input }] of Object.entries(resource.actions ?? {})) {
      const answer = await fetch(`${service.url}/api/${path}/${theirs}/${verb}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' },
        body: input ? '{"meta":{}}' : null,
      });
      expect([verb, answer.status]).toEqual([verb, 404]);
    }
    if (resource.filters['organization']) {
      const listed = await bodyOf(await api('GET', `${path}?filter[organization]=${other.organization.id}`));
      expect(listed.data).toEqual([]);
    }
  },
);

test.each(Object.values(endpoints).map((one) => [one.path, one] as const))(
  'the call %s is refused (specification 16.5.3)',
  async (_path, endpoint) => {
    const data = endpoint.method === 'GET' ? undefined : {};
    expect((await api(endpoint.method, endpoint.path, data)).status).toBe(403);
  },
);

test('roles are those of organizations, to be read alone (specification 16.5.2)', async () => {
  const { data } = await bodyOf(await api('GET', 'roles?page[size]=100'));
  expect(data.map(({ attributes }) => attributes['kind']).every((kind) => kind === 'organization')).toBe(true);
  expect(data.map(({ id }) => id)).toContain(own.role.id);
  const administrator = (await table<RoleRow>(ctx.scope, 'roles').where({ name: 'administrator' } as never))[0] as RoleRow;
  expect((await api('GET', `roles/${administrator.id}`)).status).toBe(404);
  expect((await api('POST', 'roles', { type: 'role', attributes: { name: 'mine' } })).status).toBe(403);
});

test('of its people it sees names, email and status, through memberships (specification 16.5.4)', async () => {
  const included = (await bodyOf(await api('GET', `organization_memberships/${own.membership_id}?include=user`))).included;
  expect(Object.keys(included[0]?.attributes ?? {}).sort()).toEqual([
    'email',
    'first_name',
    'full_name',
    'last_name',
    'middle_name',
    'status',
  ]);
  const related = await bodyOf(await api('GET', `organization_memberships/${own.membership_id}/user`));
  expect(related.data.attributes['email']).toBe(own.member.email);
  expect(related.data.attributes['metadata']).toBeUndefined();
  expect((await api('GET', `users/${own.member.id}`)).status).toBe(403);
  expect((await api('GET', 'users')).status).toBe(403);
});

describe('what it writes', () => {
  const domain = (name: string, relationships?: object) =>
    api('POST', 'organization_domains', {
      type: 'organization_domain',
      attributes: { domain: name },
      ...(relationships && { relationships }),
    });
  const of = (organization: OrganizationRow | null) => ({
    organization: { data: organization && { type: 'organization', id: organization.id } },
  });

  test('new records are its organization’s, named or not; another’s is not there (specification 16.5.5, attack 43.1321)', async () => {
    for (const [name, relationships] of [
      ['first.example', undefined],
      ['second.example', of(own.organization)],
    ] as const) {
      expect((await domain(name, relationships)).status).toBe(201);
      const row = (await table<{ organization_id: string }>(ctx.scope, 'organization_domains').where({ domain: name } as never))[0];
      expect(row?.organization_id).toBe(own.organization.id);
    }
    expect(await domain('third.example', of(other.organization)).then(codeOf)).toBe('related_not_found');
    expect(await domain('third.example', of(null)).then(codeOf)).toBe('related_not_found');
    const attributes = { name: 'theirs', display_name: 'Theirs', strategy: 'oidc', issuer: 'https://id.example', provider_client_id: 'us' };
    const connection = await api('POST', 'connections', { type: 'connection', attributes });
    expect(connection.status).toBe(201);
    const stored = (await table<ConnectionRow>(ctx.scope, 'connections').where({ name: 'theirs' } as never))[0];
    expect(stored?.organization_id).toBe(own.organization.id);
    expect(
      (await api('POST', 'connections', { type: 'connection', attributes: { ...attributes, name: 'ours' }, relationships: of(null) }))
        .status,
    ).toBe(404);
  });

  test('it makes no more than fifty connections and domains, which are all looked after without end; others may (attack 70.1954)', async () => {
    const full = await tenant('full');
    const bound = await boundToken(full.admin, full.organization);
    for (let more = 1; more < 50; more += 1) {
      await addConnection(ctx, { organization_id: full.organization.id });
      await addDomain(ctx, full.organization, `full-${more}.example`);
    }
    const relationships = { organization: { data: { type: 'organization', id: full.organization.id } } };
    const polled = {
      name: 'fifty-first',
      display_name: 'One more',
      strategy: 'oidc',
      issuer: 'https://hangs.example',
      provider_client_id: 'x',
    };
    const creations = {
      connections: { type: 'connection', attributes: polled, relationships },
      organization_domains: { type: 'organization_domain', attributes: { domain: 'fifty-first.example' }, relationships },
    };
    for (const [path, creation] of Object.entries(creations)) {
      const refused = await api('POST', path, creation, bound.token);
      expect([path, refused.status, await codeOf(refused)]).toEqual([path, 409, 'too_many']);
      expect([path, (await api('POST', path, creation, await managementToken(service.url))).status]).toEqual([path, 201]);
    }
  });

  test('another’s connection, role or person is not there as a relationship (specification 16.5.2, attack 43.1322)', async () => {
    const theirs = { connection: { data: { type: 'connection', id: other.connection.id } } };
    expect(await domain('fourth.example', theirs).then(codeOf)).toBe('related_not_found');
    const user = { user: { data: { type: 'user', id: other.member.id } } };
    expect(await api('POST', 'organization_memberships', { type: 'organization_membership', relationships: user }).then(codeOf)).toBe(
      'related_not_found',
    );
    const administrator = (await table<RoleRow>(ctx.scope, 'roles').where({ name: 'administrator' } as never))[0] as RoleRow;
    const roles = [{ type: 'role', id: administrator.id }];
    expect(await api('POST', `organization_memberships/${own.membership_id}/relationships/roles`, roles).then(codeOf)).toBe(
      'related_not_found',
    );
  });

  test('nobody gives a member, or maps a group to, a role with Management permissions that they lack (specification 16.5.6, attack 43.1323)', async () => {
    const group = `organization_groups/${await firstOf('organization_groups', own.organization)}/relationships/roles`;
    expect(await api('POST', group, [{ type: 'role', id: powerful.id }]).then(codeOf)).toBe('scope_escalation');
    const roles = [{ type: 'role', id: powerful.id }];
    const address = `organization_memberships/${own.membership_id}/relationships/roles`;
    expect(await api('POST', address, roles).then(codeOf)).toBe('scope_escalation');
    const admin = [{ type: 'role', id: (await adminRole()).id }];
    expect((await api('POST', address, admin)).status).toBe(204);
    expect((await api('DELETE', address, admin)).status).toBe(204);
  });

  test('it makes and deletes no organization, and sets neither status nor external_id (specification 16.5.1, attack 43.1324)', async () => {
    expect((await api('POST', 'organizations', { type: 'organization', attributes: { name: 'new', display_name: 'New' } })).status).toBe(
      403,
    );
    expect((await api('DELETE', `organizations/${own.organization.id}`)).status).toBe(403);
    const change = (attributes: object) =>
      api('PATCH', `organizations/${own.organization.id}`, { type: 'organization', id: own.organization.id, attributes });
    for (const attributes of [{ status: 'disabled' }, { external_id: 'x' }]) expect((await change(attributes)).status).toBe(403);
    expect((await change({ display_name: 'Renamed', metadata: { colour: 'green' } })).status).toBe(200);
  });

  test('the last administrator can not be suspended, removed or lose the role (specification 16.5.7)', async () => {
    const membership = (
      await table<{ id: string }>(ctx.scope, 'organization_memberships').where({
        organization_id: own.organization.id,
        user_id: own.admin.id,
      } as never)
    )[0];
    const id = membership?.id ?? '';
    expect(await api('PATCH', `organization_memberships/${id}/suspend`).then(codeOf)).toBe('last_administrator');
    expect(await api('DELETE', `organization_memberships/${id}`).then(codeOf)).toBe('last_administrator');
    const roles = [{ type: 'role', id: (await adminRole()).id }];
    expect(await api('DELETE', `organization_memberships/${id}/relationships/roles`, roles).then(codeOf)).toBe('last_administrator');
  });

  test('whose account is blocked is no other administrator: the last one who can sign in stays (attack 70.1957)', async () => {
    const left = await tenant('left');
    const blocked = await addUser(ctx);
    await addMembership(ctx, left.organization, blocked, { roles: [await adminRole()] });
    const { token: bound } = await boundToken(left.admin, left.organization);
    await ctx.db.knex('users').where({ id: blocked.id }).update({ status: 'blocked' });
    const key = { organization_id: left.organization.id, user_id: left.admin.id };
    const [membership] = await table<{ id: string }>(ctx.scope, 'organization_memberships').where(key as never);
    const removal = () => api('DELETE', `organization_memberships/${membership?.id}`, undefined, bound);
    expect(await removal().then(codeOf)).toBe('last_administrator');
    await ctx.db.knex('users').where({ id: blocked.id }).update({ status: 'active' });
    expect((await removal()).status).toBe(204);
  });

  test('a suspended administrator’s token is worth nothing at once (attack 43.1310)', async () => {
    const lone = await addUser(ctx);
    const membership = await addMembership(ctx, own.organization, lone, { roles: [await adminRole()] });
    const theirs = await boundToken(lone, own.organization);
    expect((await api('GET', 'organizations', undefined, theirs.token)).status).toBe(200);
    await changeRow(ctx, 'organization_memberships', { id: membership.id }, { status: 'suspended' });
    expect((await api('GET', 'organizations', undefined, theirs.token)).status).toBe(401);
  });
});

test('what is no organization’s can not be read by a narrowed scope at all (specification 16.5.3)', async () => {
  const { visibleRows } = await import('../../../src/db/lists/list-source.js');
  const scope = { ...ctx.scope, environment_id: ctx.environment.id, knex: ctx.db.knex, organization_id: own.organization.id };
  for (const { source, organization } of routed)
    if (!organization) expect(() => visibleRows(scope as never, source)).toThrow('is an organization’s'.replace('’', "'"));
});

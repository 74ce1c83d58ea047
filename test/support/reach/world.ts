import { addApproval } from '../approvals.js';
import type { Context } from '../../../src/domain/context.js';
import { findApiResourceByIdentifier, findSystemApiResource } from '../../../src/db/tables/api_resources.js';
import { insertGroup } from '../../../src/db/tables/organization_groups.js';
import { managementPermissions } from '../../../src/domain/reach/management-permissions.js';
import { resources } from '../../../src/management/resources/index.js';
import { uuidv7 } from '../../../src/lib/random.js';
import { addProviderToken } from '../provider-tokens.js';
import { addClient, addGrant, type TestClient } from '../data.js';
import { link, links, typeIn, type Api, type Document } from '../management.js';
import { newRecord } from '../new-record.js';
import { detailType, sampleKeys } from './interesting.js';
import { addSignalStream } from '../signals.js';

/** The issuer of the one external server. */
export const outsideIssuer = 'https://outside.example';

/** An API of somebody's own, where somebody may refund. */
export const paymentsApi = 'https://payments.example';

/** Records of each type that stand for what is harmless and what reaches far, by type, and their ids by name. */
export type World = {
  readonly targets: ReadonlyMap<string, readonly string[]>;
  readonly id: (name: string) => string;
  readonly url: string;
  /** May do everything at the Management API, and `refund` at the payments API, for itself. */
  readonly walker: TestClient;
};

type Maker = { readonly api: Api; readonly ctx: Context; readonly ids: Map<string, string>; readonly targets: Map<string, string[]> };

function keep({ ids, targets }: Maker, name: string, type: string, id: string): string {
  ids.set(name, id);
  targets.set(type, [...(targets.get(type) ?? []), id]);
  return id;
}

const make = async (maker: Maker, name: string, collection: string, attributes: Document, relationships?: Document): Promise<string> =>
  keep(maker, name, typeIn(collection), (await maker.api.create(collection, attributes, relationships))['id'] as string);

async function people(maker: Maker): Promise<void> {
  const { api, ids } = maker;
  const permissions = (await api.get('/permissions?page[size]=100')).body['data'] as Document[];
  const permission = (name: string) => permissions.find((one) => one['attributes'].name === name)?.['id'] as string;
  ids.set('permission far', permission('signing_keys:write'));
  const all = permissions.map((one) => one['id'] as string);
  const administrator = (await api.get('/roles?filter[name]=administrator')).body['data'][0]['id'] as string;
  await make(maker, 'role near', 'roles', { name: 'Near' });
  await make(maker, 'role far', 'roles', { name: 'Far' }, { permissions: links('permission', ...all) });
  ids.set(
    'role unheld',
    await make(maker, 'role unheld', 'roles', { name: 'Unheld' }, { permissions: links('permission', permission('connections:write')) }),
  );
  await make(maker, 'user near', 'users', { email: 'near@example.com' });
  await make(maker, 'user far', 'users', { email: 'far@example.com', email_verified: true }, { roles: links('role', administrator) });
  // Somebody else, so that the last administrator is not what a refusal is about.
  await make(maker, 'user further', 'users', { email: 'further@example.com' }, { roles: links('role', administrator) });
  await make(maker, 'user blocked', 'users', { email: 'blocked@example.com' }, { roles: links('role', administrator) });
  await api.patch(`/users/${ids.get('user blocked')}/block`);
  // Last, so that nobody above has it.
  await make(
    maker,
    'role given',
    'roles',
    { name: 'Given', is_default: true },
    { permissions: links('permission', permission('audit_logs:read')) },
  );
}

async function applications(maker: Maker): Promise<void> {
  const { api, ids } = maker;
  const management = (await api.get('/api_resources')).body['data'].find((one: Document) => one['attributes'].is_system)['id'] as string;
  keep(maker, 'api far', 'api_resource', management);
  await make(maker, 'api near', 'api_resources', { identifier: 'https://api.example/near', name: 'Near' });
  const nearApi = { api_resource: link('api_resource', ids.get('api near') as string) };
  await make(maker, 'detail type near', 'authorization_detail_types', detailType('near'), nearApi);
  await make(
    maker,
    'permission near',
    'permissions',
    { name: 'near' },
    { api_resource: link('api_resource', ids.get('api near') as string) },
  );
  const web = { redirect_uris: ['https://app.example/cb'], grant_types: ['authorization_code', 'refresh_token'] };
  const machine = { application_type: 'machine' };
  await make(maker, 'client near', 'clients', { name: 'Near', first_party: false, ...web });
  await make(maker, 'client first', 'clients', { name: 'First', first_party: true, ...web });
  const keyed = { ...machine, token_endpoint_auth_method: 'private_key_jwt', jwks: sampleKeys(1) };
  await make(maker, 'client job', 'clients', { name: 'Job', ...keyed });
  await make(maker, 'client far', 'clients', { name: 'Far', ...keyed });
  const bare = await make(maker, 'client bare', 'clients', { name: 'Bare', ...machine, jwks: sampleKeys(1) });
  const saml = { saml_entity_id: 'https://app.example/saml', saml_acs_urls: ['https://app.example/acs'] };
  await make(maker, 'client saml', 'clients', { name: 'SAML', application_type: 'saml', ...saml });
  keep(maker, 'client system', 'client', 'management');
  const of = (name: string) => ({ client: link('client', ids.get(name) as string), api_resource: link('api_resource', management) });
  await make(maker, 'grant far', 'client_grants', { scopes: ['signing_keys:write', 'users:read'] }, of('client far'));
  const near = { client: link('client', bare), api_resource: link('api_resource', ids.get('api near') as string) };
  await make(maker, 'grant near', 'client_grants', { scopes: ['near'] }, near);
  const exchanging = {
    scopes: ['near'],
    subject_type: 'user',
    token_exchange: 'delegation',
    subject_audiences: ['https://api.example/near'],
  };
  await make(maker, 'grant exchanging', 'client_grants', exchanging, near);
}

/** Workloads that are a client which reaches nothing, and one that reaches far; and an issuer on which nothing rests. */
async function workloads(maker: Maker): Promise<void> {
  const { ids } = maker;
  for (const name of ['near', 'far', 'idle']) {
    const attributes = { name, issuer: `https://${name}.platform.example`, jwks: sampleKeys(1) };
    const issuer = await make(maker, `trusted issuer ${name}`, 'trusted_issuers', attributes);
    if (name === 'idle') continue;
    const proven = {
      client: link('client', ids.get(`client ${name === 'near' ? 'job' : 'far'}`) as string),
      trusted_issuer: link('trusted_issuer', issuer),
    };
    await make(maker, `credential ${name}`, 'federated_credentials', { claims: { sub: name } }, proven);
  }
}

/** Servers outside, for which clients have assertions of people. */
async function outside(maker: Maker): Promise<void> {
  const { ids } = maker;
  const attributes = { name: 'Outside', issuer: outsideIssuer, resources: [{ identifier: 'https://mcp.example/', scopes: ['read'] }] };
  const server = await make(maker, 'external server', 'external_servers', attributes);
  const between = { client: link('client', ids.get('client near') as string), external_server: link('external_server', server) };
  await make(maker, 'outbound grant', 'outbound_grants', { external_client_id: 'near' }, between);
}

/** Who reaches `refund` at the payments API: by a role, a grant, workloads, or because people allowed it before. */
async function payments(maker: Maker): Promise<void> {
  const { api, ctx, ids } = maker;
  const resource = await make(maker, 'api payments', 'api_resources', { identifier: paymentsApi, name: 'Payments' });
  const ofPayments = { api_resource: link('api_resource', resource) };
  const refund = await make(maker, 'permission refund', 'permissions', { name: 'refund' }, ofPayments);
  const role = await make(maker, 'role paid', 'roles', { name: 'Paid' }, { permissions: links('permission', refund) });
  await make(maker, 'user paid', 'users', { email: 'paid@example.com' }, { roles: links('role', role) });
  await api.post(`/roles/${ids.get('role given')}/relationships/permissions`, links('permission', ids.get('permission near') as string));
  const keyed = { application_type: 'machine', token_endpoint_auth_method: 'private_key_jwt', jwks: sampleKeys(1) };
  const paid = await make(maker, 'client paid', 'clients', { name: 'Paid', ...keyed });
  const secret = await make(maker, 'client charging', 'clients', { name: 'Charging', application_type: 'machine' });
  for (const client of [paid, secret])
    await make(maker, `grant of ${client}`, 'client_grants', { scopes: ['refund'] }, { client: link('client', client), ...ofPayments }); // prettier-ignore
  const issuer = { name: 'Paid', issuer: 'https://paid.platform.example', jwks: sampleKeys(1) };
  const trusted = await make(maker, 'trusted issuer paid', 'trusted_issuers', issuer);
  const proven = { client: link('client', paid), trusted_issuer: link('trusted_issuer', trusted) };
  await make(maker, 'credential paid', 'federated_credentials', { claims: { sub: 'paid' } }, proven);
  // People allowed it: they aren't asked again.
  const web = { redirect_uris: ['https://allowed.example/cb'], first_party: false };
  const allowed = await make(maker, 'client allowed', 'clients', { name: 'Allowed', ...web });
  const now = ctx.clock.now();
  const resource_scopes = JSON.stringify({ '': ['openid'], [paymentsApi]: ['refund'] });
  const given = { scopes: ['openid', 'refund'], resources: [paymentsApi], resource_scopes, granted_at: now, updated_at: now };
  await ctx.db.knex('consents').insert({ environment_id: ctx.environment.id, user_id: ids.get('user near'), id: uuidv7(now.getTime()), client_id: allowed, ...given }); // prettier-ignore
  // A client that offers one connection: without that it offers all.
  const offered = { name: 'offered', display_name: 'Offered', strategy: 'oidc', issuer: 'https://provider.example', provider_client_id: 'id', provider_client_secret: 'secret', account_linking: 'ask', allow_registration: false }; // prettier-ignore
  const connection = await make(maker, 'connection offered', 'connections', offered);
  await api.post(`/clients/${paid}/relationships/connections`, links('connection', connection));
}

/** A client that may do everything here, and refund for itself. @returns its credentials */
async function walkingClient({ ctx }: Maker): Promise<TestClient> {
  const client = await addClient(ctx, {
    id: 'walker',
    application_type: 'machine',
    grant_types: ['client_credentials'],
    first_party: false,
  });
  const [management, resource] = [await findSystemApiResource(ctx.scope), await findApiResourceByIdentifier(ctx.scope, paymentsApi)];
  if (!management || !resource) throw new Error('an API resource is missing');
  await addGrant(ctx, client, management, [...managementPermissions]);
  await addGrant(ctx, client, resource, ['refund']);
  return client;
}

async function signIns(maker: Maker): Promise<void> {
  const { api, ctx, ids } = maker;
  const oidc = { strategy: 'oidc', issuer: 'https://provider.example', provider_client_id: 'id', provider_client_secret: 'secret' };
  const plain = { ...oidc, account_linking: 'ask', allow_registration: false };
  await make(maker, 'connection near', 'connections', { name: 'near', display_name: 'Near', ...plain, token_storage: true });
  await make(maker, 'connection far', 'connections', { name: 'far', display_name: 'Far', ...plain });
  await make(maker, 'connection trusting', 'connections', {
    name: 'trusting',
    display_name: 'Trusting',
    ...plain,
    account_linking: 'verified_email',
  });
  const now = ctx.clock.now();
  // Its metadata names another provider by now.
  const url = 'https://provider.example/metadata';
  const saml = { name: 'saml', display_name: 'SAML', strategy: 'saml', account_linking: 'ask', allow_registration: false };
  const waiting = await make(maker, 'connection saml', 'connections', { ...saml, options: { idp_metadata_url: url } });
  const provider = { entity_id: 'https://provider.example', sso_url: 'https://provider.example/sso', certificates: [] };
  await ctx.db.knex('saml_metadata').insert({
    ...provider,
    environment_id: ctx.environment.id,
    connection_id: waiting,
    url,
    pending: { ...provider, entity_id: 'https://other.example' },
    checked_at: now,
  });
  const times = { created_at: now, updated_at: now };
  const paid = { ...plain, name: 'paid', display_name: 'Paid' };
  await make(maker, 'connection paid', 'connections', paid);
  for (const [index, who] of ['near', 'far', 'paid'].entries()) {
    const user_id = ids.get(`user ${who}`) as string;
    // With a password, an identity is not the only way in.
    await api.update('users', user_id, { password: 'correct horse battery staple' });
    const own = { environment_id: ctx.environment.id, user_id, ...times };
    const session = uuidv7(now.getTime());
    const session_row = { ...own, id: session, token_digest: Buffer.alloc(32, index), authenticated_at: now, last_activity_at: now };
    await ctx.db.knex('sessions').insert({ ...session_row, expires_at: new Date(now.getTime() + 86_400_000) });
    keep(maker, `session ${who}`, 'session', session);
    const identity = uuidv7(now.getTime());
    await ctx.db.knex('identities').insert({ ...own, id: identity, connection_id: ids.get(`connection ${who}`), subject: who });
    keep(maker, `identity ${who}`, 'identity', identity);
    const consent = uuidv7(now.getTime());
    const client_id = ids.get('client near');
    await ctx.db.knex('consents').insert({
      environment_id: own.environment_id,
      user_id,
      id: consent,
      client_id,
      scopes: ['openid'],
      granted_at: now,
      updated_at: now,
    });
    keep(maker, `consent ${who}`, 'consent', consent);
    const code = { kind: 'totp', secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' };
    await make(maker, `authenticator ${who}`, 'authenticators', code, { user: link('user', user_id) });
    const device = { id: uuidv7(now.getTime()), browser_digest: Buffer.alloc(32, index), last_used_at: now, created_at: now };
    await ctx.db
      .knex('devices')
      .insert({ environment_id: own.environment_id, user_id, ...device, expires_at: new Date(now.getTime() + 86_400_000) });
  }
}

/** What clients have of people: that they act for them, and their tokens at a provider. */
async function allowed(maker: Maker): Promise<void> {
  const { ctx, ids } = maker;
  const acting = await ctx.db.knex('authorizations').where({ environment_id: ctx.environment.id }).orderBy('id').select('id', 'user_id');
  for (const { id } of acting) keep(maker, `authorization ${id}`, 'authorization', id);
  const client_id = ids.get('client near') as string;
  for (const who of ['user near', 'user paid']) {
    const user_id = ids.get(who) as string;
    await addApproval(ctx, client_id, user_id);
    const { id } = (await ctx.db.knex('approvals').where({ environment_id: ctx.environment.id, user_id }).first('id')) as { id: string };
    keep(maker, `approval ${who}`, 'approval', id);
  }
  const blocked = { blocked_at: ctx.clock.now(), blocked_by: 'administrator' };
  await ctx.db
    .knex('authorizations')
    .where({ user_id: ids.get('user paid') })
    .update(blocked);
  const connection_id = ids.get('connection near') as string;
  const between = { client: link('client', client_id), connection: link('connection', connection_id) };
  await make(maker, 'provider grant', 'provider_grants', { scopes: ['calendar'] }, between);
  const identity = { id: ids.get('identity near') as string, user_id: ids.get('user near') as string, connection_id };
  keep(maker, 'provider token', 'provider_token', await addProviderToken(ctx, { identity, client_id }));
}

async function signalStreams(maker: Maker): Promise<void> {
  for (const status of ['enabled', 'paused']) {
    const { id } = await addSignalStream(maker.ctx, maker.ids.get('client near') as string);
    await maker.ctx.db.knex('signal_streams').where({ id }).update({ status });
    keep(maker, `signal stream ${status}`, 'signal_stream', id);
  }
}

async function logStreams(maker: Maker): Promise<void> {
  // Nobody listens there: a test of one is answered at once.
  const nowhere = { url: 'http://127.0.0.1:49151/', format: 'native', status: 'paused', authorization: 'Bearer walked' };
  await make(maker, 'log stream near', 'log_streams', { name: 'Near', sources: ['security_events'], ...nowhere });
  await make(maker, 'log stream far', 'log_streams', { name: 'Far', sources: ['audit_logs'], ...nowhere });
}

async function mailTemplates(maker: Maker): Promise<void> {
  const words = { name: 'register_code', subject: 'Code', text: '{{code}}' };
  await make(maker, 'mail template near', 'mail_templates', words);
  await make(maker, 'mail template far', 'mail_templates', { ...words, locale: 'de' });
}

async function pageTexts(maker: Maker): Promise<void> {
  await make(maker, 'page text near', 'page_texts', { key: 'login.title', locale: 'en', text: 'Welcome' });
  await make(maker, 'page text far', 'page_texts', { key: 'login.title', locale: 'de', text: 'Willkommen' });
}

async function deliveries(maker: Maker): Promise<void> {
  const { ctx } = maker;
  const now = ctx.clock.now();
  for (const [name, events, event_type] of [
    ['near', ['role.created'], 'role.created'],
    ['far', ['user.created', 'signing_key.generated'], 'user.created'],
    ['all', ['*'], 'user.updated'],
  ] as const) {
    const webhook_id = await make(maker, `webhook ${name}`, 'webhooks', {
      name,
      url: 'https://receiver.example/',
      events: [...events],
      status: 'disabled',
    });
    const id = uuidv7(now.getTime());
    const row = {
      environment_id: ctx.environment.id,
      id,
      webhook_id,
      event_id: uuidv7(now.getTime()),
      event_type,
      payload: '{}',
      status: 'failed',
    };
    await ctx.db.knex('webhook_deliveries').insert({ ...row, attempt_count: 6, completed_at: now, created_at: now, updated_at: now });
    keep(maker, `delivery ${name}`, 'webhook_delivery', id);
  }
}

/** One for development, closed, with a default role that reaches: that it shows its mails must not hide that it is opened. */
async function closedDevelopment(maker: Maker): Promise<void> {
  const { api, ctx } = maker;
  const attributes = { name: 'Closed', slug: 'closed', kind: 'development', registration_enabled: false };
  const made = await api.attempt('environments', attributes);
  const environment_id = keep(maker, 'environment closed', 'environment', made.body['data'].id as string);
  const now = ctx.clock.now();
  const role_id = uuidv7(now.getTime());
  const permission = await ctx.db.knex('permissions').where({ environment_id, name: 'audit_logs:read' }).first<{ id: string }>();
  await ctx.db.knex('roles').insert({ environment_id, id: role_id, name: 'Given', is_default: true, created_at: now, updated_at: now });
  await ctx.db.knex('role_permissions').insert({ environment_id, role_id, permission_id: permission?.id });
}

/** Organizations whose members hold nothing, and much; a suspended member, a domain and a connection of each. */
async function organizations(maker: Maker): Promise<void> {
  const { api, ids } = maker;
  const permissions = (await api.get('/permissions?page[size]=100')).body['data'] as Document[];
  const held = permissions.filter((one) => ['connections:write', 'signing_keys:write'].includes(one['attributes'].name));
  const roles = { permissions: links('permission', ...held.map((one) => one['id'] as string)) };
  const near = await make(maker, 'role member', 'roles', { name: 'Member', kind: 'organization' });
  const far = await make(maker, 'role chief', 'roles', { name: 'Chief', kind: 'organization' }, roles);
  for (const [name, role] of [
    ['near', near],
    ['far', far],
  ] as const) {
    // prettier-ignore
    const own = { default_roles: links('role', role) };
    const id = await make(maker, `organization ${name}`, 'organizations', { name, display_name: name }, own);
    const organization = link('organization', id);
    for (const person of ['near', 'further']) {
      const user = link('user', ids.get(`user ${person}`) as string);
      await make(maker, `member ${name} ${person}`, 'organization_memberships', {}, { organization, user });
    }
    await api.patch(`/organization_memberships/${ids.get(`member ${name} further`)}/suspend`);
    const attributes = {
      name: `of-${name}`,
      display_name: name,
      strategy: 'oidc',
      issuer: 'https://provider.example',
      provider_client_id: 'x',
    };
    await make(maker, `connection of ${name}`, 'connections', { ...attributes, provider_client_secret: 's' }, { organization });
    const domain = await make(maker, `domain of ${name}`, 'organization_domains', { domain: `${name}.example.net` }, { organization });
    const { ctx } = maker;
    const invited = { email: `invited@${name}.example.org` };
    const related = { organization, roles: links('role', role) };
    await make(maker, `invitation of ${name}`, 'organization_invitations', invited, related);
    const directory_id = await make(maker, `directory of ${name}`, 'directories', {}, { organization });
    // So that it has an earlier token too.
    await api.patch(`/directories/${directory_id}/rotate_token`);
    await make(maker, `set-up link of ${name}`, 'setup_links', { parts: ['domains'] }, { organization });
    const stamps = { id: uuidv7(ctx.clock.now().getTime()), created_at: ctx.clock.now(), updated_at: ctx.clock.now() };
    const called = { display_name: name, display_name_key: name };
    const group = await insertGroup(ctx.scope, { ...stamps, ...called, organization_id: id, directory_id });
    keep(maker, `group of ${name}`, 'organization_group', group.id);
    await api.patch(`/organization_groups/${group.id}/relationships/roles`, links('role', role));
    const proven = { status: 'verified', verified_at: maker.ctx.clock.now() };
    await maker.ctx.db.knex('organization_domains').where({ id: domain }).update(proven);
  }
  // With members an organization stays.
  await make(maker, 'organization void', 'organizations', { name: 'void', display_name: 'Void' }, { default_roles: links('role', far) });
}

async function surroundings(maker: Maker): Promise<void> {
  const { api, ctx, ids } = maker;
  keep(maker, 'environment own', 'environment', ctx.environment.id);
  const staging = await api.attempt('environments', { name: 'Staging', slug: 'staging', kind: 'staging' });
  keep(maker, 'environment other', 'environment', staging.body['data'].id as string);
  const now = ctx.clock.now();
  for (const [name, is_primary] of [
    ['pending', false],
    ['verified', false],
    ['primary', true],
  ] as const) {
    const id = await make(maker, `domain ${name}`, 'custom_domains', { domain: `${name}.example.com` });
    if (name !== 'pending') await ctx.db.knex('custom_domains').where({ id }).update({ status: 'verified', verified_at: now, is_primary });
  }
  // Tokens that were issued before are taken on.
  const earlier = { base_url_issuer_until: new Date('2040-01-01') };
  await ctx.db.knex('environments').where({ id: ctx.environment.id }).update(earlier);
  await api.attempt('signing_keys', {});
  const keys = (await api.get('/signing_keys')).body['data'] as Document[];
  const next = keys.find((one) => one['attributes'].status === 'next')?.['id'] as string;
  await api.patch(`/signing_keys/${next}/activate`);
  await api.attempt('signing_keys', {});
  const all = (await api.get('/signing_keys')).body['data'] as Document[];
  for (const one of all) keep(maker, `key ${one['attributes'].status}`, 'signing_key', one['id'] as string);
  const primary = await make(maker, 'certificate primary', 'saml_certificates', {});
  await api.patch(`/saml_certificates/${primary}/activate`);
  await make(maker, 'certificate next', 'saml_certificates', {});
  // Not for development, and closed: what opens either shows. Its passkeys have their domain: whoever enrols the first one fixes it to the issuer's host.
  const settled = { kind: 'production', registration_enabled: false, passkey_rp_id: 'primary.example.com' };
  await ctx.db.knex('environments').where({ id: ctx.environment.id }).update(settled);
  await ctx.db
    .knex('environments')
    .where({ id: ids.get('environment other') })
    .update({ registration_enabled: false });
  await closedDevelopment(maker);
}

/** Two of each collection that nobody above thought of. */
async function others(maker: Maker): Promise<void> {
  const first = (type: string) => maker.targets.get(type)?.[0] as string;
  for (const { type, path } of resources.filter((one) => one.create && !maker.targets.has(one.type)))
    for (const name of ['Near', 'Far']) {
      const { attributes, relationships } = newRecord(path, name, first);
      await make(maker, `${type} ${name.toLowerCase()}`, path, attributes, relationships);
    }
}

/** Fills an installation with records near and far. `api` holds everything. */
export async function makeWorld(api: Api, ctx: Context): Promise<World> {
  const maker: Maker = { api, ctx, ids: new Map(), targets: new Map() };
  await people(maker);
  await applications(maker);
  await workloads(maker);
  await outside(maker);
  await payments(maker);
  await signIns(maker);
  await allowed(maker);
  await organizations(maker);
  await deliveries(maker);
  await logStreams(maker);
  await signalStreams(maker);
  await mailTemplates(maker);
  await pageTexts(maker);
  await surroundings(maker);
  await others(maker);
  const walker = await walkingClient(maker);
  ctx.cache.clear();
  const id = (name: string) => {
    const found = maker.ids.get(name);
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  };
  return { targets: maker.targets, id, url: api.origin, walker };
}

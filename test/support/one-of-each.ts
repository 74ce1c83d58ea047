import { addApproval } from './approvals.js';
import { addSignalStream } from './signals.js';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { linkIdentity } from '../../src/domain/connections/identities.js';
import { insertGroup } from '../../src/db/tables/organization_groups.js';
import { uuidv7 } from '../../src/lib/random.js';
import { numberEventsOnce } from '../../src/jobs/event-feed.js';
import { Browser } from './browser.js';
import { addUser, password } from './data.js';
import { addProviderToken } from './provider-tokens.js';
import { png } from './images.js';
import { link, type Api, type Document } from './management.js';
import { giveTotp } from './factors.js';
import { sampleKeys } from './reach/interesting.js';
import { findTrace } from './request-traces.js';
import type { TestService } from './service.js';

/** One record of every collection of the default environment, by its path: what each needs hangs on the others. */
export async function oneOfEach(service: TestService, api: Api): Promise<Map<string, Document>> {
  const records = new Map<string, Document>();
  const ctx = await service.context();
  const keep = async (path: string, record: Promise<Document>) => records.set(path, await record);
  await keep('api_resources', api.create('api_resources', { identifier: 'https://one.example', name: 'One' }));
  const resource = link('api_resource', records.get('api_resources')?.['id']);
  await keep('permissions', api.create('permissions', { name: 'read' }, { api_resource: resource }));
  const detailType = { name: 'one', fields: [{ name: 'what', kind: 'text' }], sentence: { en: 'See {what}' } };
  await keep('authorization_detail_types', api.create('authorization_detail_types', detailType, { api_resource: resource }));
  await keep('roles', api.create('roles', { name: 'One' }));
  await addUser(ctx, { email: 'one@example.com' });
  await new Browser(service.url).login('one@example.com', password);
  records.set('users', (await api.get('/users?filter[email]=one@example.com')).body['data'][0]);
  records.set('sessions', (await api.get('/sessions')).body['data'][0]);
  await keep('clients', api.create('clients', { name: 'One', application_type: 'machine' }));
  const relationships = { client: link('client', records.get('clients')?.['id']), api_resource: resource };
  await keep('client_grants', api.create('client_grants', { scopes: ['read'] }, relationships));
  const server = { name: 'One', issuer: 'https://server.example', resources: [{ identifier: 'https://mcp.example/', scopes: ['read'] }] };
  await keep('external_servers', api.create('external_servers', server));
  const outbound = { client: relationships.client, external_server: link('external_server', records.get('external_servers')?.['id']) };
  await keep('outbound_grants', api.create('outbound_grants', { external_client_id: 'one' }, outbound));
  await keep('webhooks', api.create('webhooks', { name: 'One', url: 'http://127.0.0.1:49151/', events: ['role.created'] }));
  records.set('webhook_deliveries', (await api.post(`/webhooks/${records.get('webhooks')?.['id']}/test`)).body['data']);
  const connection = {
    name: 'one',
    display_name: 'One',
    strategy: 'oidc',
    provider_client_id: 'x',
    issuer: 'https://idp.example',
    token_storage: true,
  };
  await keep('connections', api.create('connections', connection));
  const user_id = records.get('users')?.['id'] as string;
  const account = { connection_id: records.get('connections')?.['id'] as string, subject: 'one', email: null, claims: {}, generation: 1 };
  const identity = await linkIdentity(ctx, user_id, account);
  const between = { client: relationships.client, connection: link('connection', account.connection_id) };
  await keep('provider_grants', api.create('provider_grants', { scopes: ['calendar'] }, between));
  await addProviderToken(ctx, { identity, client_id: records.get('clients')?.['id'] as string });
  await giveConsent(ctx, { user_id, client_id: records.get('clients')?.['id'] as string, scopes: ['openid'], resource: null });
  await addApproval(ctx, records.get('clients')?.['id'] as string, user_id);
  for (const path of ['identities', 'consents', 'provider_tokens', 'authorizations', 'approvals'])
    records.set(path, (await api.get(`/${path}`)).body['data'][0]);
  await keep('organizations', api.create('organizations', { name: 'one', display_name: 'One' }));
  const organization = link('organization', records.get('organizations')?.['id']);
  // With members an organization stays.
  const joined = await api.create('organizations', { name: 'two', display_name: 'Two' });
  const member = { organization: link('organization', joined['id']), user: link('user', user_id) };
  await keep('organization_memberships', api.create('organization_memberships', {}, member));
  const invited = { email: 'invited@example.com' };
  await keep('organization_invitations', api.create('organization_invitations', invited, { organization }));
  await keep('organization_domains', api.create('organization_domains', { domain: 'one.example.com' }, { organization }));
  await keep('directories', api.create('directories', {}, { organization }));
  await keep('setup_links', api.create('setup_links', { parts: ['domains', 'connection', 'directory'] }, { organization }));
  const group = { id: uuidv7(ctx.clock.now().getTime()), display_name: 'One', display_name_key: 'one', external_id: null };
  const of = {
    organization_id: records.get('organizations')?.['id'] as string,
    directory_id: records.get('directories')?.['id'] as string,
  };
  await insertGroup(ctx.scope, { ...group, ...of, created_at: ctx.clock.now(), updated_at: ctx.clock.now() });
  records.set('organization_groups', (await api.get(`/organization_groups/${group.id}`)).body['data']);
  await keep('user_imports', api.create('user_imports', { mode: 'create', dry_run: true }));
  await keep('user_exports', api.create('user_exports', {}));
  await keep('custom_domains', api.create('custom_domains', { domain: 'one.example.com' }));
  await keep('signing_keys', api.create('signing_keys', {}));
  await keep('saml_certificates', api.create('saml_certificates', {}));
  records.set('environments', (await api.get('/environments?filter[slug]=default')).body['data'][0]);
  const refused = await fetch(`${service.url}/oauth/authorize?client_id=nobody`);
  records.set('request_traces', (await findTrace(service, api, refused.headers.get('x-request-id'))).body['data']);
  records.set('audit_logs', (await api.get('/audit_logs')).body['data'][0]);
  const stream = { name: 'One', url: 'http://127.0.0.1:49151/', format: 'ecs', sources: ['audit_logs'], status: 'paused' };
  await keep('log_streams', api.create('log_streams', stream));
  const { id: signal_stream } = await addSignalStream(ctx, (records.get('clients') as { id: string }).id);
  records.set('signal_streams', (await api.get(`/signal_streams/${signal_stream}`)).body['data']);
  await keep('registration_tokens', api.create('registration_tokens', { name: 'One' }));
  const platform = { name: 'One', issuer: 'https://workloads.example', jwks: sampleKeys(1) };
  await keep('trusted_issuers', api.create('trusted_issuers', platform));
  const job = await api.create('clients', { name: 'Job', application_type: 'machine', token_endpoint_auth_method: 'private_key_jwt' });
  const proven = { client: link('client', job['id']), trusted_issuer: link('trusted_issuer', records.get('trusted_issuers')?.['id']) };
  await keep('federated_credentials', api.create('federated_credentials', { claims: { sub: 'job' } }, proven));
  records.set('authenticators', (await api.get(`/authenticators/${(await giveTotp(ctx, user_id)).id}`)).body['data']);
  const template = { name: 'register_code', locale: 'de', subject: 'Code', text: '{{code}}' };
  await keep('mail_templates', api.create('mail_templates', template));
  await keep('page_texts', api.create('page_texts', { key: 'login.title', locale: 'de', text: 'Willkommen' }));
  await keep('logos', api.create('logos', { image: png().toString('base64') }));
  await numberEventsOnce(service.deps);
  records.set('events', (await api.get('/events')).body['data'][0]);
  records.set('security_events', (await api.get('/security_events')).body['data'][0]);
  return records;
}

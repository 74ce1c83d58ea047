import { addApproval } from './approvals.js';
import { addSignalStream } from './signals.js';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { linkIdentity } from '../../src/domain/connections/identities.js';
import { insertGroup } from '../../src/db/tables/organization_groups.js';
import { resources } from '../../src/management/resources/index.js';
import { uuidv7 } from '../../src/lib/random.js';
import { numberEventsOnce } from '../../src/jobs/event-feed.js';
import { Browser } from './browser.js';
import { addUser, password } from './data.js';
import { addProviderToken } from './provider-tokens.js';
import { link, type Api, type Document } from './management.js';
import { giveTotp } from './factors.js';
import { newRecord } from './new-record.js';
import { sampleKeys } from './reach/interesting.js';
import { findTrace } from './request-traces.js';
import type { TestService } from './service.js';

/** One record of every collection of the default environment, by its path: what each needs hangs on the others. */
export async function oneOfEach(service: TestService, api: Api): Promise<Map<string, Document>> {
  const records = new Map<string, Document>();
  const ctx = await service.context();
  const ids = new Map<string, string>();
  const idOf = (type: string): string => {
    const id = ids.get(type);
    if (id === undefined) throw new Error(`there is no ${type} yet`);
    return id;
  };
  const keep = (path: string, record: Document) => {
    records.set(path, record);
    ids.set(record['type'] as string, record['id'] as string);
  };
  const make = async (path: string, more: Document = {}, related: Document = {}) => {
    const { attributes, relationships } = newRecord(path, 'One', idOf);
    keep(path, await api.create(path, { ...attributes, ...more }, { ...relationships, ...related }));
  };
  const found = async (path: string, query = '') => keep(path, (await api.get(`/${path}${query}`)).body['data'][0]);

  await addUser(ctx, { email: 'one@example.com' });
  await new Browser(service.url).login('one@example.com', password);
  await found('users', '?filter[email]=one@example.com');
  await found('sessions');
  const user_id = idOf('user');
  await make('api_resources');
  await make('permissions', { name: 'read' });
  for (const path of ['clients', 'webhooks']) await make(path);
  keep('webhook_deliveries', (await api.post(`/webhooks/${idOf('webhook')}/test`)).body['data']);
  await make('connections', { token_storage: true });
  await make('provider_grants');
  const [client_id, connection_id] = [idOf('client'), idOf('connection')];
  const account = { connection_id, subject: 'one', email: null, claims: {}, generation: 1 };
  await addProviderToken(ctx, { identity: await linkIdentity(ctx, user_id, account), client_id });
  await giveConsent(ctx, { user_id, client_id, scopes: ['openid'], resource: null });
  await addApproval(ctx, client_id, user_id);
  for (const path of ['identities', 'consents', 'provider_tokens', 'authorizations', 'approvals']) await found(path);
  // With members an organization stays.
  await make('organizations', { name: 'two', display_name: 'Two' });
  await make('organization_memberships');
  await make('organizations');
  await make('setup_links', { parts: ['domains', 'connection', 'directory'] });
  await make('directories');
  const stamps = { id: uuidv7(ctx.clock.now().getTime()), created_at: ctx.clock.now(), updated_at: ctx.clock.now() };
  const group = { display_name: 'One', display_name_key: 'one', external_id: null };
  await insertGroup(ctx.scope, { ...stamps, ...group, organization_id: idOf('organization'), directory_id: idOf('directory') });
  await found('organization_groups');
  await found('environments', '?filter[slug]=default');
  const refused = await fetch(`${service.url}/oauth/authorize?client_id=nobody`);
  keep('request_traces', (await findTrace(service, api, refused.headers.get('x-request-id'))).body['data']);
  const { id: signal_stream } = await addSignalStream(ctx, client_id);
  keep('signal_streams', (await api.get(`/signal_streams/${signal_stream}`)).body['data']);
  await make('trusted_issuers', { jwks: sampleKeys(1) });
  const job = await api.create('clients', { name: 'Job', application_type: 'machine', token_endpoint_auth_method: 'private_key_jwt' });
  await make('federated_credentials', {}, { client: link('client', job['id']) });
  keep('authenticators', (await api.get(`/authenticators/${(await giveTotp(ctx, user_id)).id}`)).body['data']);
  // All others need nothing else, or what is there by now.
  for (const { path } of resources.filter((one) => one.create && !records.has(one.path))) await make(path);
  await numberEventsOnce(service.deps);
  for (const path of ['audit_logs', 'events', 'security_events']) await found(path);
  return records;
}

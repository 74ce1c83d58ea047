// The policy to exchange people's tokens, at the Management API: what it may say, and who may set it.
import { beforeAll, expect, test } from 'vitest';
import { tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { link, manage, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let client: Document;

const api = shared(() => manage(service.url));
const stock = shared(() => api.create('api_resources', { name: 'Stock', identifier: 'https://stock.example' }));

beforeAll(async () => {
  await api.create('permissions', { name: 'read' }, { api_resource: link('api_resource', stock['id']) });
  client = await newClient();
});

const newClient = (more: Document = {}) =>
  api.create('clients', { name: 'Service', application_type: 'machine', grant_types: [tokenExchangeGrantType], ...more });

const grantBody = (attributes: Document, who: Document = client, resource: Document = stock) => ({
  data: {
    type: 'client_grant',
    attributes: { scopes: ['read'], subject_type: 'user', ...attributes },
    relationships: { client: link('client', who['id']), api_resource: link('api_resource', resource['id']) },
  },
});

const pointerOf = (answer: { status: number; body: Document }) => [answer.status, answer.body['errors']?.[0]?.source?.pointer];

test('it is set, shown and changed; without it there is none', async () => {
  const made = await api.post('/client_grants', grantBody({ token_exchange: 'delegation', subject_audiences: ['https://stock.example'] }));
  expect(made.body['data'].attributes).toMatchObject({ token_exchange: 'delegation', subject_audiences: ['https://stock.example'] });
  const id = made.body['data'].id as string;
  const change = (attributes: Document) => api.update('client_grants', id, attributes);
  expect((await change({ token_exchange: 'impersonation' })).body['data'].attributes.token_exchange).toBe('impersonation');
  expect(pointerOf(await change({ token_exchange: 'none' }))).toEqual([422, '/data/attributes']);
  expect((await change({ token_exchange: 'none', subject_audiences: [] })).status).toBe(200);
  const other = await api.post('/client_grants', grantBody({}, await newClient()));
  expect(other.body['data'].attributes).toMatchObject({ token_exchange: 'none', subject_audiences: [] });
});

test('what it can not be: of a client for itself, of a public client, for the Management API, of unknown audiences', async () => {
  const who = await newClient();
  const own = await api.post('/client_grants', grantBody({ subject_type: 'client', token_exchange: 'delegation' }, who));
  expect(pointerOf(own)).toEqual([422, '/data/attributes/token_exchange']);
  const open = await api.create('clients', { name: 'App', application_type: 'spa', redirect_uris: ['https://app.example/cb'] });
  expect(pointerOf(await api.post('/client_grants', grantBody({ token_exchange: 'delegation' }, open)))).toEqual([
    422,
    '/data/attributes/token_exchange',
  ]);
  const system = (await api.get('/api_resources?filter[search]=' + encodeURIComponent(`${service.url}/api`))).body['data'][0] as Document;
  const managing = await api.post('/client_grants', grantBody({ scopes: ['users:read'], token_exchange: 'delegation' }, who, system));
  expect(pointerOf(managing)).toEqual([422, '/data/attributes/token_exchange']);
  const unknown = await api.post(
    '/client_grants',
    grantBody({ token_exchange: 'delegation', subject_audiences: ['https://no.example'] }, who),
  );
  expect(pointerOf(unknown)).toEqual([422, '/data/attributes/subject_audiences/0']);
  const answer = await api.attempt('clients', { name: 'App', application_type: 'spa', redirect_uris: ['https://app.example/cb'], grant_types: ['authorization_code', tokenExchangeGrantType] }); // prettier-ignore
  expect(pointerOf(answer)).toEqual([422, '/data/attributes/grant_types']);
});

test('without users:write nobody lets a client act for people, nor takes one over that does (attack 29.607)', async () => {
  const narrow = await manage(service.url, 'client_grants:write clients:write credentials:write');
  const who = await newClient();
  const refused = await narrow.post('/client_grants', grantBody({ token_exchange: 'delegation' }, who));
  expect([refused.status, refused.body['errors'][0].code, refused.body['errors'][0].meta.required]).toEqual([
    403,
    'scope_escalation',
    ['users:write'],
  ]);
  expect((await narrow.post('/client_grants', grantBody({}, await newClient()))).status).toBe(201);
  expect((await api.post('/client_grants', grantBody({ token_exchange: 'delegation' }, who))).status).toBe(201);
  const taken = await narrow.update('clients', who['id'], { token_endpoint_auth_method: 'client_secret_post' }); // prettier-ignore
  expect([taken.status, taken.body['errors'][0].code]).toEqual([403, 'scope_escalation']);
  // A grant that exchanges already gets no wider either, by whoever could not have made it.
  const made = (await api.get(`/client_grants?filter[client]=${String(who['id'])}`)).body['data'][0] as Document;
  const change = (attributes: Document) => narrow.update('client_grants', made['id'], attributes);
  for (const attributes of [
    { scopes: [] },
    { token_exchange: 'impersonation' },
    { token_exchange: 'none' },
    { subject_audiences: ['https://stock.example'] },
  ])
    expect([attributes, (await change(attributes)).status]).toEqual([attributes, 403]);
});

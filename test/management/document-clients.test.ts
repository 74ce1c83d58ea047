// Clients of metadata documents as administrators see them: registered before they come, vouched for, changed and removed.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorizeGet, authorizeQuery, s256 } from '../support/authorize.js';
import { type Browser, csrfOf } from '../support/browser.js';
import { startDocumentServer, type DocumentServer } from '../support/client-documents.js';
import { addUser, type TestClient } from '../support/data.js';
import { manage, startManagedService, type Api } from '../support/management.js';
import { allowCode, redeem } from '../support/oauth.js';
import { shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

let documents: DocumentServer;
const service = sharedService(async () => {
  documents = await startDocumentServer(['client.example', 'a.tools.example', 'tools.example']);
  return startManagedService({}, { overrides: { fetch: documents.fetch } });
});
afterAll(() => documents?.close());
let browser: Browser;

const api = shared(() => manage(service.url));

beforeAll(async () => {
  const user = await addUser(await service.context());
  browser = await signedIn(service, user);
});

let count = 0;
const fresh = (host?: string) => documents.url(`/managed/${++count}.json`, host);
const path = (client: Pick<TestClient, 'id'>) => `/clients/${encodeURIComponent(client.id)}`;
const add = (attributes: Record<string, unknown>) => api.request('POST', '/clients', { body: { data: { type: 'client', attributes } } });
const change = (client: Pick<TestClient, 'id'>, attributes: Record<string, unknown>) =>
  api.request('PATCH', path(client), { body: { data: { type: 'client', id: client.id, attributes } } });
const settings = async (attributes: Record<string, unknown>) => {
  const { environment } = await service.context();
  const answer = await api.request('PATCH', `/environments/${environment.id}`, {
    body: { data: { type: 'environment', id: environment.id, attributes } },
  });
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
};
const errorsOf = ({ status, body }: Awaited<ReturnType<Api['request']>>) => [
  status,
  body['errors']?.[0].code,
  body['errors']?.[0].source?.pointer,
];

describe('client_id_metadata_uri', () => {
  test('registers a client before it comes, verified, also where documents are off', async () => {
    const client = documents.publish(fresh(), { client_name: 'Known Helper' });
    const made = await add({ client_id_metadata_uri: client.id, description: 'Ours' });
    expect(made.status).toBe(201);
    expect(made.body['data']).toMatchObject({
      id: client.id,
      attributes: {
        name: 'Known Helper', origin: 'metadata_document', verified: true, first_party: false, client_id_metadata_uri: client.id, description: 'Ours', document_ended_at: null,
      },
    }); // prettier-ignore
    expect(made.body['data'].links.self).toBe(`${service.url}/api${path(client)}`);
    expect(made.headers.get('location')).toBe(`${service.url}/api${path(client)}`);
    expect((await api.request('GET', path(client))).body['data'].id).toBe(client.id);
    const html = await (await authorizeGet(browser, authorizeQuery(client, s256()))).text();
    expect(html).toContain('Allow Known Helper to access your account?');
    expect(html).not.toContain('Not verified');
    expect((await redeem(service.url, client, await allowCode(browser, client))).status).toBe(200);
    expect(errorsOf(await add({ client_id_metadata_uri: client.id }))).toEqual([
      409,
      'already_exists',
      '/data/attributes/client_id_metadata_uri',
    ]);
  });

  test('needs a good document, and leaves the rest to it', async () => {
    const pointer = '/data/attributes/client_id_metadata_uri';
    expect(errorsOf(await add({ client_id_metadata_uri: fresh() }))).toEqual([422, 'invalid_value', pointer]);
    expect(errorsOf(await add({ client_id_metadata_uri: 'https://client.example/a/../b' }))).toEqual([422, 'invalid_url', pointer]);
    expect(errorsOf(await add({ client_id_metadata_uri: `${service.url}/x` }))).toEqual([422, 'invalid_url', pointer]);
    const client = documents.publish(fresh());
    expect(errorsOf(await add({ client_id_metadata_uri: client.id, name: 'Mine' }))).toEqual([
      422,
      'invalid_value',
      '/data/attributes/name',
    ]);
    expect(errorsOf(await add({ client_id_metadata_uri: client.id, first_party: true }))).toEqual([
      422,
      'invalid_value',
      '/data/attributes/first_party',
    ]);
    expect(await service.deps.db.knex('clients').where({ id: client.id })).toEqual([]);
  });

  test('or a name is needed', async () =>
    expect(errorsOf(await add({ redirect_uris: ['https://app.example/cb'] }))).toEqual([422, 'required', '/data/attributes']));
});

describe('a client of a document', () => {
  test('is changed in what its document does not say alone', async () => {
    const client = documents.publish(fresh());
    const made = await add({ client_id_metadata_uri: client.id });
    const { attributes } = made.body['data'];
    expect(
      (await change(client, { refresh_token_lifetime: 3600, name: attributes.name, redirect_uris: attributes.redirect_uris })).status,
    ).toBe(200);
    for (const [name, value] of [['name', 'Mine'], ['first_party', true], ['redirect_uris', ['https://evil.example/cb']], ['scopes', ['openid']]] as const)
      expect(errorsOf(await change(client, { [name]: value }))).toEqual([422, 'invalid_value', `/data/attributes/${name}`]); // prettier-ignore
    expect(errorsOf(await change(client, { introspection_allowed: true }))[0]).toBe(422);
    expect((await change(client, { status: 'disabled' })).status).toBe(200);
    expect((await api.request('DELETE', path(client))).status).toBe(204);
  });

  test('gets no grant of the Management API, verified or not', async () => {
    const client = documents.publish(fresh());
    await add({ client_id_metadata_uri: client.id });
    const [system] = await service.deps.db.knex('api_resources').where({ is_system: true });
    const relationships = {
      client: { data: { type: 'client', id: client.id } },
      api_resource: { data: { type: 'api_resource', id: system.id } },
    };
    const body = { data: { type: 'client_grant', attributes: { scopes: ['users:read'], subject_type: 'user' }, relationships } };
    expect((await api.request('POST', '/client_grants', { body })).status).toBeGreaterThanOrEqual(400);
  });

  test('is listed by where it comes from and whether it is verified', async () => {
    const client = documents.publish(fresh());
    await add({ client_id_metadata_uri: client.id });
    const { body } = await api.request('GET', '/clients?filter[origin]=metadata_document&filter[verified]=true&page[size]=100');
    expect(body['data'].map(({ id }: { id: string }) => id)).toContain(client.id);
    expect((await api.request('GET', `/consents?filter[client]=${encodeURIComponent(client.id)}`)).status).toBe(200);
  });
});

describe('client_id_metadata_hosts', () => {
  test('verify the clients of their hosts, as long as they are listed and documents are on; who was vouched for stays so', async () => {
    await settings({ client_id_metadata_documents: 'open', client_id_metadata_hosts: [] });
    const clients = [fresh('a.tools.example'), fresh('tools.example'), fresh('client.example')].map((url) => documents.publish(url));
    const [below, above, vouched] = clients as [TestClient, TestClient, TestClient];
    for (const client of clients) await allowCode(browser, client, { scope: 'openid' });
    const verified = async () =>
      Promise.all(clients.map(async ({ id }) => (await service.deps.db.knex('clients').where({ id }).first()).verified as boolean));
    expect(await verified()).toEqual([false, false, false]);
    expect((await api.request('PATCH', `${path(vouched)}/verify`)).body['data'].attributes.verified).toBe(true);
    await settings({ client_id_metadata_hosts: ['*.tools.example'] });
    expect(await verified()).toEqual([true, false, true]);
    await settings({ client_id_metadata_hosts: ['tools.example', 'client.example'] });
    expect(await verified()).toEqual([false, true, true]);
    expect((await api.request('PATCH', `${path(above)}/verify`)).status).toBe(200);
    await settings({ client_id_metadata_documents: 'off' });
    expect(await verified()).toEqual([false, true, true]);
    expect((await authorizeGet(browser, authorizeQuery(below, { ...s256() }))).status).toBe(400);
  });

  test.each([['https://client.example'], ['*'], ['*.com'], ['*.*.example'], ['client.example/path'], ['Client.example'], ['a.*.example']])(
    '%j is none (attack 30.789)',
    async (host) => {
      const { environment } = await service.context();
      const attributes = { client_id_metadata_hosts: [host] };
      const answer = await api.request('PATCH', `/environments/${environment.id}`, {
        body: { data: { type: 'environment', id: environment.id, attributes } },
      });
      expect(answer.status).toBe(422);
    },
  );
});

describe('the dashboard', () => {
  async function administrator(): Promise<Browser> {
    const ctx = await service.context();
    const user = await addUser(ctx);
    const [role] = await ctx.db.knex('roles').where({ name: 'administrator', environment_id: ctx.environment.id });
    await ctx.db.knex('user_roles').insert({ environment_id: ctx.environment.id, user_id: user.id, role_id: role.id });
    const one = await signedIn(service, user);
    return one;
  }
  const policies = async () => {
    const row = await service.deps.db.knex('environments').where({ is_default: true }).first();
    return [row.client_registration_policy, row.client_id_metadata_documents];
  };

  test('lets MCP clients connect by registering and by documents at once; trusted hosts stay when that is stopped', async () => {
    await settings({ client_registration_policy: 'off', client_id_metadata_documents: 'off', client_id_metadata_hosts: [] });
    const one = await administrator();
    const read = async () => (await one.get('/dashboard/self_registered_clients')).text();
    const _csrf = csrfOf(await read());
    await one.post('/dashboard/self_registered_clients', { _csrf, connect: 'on' });
    expect(await policies()).toEqual(['open', 'open']);
    expect(await read()).toContain('Any application can connect: by registering itself, or by a metadata document.');
    await one.post('/dashboard/self_registered_clients', { _csrf, connect: 'off' });
    expect(await policies()).toEqual(['off', 'off']);
    await settings({ client_id_metadata_documents: 'open', client_id_metadata_hosts: ['client.example'] });
    await one.post('/dashboard/self_registered_clients', { _csrf, connect: 'off' });
    expect(await policies()).toEqual(['off', 'allow_list']);
    expect(await read()).toContain('at a trusted host');
  });

  test('adds a client by the address of its document, shows where it comes from, verifies and disables it', async () => {
    await settings({ client_id_metadata_documents: 'open', client_id_metadata_hosts: [] });
    const one = await administrator();
    const known = documents.publish(fresh(), { client_name: 'Known by document' });
    const form = '/dashboard/clients/new?application_type=document';
    const refused = await one.submit(form, { client_id_metadata_uri: fresh() }, '/dashboard/clients');
    expect([refused.status, (await refused.text()).includes('document not found')]).toEqual([422, true]);
    const made = await one.submit(form, { client_id_metadata_uri: known.id }, '/dashboard/clients');
    expect([made.status, made.headers.get('location')?.startsWith(`/dashboard/clients/${encodeURIComponent(known.id)}`)]).toEqual([
      303,
      true,
    ]);
    const page = await (await one.get(`/dashboard/clients/${encodeURIComponent(known.id)}`)).text();
    expect(page).toContain('Client ID metadata document');
    const stranger = documents.publish(fresh(), { client_name: 'Stranger by document' });
    await allowCode(browser, stranger, { scope: 'openid' });
    const list = await (await one.get('/dashboard/self_registered_clients')).text();
    expect(list).toContain('Stranger by document');
    expect(list).not.toContain('Known by document');
    const _csrf = csrfOf(list);
    await one.post(`/dashboard/self_registered_clients/${encodeURIComponent(stranger.id)}/disable`, { _csrf });
    await one.post(`/dashboard/self_registered_clients/${encodeURIComponent(stranger.id)}/verify`, { _csrf });
    expect(await service.deps.db.knex('clients').where({ id: stranger.id }).first()).toMatchObject({ status: 'disabled', verified: true });
  });
});

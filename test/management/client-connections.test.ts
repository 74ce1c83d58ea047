// The connections of a client: which ways to sign in are offered to whoever comes from it.
import { expect, test } from 'vitest';
import { offeredConnections } from '../../src/domain/connections/client-connections.js';
import { addClientConnections, listConnectionIdsOfClient, removeClientConnections } from '../../src/db/tables/client_connections.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { authorizeQuery } from '../support/authorize.js';
import { Browser } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient, type TestClient } from '../support/data.js';
import { Api, links, manage, managementClient, managementToken, secondEnvironment, type Document } from '../support/management.js';
import { publishedDocument } from '../support/openapi.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url));
const first = shared(() => addConnection(ctx, { display_name: 'First Corporation', domains: ['first.example'] }));
const second = shared(() => addConnection(ctx, { display_name: 'Second Corporation', domains: ['second.example'] }));

const at = (client: { id: string }) => `/clients/${client.id}/relationships/connections`;
const given = async (client: { id: string }) => ((await api.get(at(client))).body['data'] as Document[]).map(({ id }) => id).sort();
const ids = (...connections: ConnectionRow[]) => connections.map(({ id }) => id).sort();

test('set at creation, replaced by PATCH, changed through the relationship URL; read back in every way', async () => {
  const created = await api.create(
    'clients',
    { name: 'Shop', redirect_uris: ['https://shop.example/cb'] },
    { connections: links('connection', first.id) },
  );
  const client = { id: created['id'] as string };
  expect(await given(client)).toEqual(ids(first));
  const read = await api.get(`/clients/${client.id}?include=connections&fields[connection]=name&fields[client]=connections`);
  expect(read.body['data'].relationships.connections.data).toEqual([{ type: 'connection', id: first.id }]);
  expect(read.body['included']).toMatchObject([{ type: 'connection', id: first.id, attributes: { name: first.name } }]);
  expect((await api.get(`/clients/${client.id}/connections`)).body['data'].map(({ id }: Document) => id)).toEqual([first.id]);
  expect((await api.get(`/clients?filter[connection]=${first.id}`)).body['data'].map(({ id }: Document) => id)).toEqual([client.id]);

  const relationships = { connections: links('connection', second.id) };
  const replaced = await api.patch(`/clients/${client.id}`, { data: { type: 'client', id: client.id, relationships } });
  expect([replaced.status, replaced.body['data'].meta.version, await given(client)]).toEqual([200, 3, ids(second)]);

  for (let turn = 0; turn < 2; turn++) expect((await api.post(at(client), links('connection', first.id))).status).toBe(204);
  expect(await given(client)).toEqual(ids(first, second));
  for (let turn = 0; turn < 2; turn++) expect((await api.delete(at(client), links('connection', second.id))).status).toBe(204);
  expect(await given(client)).toEqual(ids(first));
  expect((await api.patch(at(client), links('connection', first.id, second.id))).status).toBe(204);
  expect(await given(client)).toEqual(ids(first, second));
  expect((await api.get(`/clients/${client.id}`)).body['data'].meta.version).toBe(6);
  const log = (await api.get(`/audit_logs?filter[target]=${client.id}&filter[action]=client.updated&sort=occurred_at`)).body[
    'data'
  ] as Document[];
  expect(log[0]?.['attributes'].changes).toMatchObject({ connections: [[first.id], [second.id]] });
});

test('a change is an event for those who listen', async () => {
  await api.create('webhooks', { name: 'W', url: 'http://127.0.0.1:49151/', events: ['client.updated'] });
  const client = await addClient(ctx);
  await api.post(at(client), links('connection', first.id));
  const event = (await ctx.scope.knex('events').where({ event_type: 'client.updated' }).orderBy('id', 'desc').first()) as { body: string };
  expect(JSON.parse(event.body)).toMatchObject({ data: { id: client.id, previous_attributes: { connections: [] } } });
});

test('refused: what is no connection, what does not exist, who may not', async () => {
  const client = await addClient(ctx);
  const { api: other } = await secondEnvironment(api);
  const foreign = await other.create('connections', {
    name: 'theirs',
    display_name: 'Theirs',
    strategy: 'oidc',
    provider_client_id: 'x',
    issuer: 'https://idp.example',
  });
  const attempts: [unknown, number][] = [
    [links('role', first.id), 409], [links('connection', '00000000-0000-7000-8000-000000000000'), 404], [links('connection', foreign['id']), 404],
    [links('connection', 'x'), 404], [{ data: null }, 400], [{ data: { type: 'connection', id: first.id } }, 400], [{}, 400],
  ]; // prettier-ignore
  for (const [body, status] of attempts) expect([body, (await api.post(at(client), body)).status]).toEqual([body, status]);
  const reader = new Api(service.url, await managementToken(service.url, managementClient, { scope: 'clients:read' }));
  expect((await reader.post(at(client), links('connection', first.id))).status).toBe(403);
  expect((await reader.get(`/clients/${client.id}/connections`)).status).toBe(403);
  expect((await other.post(at(client), links('connection', foreign['id']))).status).toBe(404);
  expect(await given(client)).toEqual([]);
});

/** The page that whoever comes from the client signs in at, and where it leads back to. */
async function signInPage(client: TestClient): Promise<{ html: string; browser: Browser; return_to: string }> {
  const browser = new Browser(service.url);
  const sent = await browser.get(`/oauth/authorize?${authorizeQuery(client)}`);
  const location = new URL(sent.headers.get('location') ?? '', service.url);
  return {
    html: await (await browser.get(location.pathname + location.search)).text(),
    browser,
    return_to: location.searchParams.get('return_to') ?? '',
  };
}

test('the pages offer what the client was given, and all when it was given none', async () => {
  const client = await addClient(ctx);
  const all = await signInPage(client);
  for (const one of [first, second]) expect(all.html).toContain(`/auth/sso/${one.id}`);
  await api.patch(at(client), links('connection', first.id));
  const { html, browser, return_to } = await signInPage(client);
  expect([html.includes(first.id), html.includes(second.id)]).toEqual([true, false]);
  const register = await (await browser.get(`/register?${new URLSearchParams({ return_to })}`)).text();
  expect([register.includes(first.id), register.includes(second.id)]).toEqual([true, false]);
  expect(await (await new Browser(service.url).get('/login')).text()).toContain(second.id);
});

test('a connection that the client does not offer is not there for who signs in for it, nor is it found by the address', async () => {
  const client = await addClient(ctx);
  await api.patch(at(client), links('connection', first.id));
  const { browser, return_to } = await signInPage(client);
  const start = async (connection: ConnectionRow, query: Record<string, string>) =>
    (await browser.get(`/auth/sso/${connection.id}?${new URLSearchParams(query)}`)).status;
  expect([await start(second, { return_to }), (await start(first, { return_to })) === 404, (await start(second, {})) === 404]).toEqual([
    404,
    false,
    false,
  ]);
  const byAddress = async (email: string) => {
    const response = await fetch(`${service.url}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: service.url },
      body: JSON.stringify({ email, password: '', return_to }),
    });
    return (await response.json()) as Record<string, unknown>;
  };
  expect((await byAddress('ada@first.example'))['redirect_to']).toContain(first.id);
  expect((await byAddress('ada@second.example'))['error']).toBe('invalid_credentials');
});

test('a connection that is deleted or disabled leaves the list; table functions stay in their environment', async () => {
  const client = await addClient(ctx);
  const [gone, off] = [await addConnection(ctx), await addConnection(ctx)];
  await api.patch(at(client), links('connection', gone.id, off.id));
  await api.update('connections', off.id, { status: 'disabled' });
  expect((await offeredConnections(ctx, client.id)).map(({ id }) => id)).toEqual([gone.id]);
  const elsewhere = await service.contextOf((await secondEnvironment(api, 'third')).id);
  await removeClientConnections(elsewhere.scope, client.id, [gone.id]);
  expect(await listConnectionIdsOfClient(elsewhere.scope, client.id)).toEqual([]);
  await expect(addClientConnections(elsewhere.scope, client.id, [gone.id])).rejects.toMatchObject({ sqlstate: '23503' });
  expect((await listConnectionIdsOfClient(ctx.scope, client.id)).length).toBe(2);
  expect((await api.delete(`/connections/${gone.id}`)).status).toBe(204);
  expect(await given(client)).toEqual([off.id]);
  expect((await api.delete(`/clients/${client.id}`)).status).toBe(204);
});

test('every exchange of this file is as the OpenAPI document says', async () =>
  expect((await publishedDocument(service.url)).problemsOf(api.exchanges)).toEqual([]));

// When clients were last used: noted in memory, written now and then, by any number of replicas.
import { beforeAll, expect, test } from 'vitest';
import { flushClientUse } from '../../../src/domain/clients/use.js';
import { createContext } from '../../../src/domain/context.js';
import { findClient, noteClientUse } from '../../../src/db/tables/clients.js';
import { createKnex } from '../../../src/db/connection/knex.js';
import { createTestDatabase } from '../../support/database.js';
import { addClient, addEnvironment, addGrant, addResource, type TestClient } from '../../support/data.js';
import { manage } from '../../support/management.js';
import { oauthPost, tokenRequest } from '../../support/oauth.js';
import { startTestService } from '../../support/service.js';
import { shared, sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

beforeAll(async () => {
  await addResource(await service.context());
});

async function machine(): Promise<TestClient> {
  const ctx = await service.context();
  const client = await addClient(ctx, { grant_types: ['client_credentials'] });
  const resource = await ctx.scope.knex('api_resources').where({ identifier: 'https://api.example/notes' }).first();
  await addGrant(ctx, client, resource);
  return client;
}

const ask = (client: { id: string; client_secret: string }, origin = service.url) =>
  tokenRequest(origin, client, { grant_type: 'client_credentials', resource: 'https://api.example/notes' });
const shown = async (client: TestClient) => (await api.get(`/clients/${client.id}`)).body['data'];

test('a token request and an introspection are noted; a wrong secret is not', async () => {
  const client = await machine();
  expect((await ask({ ...client, client_secret: 'wrong' })).status).toBe(401);
  await flushClientUse(service.deps);
  expect((await shown(client)).attributes.last_used_at).toBeNull();
  const before = service.clock.now().toISOString();
  expect((await ask(client)).status).toBe(200);
  await flushClientUse(service.deps);
  const first = (await shown(client)).attributes.last_used_at as string;
  expect(first >= before && first <= service.clock.now().toISOString()).toBe(true);
  service.clock.advance(60_000);
  expect((await oauthPost(service.url, '/oauth/introspect', client, { token: 'at_unknown' })).status).toBe(200);
  await flushClientUse(service.deps);
  expect(Date.parse((await shown(client)).attributes.last_used_at) - Date.parse(first)).toBeGreaterThanOrEqual(60_000);
});

test('neither version nor updated_at move, and nobody forgets the clients that it remembers', async () => {
  const client = await machine();
  const { attributes, meta } = await shown(client);
  const changes = () => service.deps.db.knex('cache_changes').where({ kind: 'clients' }).count();
  const before = await changes();
  await ask(client);
  await flushClientUse(service.deps);
  const after = await shown(client);
  expect(after.attributes.last_used_at).not.toBeNull();
  expect([after.meta, after.attributes.updated_at, await changes()]).toEqual([meta, attributes.updated_at, before]);
  await api.update('clients', client.id, { name: 'Renamed' });
  expect(await changes()).not.toEqual(before);
});

test('replicas write in any order: the latest time stays; the same id elsewhere and clients that are gone are left alone', async () => {
  const client = await machine();
  const other = await addEnvironment(service.deps, 'other');
  const twin = await addClient(other, { id: client.id });
  const [early, late] = [new Date('2026-01-01T00:00:00.000Z'), new Date('2026-01-01T00:00:30.500Z')];
  const { id: environment_id } = (await service.context()).environment;
  const note = (at: Date) =>
    noteClientUse(service.deps.db.knex, [
      { environment_id, client_id: client.id, at },
      { environment_id, client_id: 'gone', at },
    ]);
  await note(late);
  await note(early);
  await Promise.all([early, late, early].map(note));
  expect((await findClient((await service.context()).scope, client.id))?.last_used_at).toEqual(late);
  expect((await findClient(other.scope, twin.id))?.last_used_at).toBeNull();
});

test('what could not be written is written the next time', async () => {
  const client = await machine();
  await ask(client);
  const closed = createKnex({ url: service.databaseUrl, poolMax: 1, logger: service.deps.logger });
  await closed.destroy();
  const broken = { ...service.deps, db: { knex: closed, replica: null, report: null } };
  await expect(flushClientUse(broken)).rejects.toThrow();
  expect((await shown(client)).attributes.last_used_at).toBeNull();
  await flushClientUse(service.deps);
  expect((await shown(client)).attributes.last_used_at).not.toBeNull();
});

test('a graceful stop writes what is left', async () => {
  const database = await createTestDatabase();
  const storage = { url: database.url, secretKey: service.secretKey };
  const first = await startTestService({}, { database: storage });
  const client = await addClient(await first.context());
  await oauthPost(first.url, '/oauth/introspect', client, { token: 'at_unknown' });
  await first.stop();
  const second = await startTestService({}, { database: storage });
  const { environment } = await second.context();
  expect((await findClient(createContext(second.deps, environment).scope, client.id))?.last_used_at).not.toBeNull();
  await second.stop();
  await database.drop();
});

// Clients that are known by a document alone and come with an identity assertion: nobody has registered them, and no person is asked.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { jwtBearerGrantType, jwtDpopGrantType } from '../../src/lib/grant-types.js';
import { apiIdentifier, bring, changed, scripted, sharedAssertionWorld } from '../support/assertions.js';
import { startDocumentServer, type DocumentServer } from '../support/client-documents.js';
import type { TestClient } from '../support/data.js';
import { claimsOf } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { startTestService } from '../support/service.js';
import { createClientKey } from '../support/signed-jwt.js';

let documents: DocumentServer;
const service = sharedService(async () => {
  documents = await startDocumentServer();
  return startTestService({}, { overrides: { fetch: documents.fetch } });
});
const world = sharedAssertionWorld(service);
afterAll(() => world.issuer.close());
afterAll(() => documents?.close());

let count = 0;
const grant_types = ['authorization_code', jwtBearerGrantType, jwtDpopGrantType];
const publish = (members: Record<string, unknown> = {}, host?: string): TestClient =>
  documents.publish(documents.url(`/agents/${(count += 1)}.json`, host), { grant_types, ...members });
const byKey = { grant_type: jwtDpopGrantType };
const isStored = async ({ id }: TestClient) => (await world.b.db.knex('clients').where({ id })).length === 1;
const fetches = ({ id }: TestClient) => documents.requests.filter(({ target }) => target.endsWith(new URL(id).pathname)).length;
const brought = async (client: TestClient, claims: Record<string, unknown> = {}, fields: Record<string, string> = {}) => {
  const { status, body } = await bring(
    service,
    world,
    await scripted(world, { client_id: client.id, ...claims }),
    { ...byKey, ...fields },
    { client },
  );
  return { status, error: body.error, body };
};
const admit = async (client_id_metadata_documents: string, hosts: string[]) => {
  const changes = { client_id_metadata_documents, client_id_metadata_hosts: hosts };
  await world.b.db.knex('environments').where({ id: world.b.environment.id }).update(changes);
  world.b.cache.invalidate(world.b.environment.id, 'environments');
};

beforeEach(async () => {
  await admit('allow_list', ['client.example']);
  await changed(world.b, 'api_resources', { id: world.api.id }, { assertion_access: 'verified', user_access: 'open' });
  await changed(world.b, 'connections', { id: world.theirs.id }, { assertion_clients: 'any' });
});

test('one of a listed host gets its row with its first assertion, and a token', async () => {
  const client = publish();
  const { status, body } = await brought(client);
  expect([status, body]).toEqual([200, expect.objectContaining({ scope: 'read' })]);
  expect(claimsOf(body.access_token)).toMatchObject({ client_id: client.id, aud: apiIdentifier, sub: world.person.id });
  expect(await isStored(client)).toBe(true);
  expect((await brought(client)).status).toBe(200);
  expect(fetches(client)).toBe(1);
});

test('without an assertion that names it nothing is fetched, and nothing stored (attack 52.1562)', async () => {
  const client = publish();
  const now = Math.floor(service.clock.now().getTime() / 1000);
  const wrong = [
    { client_id: world.client.id }, { aud: 'https://other.example' }, { aud: [world.b.environment.issuer, 'https://other.example'] }, { tenant: 'theirs' },
    { aud_tenant: 'theirs' }, { iat: now - 400, exp: now - 100 }, { iat: now, exp: now + 86_400 }, { iss: 'https://other.example' }, { jti: '' },
  ]; // prettier-ignore
  for (const claims of wrong) expect(await brought(client, claims)).toMatchObject({ status: 401, error: 'invalid_client' });
  for (const assertion of ['', 'no.jwt.atall']) expect((await bring(service, world, assertion, byKey, { client })).status).toBe(401);
  expect([fetches(client), await isStored(client)]).toEqual([0, false]);
});

test('of another host, or where documents are off, it is unknown, and not fetched', async () => {
  const client = publish({}, 'other.example');
  for (const policy of ['allow_list', 'open', 'off']) {
    await admit(policy, policy === 'off' ? ['other.example'] : ['client.example']);
    expect(await brought(client)).toMatchObject({ status: 401, error: 'invalid_client' });
  }
  expect([fetches(client), await isStored(client)]).toEqual([0, false]);
});

test.each(['https://', 'https://[', 'https://client.example', 'https://client.example/%zz'])(
  'an id that is no address of a document is unknown: %s (attack 52.1563)',
  async (id) => {
    const answer = await fetch(`${service.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...byKey, client_id: id, assertion: await scripted(world, { client_id: id }) }),
    });
    expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([401, 'invalid_client']);
  },
);

test('is read anew when the time of its document is over, and ends with it (attack 52.1564, specification 5.26.6)', async () => {
  const client = publish();
  expect((await brought(client)).status).toBe(200);
  const outdated = () => changed(world.b, 'clients', { id: client.id }, { document_fresh_until: new Date(0) });
  await outdated();
  expect([(await brought(client)).status, fetches(client)]).toEqual([200, 2]);
  await outdated();
  documents.serve(client.id, (_req, res) => void res.writeHead(410).end());
  expect(await brought(client)).toMatchObject({ status: 401, error: 'invalid_client' });
  await outdated();
  expect(await brought(client, { aud: 'https://other.example' })).toMatchObject({ status: 401, error: 'invalid_client' });
  expect(fetches(client)).toBe(3);
});

test('whose document does not have the grant type, or is none, gets nothing', async () => {
  expect(await brought(publish({ grant_types: ['authorization_code'] }))).toMatchObject({ status: 400, error: 'unauthorized_client' });
  const secret = publish({ client_secret: 'everybody’s' });
  expect(await brought(secret)).toMatchObject({ status: 401, error: 'invalid_client' });
  expect(await isStored(secret)).toBe(false);
});

test('that an administrator has disabled stays so', async () => {
  const client = publish();
  expect((await brought(client)).status).toBe(200);
  await changed(world.b, 'clients', { id: client.id }, { status: 'disabled' });
  expect(await brought(client)).toMatchObject({ status: 401, error: 'invalid_client' });
});

test('with a key of its own proves itself by that', async () => {
  const key = await createClientKey('ES256');
  const client = publish({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.jwk] } });
  const iat = Math.floor(service.clock.now().getTime() / 1000);
  const self = { iss: client.id, sub: client.id, aud: world.b.environment.issuer, jti: randomUUID(), iat, exp: iat + 60 };
  const open = { ...client, token_endpoint_auth_method: 'none' } as TestClient;
  const proof = (client_assertion: string) => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion,
  });
  expect(await brought(open)).toMatchObject({ status: 401, error: 'invalid_client' });
  expect((await brought(open, {}, { grant_type: jwtBearerGrantType, ...proof(await key.sign(self)) })).status).toBe(200);
});

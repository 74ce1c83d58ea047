// Workload identity in configuration documents: trusted issuers, and the federated credentials of clients.
import { beforeAll, expect, test } from 'vitest';
import { applied, apply, exported, plan, problemsOf, told } from '../../support/configuration.js';
import { manage, type Api, type Document } from '../../support/management.js';
import { sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
let api: Api;
beforeAll(async () => void (api = await manage(service.url)));

const issuer = { issuer: 'https://ci.example', name: 'CI', jwks_uri: 'https://ci.example/keys' };
const main = { trusted_issuer: 'https://ci.example', claims: { sub: 'repo:acme/shop:ref:refs/heads/main' } };
const tags = { trusted_issuer: 'https://ci.example', claims: { sub: { prefix: 'repo:acme/shop:ref:refs/tags/' } } };
const client = { client_id: 'deploy', name: 'Deployment', application_type: 'machine', grant_types: ['client_credentials'], token_endpoint_auth_method: 'private_key_jwt' }; // prettier-ignore
const document = (federated_credentials: object[], more: Document = {}): Document => ({
  version: 1,
  trusted_issuers: [issuer],
  clients: [{ ...client, federated_credentials }],
  ...more,
});
const credentials = async () => ((await api.get('/federated_credentials?sort=created_at')).body['data'] ?? []) as Document[];
const changeOf = (meta: Document, kind: string) => (meta['changes'] as Document[]).find((one) => one['kind'] === kind)?.['attributes'];

test('issuers and the credentials that rest on them are applied together, and again without a change', async () => {
  const planned = await plan(api, document([main, tags]));
  expect(told(planned)).toEqual(['create trusted_issuer https://ci.example', 'create client deploy']);
  expect(await credentials()).toEqual([]);
  const meta = await applied(api, document([main, tags]));
  expect(changeOf(meta, 'client')?.federated_credentials).toEqual([null, [main, tags]]);
  const before = await credentials();
  expect(before.map(({ attributes }) => attributes.claims)).toEqual([main.claims, tags.claims]);
  const again = await applied(api, document([tags, main, { ...main, audience: before[0]?.['attributes'].audience }]));
  expect([again['changes'], again['state']]).toEqual([[], meta['state']]);
  expect(await credentials()).toEqual(before);
  const own = ((await exported(api))['clients'] as Document[]).find(({ client_id }) => client_id === 'deploy');
  expect(own?.['federated_credentials']).toEqual([main, tags]);
});

test('the list is replaced as a whole: what is narrowed leaves no wider one behind, and what is absent is left alone', async () => {
  await applied(api, document([tags]));
  const narrowed = { ...tags, claims: { ...tags.claims, environment: 'production' } };
  const meta = await applied(api, document([narrowed]));
  expect(told({ body: { meta } } as never)).toEqual(['update client deploy']);
  expect(changeOf(meta, 'client')).toEqual({ federated_credentials: [[tags], [narrowed]] });
  expect((await credentials()).map(({ attributes }) => attributes.claims)).toEqual([narrowed.claims]);
  expect((await applied(api, { version: 1, clients: [client] }))['changes']).toEqual([]);
  const drifted = (await credentials())[0]?.['id'] as string;
  await api.update('federated_credentials', drifted, { audience: 'elsewhere' });
  await applied(api, document([narrowed]));
  await api.delete(`/federated_credentials/${(await credentials())[0]?.['id']}`);
  const found = (await api.get('/config/drift')).body['meta'].changes as Document[];
  expect(found.map(({ kind, attributes }) => [kind, attributes])).toEqual([['client', { federated_credentials: [[narrowed], []] }]]);
});

test('what is wrong is told at its place, and nothing is done', async () => {
  await applied(api, document([main]));
  const before = await credentials();
  const broad = { trusted_issuer: 'https://ci.example', claims: { sub: { prefix: 'repo:' } } };
  const place = '/meta/document/clients/0/federated_credentials';
  const unknown = await apply(api, document([{ ...main, trusted_issuer: 'https://nobody.example' }]));
  expect(problemsOf(unknown)).toEqual([`related_not_found ${place}/0/trusted_issuer`]);
  expect(problemsOf(await apply(api, document([main, broad])))[0]).toContain(`${place}/1/claims/sub`);
  const anonymous = { trusted_issuer: 'https://ci.example', claims: { ref: 'main' } };
  expect(problemsOf(await apply(api, document([anonymous])))[0]).toContain(`${place}/0/claims`);
  const secret = {
    version: 1,
    clients: [{ client_id: 'secretive', name: 'S', application_type: 'machine', federated_credentials: [main] }],
  };
  expect(problemsOf(await apply(api, secret))).toEqual([`auth_method_not_allowed ${place}/0`]);
  expect(problemsOf(await apply(api, document([{ ...main, audiences: 'x' }])))).toEqual([`unknown_member ${place}/0/audiences`]);
  expect(await credentials()).toEqual(before);
});

test('a client that is to have none can have a secret in the same document', async () => {
  await applied(api, document([main]));
  const changed = {
    ...client,
    token_endpoint_auth_method: 'client_secret_basic',
    client_secret: { env: 'DEPLOY' },
    federated_credentials: [],
  };
  const secrets = { 'env:DEPLOY': 'a-secret-of-more-than-thirty-two-characters' };
  const meta = await applied(api, { version: 1, clients: [changed] }, { secrets });
  expect(changeOf(meta, 'client')).toMatchObject({ federated_credentials: [[main], []] });
  expect(await credentials()).toEqual([]);
});

test('pruning deletes issuers that the document doesn’t have, but none that proves who applies it', async () => {
  await applied(api, document([main], { trusted_issuers: [issuer, { issuer: 'https://old.example', name: 'Old' }] }));
  const pruned = await plan(api, document([main]), { prune: true });
  expect(told(pruned)).toContain('delete trusted_issuer https://old.example');
  expect(told(pruned)).not.toContain('delete trusted_issuer https://ci.example');
});

test('takes the permissions for both: to see them, and to change what changes (attack 33.803)', async () => {
  await applied(api, document([main]));
  const common = 'environments:read clients:read clients:write connections:read';
  const blind = await manage(service.url, common);
  const refused = await plan(blind, { version: 1, clients: [{ ...client, federated_credentials: [] }] });
  expect([refused.status, refused.body['errors'][0].meta.required]).toEqual([
    403,
    ['clients:read', 'connections:read', 'federated_credentials:read', 'trusted_issuers:read'],
  ]);
  expect((await plan(blind, { version: 1, clients: [client] })).status).toBe(200);
  const reading = await manage(service.url, `${common} federated_credentials:read trusted_issuers:read`);
  for (const list of [[], [main, tags]]) {
    const answer = await apply(reading, { version: 1, clients: [{ ...client, federated_credentials: list }] });
    expect([answer.status, answer.body['errors'][0].meta.required]).toEqual([403, ['federated_credentials:write']]);
  }
  expect((await credentials()).length).toBe(1);
});

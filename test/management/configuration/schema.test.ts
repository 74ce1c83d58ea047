// The JSON Schema of configuration documents: published to anybody, and as strict as the service itself.
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { beforeAll, expect, test } from 'vitest';
import { exported, shopDocument } from '../../support/configuration.js';
import { manage, type Document } from '../../support/management.js';
import { sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
let fits: (document: unknown) => boolean;

beforeAll(async () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  const schema = (await (await fetch(`${service.url}/api/config/schema.json`)).json()) as Document;
  expect(schema['$schema']).toBe('https://json-schema.org/draft/2020-12/schema');
  fits = ajv.compile(schema);
});

test('it needs no login, may be read by any site and cached, and takes no other method (specification 15.1.12)', async () => {
  const address = `${service.url}/api/config/schema.json`;
  const answer = await fetch(address);
  const header = (name: string) => answer.headers.get(name);
  expect([answer.status, header('content-type'), header('access-control-allow-origin'), header('cache-control')]).toEqual([
    200,
    'application/json',
    '*',
    'public, max-age=300',
  ]);
  const again = await fetch(address, { headers: { 'if-none-match': header('etag') as string } });
  expect([again.status, again.headers.get('access-control-allow-origin')]).toEqual([304, '*']);
  expect((await fetch(address, { method: 'POST' })).status).toBe(405);
  expect((await fetch(`${service.url}/api/config`)).status).toBe(401);
});

test('what is exported fits, and what is refused does not', async () => {
  expect(fits(shopDocument)).toBe(true);
  expect(fits(await exported(await manage(service.url)))).toBe(true);
  const client = { client_id: 'x', name: 'X' };
  const wrong: unknown[] = [
    {},
    { version: 2 },
    { version: 1, client: [] },
    { version: 1, clients: [{ name: 'X' }] },
    { version: 1, clients: [{ ...client, client_id: 'with space' }] },
    { version: 1, clients: [{ ...client, client_secret: 'in the document' }] },
    { version: 1, clients: [{ ...client, redirect_uri: [] }] },
    { version: 1, environment: { slug: 'x' } },
    { version: 1, roles: [{ name: 'x', permissions: [{ api_resource: 'management' }] }] },
  ];
  for (const document of wrong) expect([document, fits(document)]).toEqual([document, false]);
  expect(fits({ version: 1, environment: { otp_lifetime: null }, clients: [{ ...client, grant_types: null }] })).toBe(true);
});

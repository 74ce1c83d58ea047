import { createConfig, lintFromString } from '@redocly/openapi-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventTypes } from '../../src/core/events/catalogue.js';
import { createOpenApi } from '../../src/management/openapi/document.js';
import { registry, resources } from '../../src/management/resources/index.js';
import { manage, startManagedService, type Api, type Document } from '../support/management.js';
import type { TestService } from '../support/service.js';

let service: TestService;
let api: Api;
let document: Document;

beforeAll(async () => {
  service = await startManagedService();
  api = await manage(service.url);
  const answer = await fetch(`${service.url}/api/openapi.json`);
  document = (await answer.json()) as Document;
});
afterAll(() => service?.stop());

test('the document needs no token, may be cached, and is found from every answer', async () => {
  const answer = await fetch(`${service.url}/api/openapi.json`);
  expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
    200,
    'application/json',
    'public, max-age=300',
  ]);
  const again = await fetch(`${service.url}/api/openapi.json`, { headers: { 'if-none-match': answer.headers.get('etag') as string } });
  expect(again.status).toBe(304);
  expect((await fetch(`${service.url}/api/openapi.json`, { method: 'POST' })).status).toBe(405);
  expect((await api.get('/roles')).body['links'].describedby).toBe(`${service.url}/api/openapi.json`);
});

test('an OpenAPI linter finds nothing', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const published = createOpenApi(registry)({ base_url: 'https://id.acme.org', issuer: 'https://id.acme.org' });
  const problems = await lintFromString({ source: JSON.stringify(published), config });
  expect(problems.map((problem) => `${problem.ruleId}: ${problem.message} at ${problem.location[0]?.pointer ?? ''}`)).toEqual([]);
});

test('every resource and every event type is described', () => {
  expect(document['openapi']).toBe('3.1.0');
  for (const resource of resources.filter((one) => one.routed !== false))
    expect(document['paths']).toHaveProperty([`/api/${resource.path}`]);
  expect(Object.keys(document['webhooks']).sort()).toEqual([...eventTypes].sort());
});

test('operation ids are unique, and every operation names its permission', () => {
  const operations = Object.values(document['paths'] as Document).flatMap((item) => Object.values(item as Document));
  const ids = operations.map((operation) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const operation of operations) expect(operation.security[0].oauth2.length).toBeGreaterThan(0);
});

import { createConfig, lintFromString } from '@redocly/openapi-core';
import { beforeAll, expect, test } from 'vitest';
import { eventTypes } from '../../src/domain/events/catalogue.js';
import { createOpenApi, createPublishedOpenApi } from '../../src/management/openapi/document.js';
import { registry, resources } from '../../src/management/resources/index.js';
import { manage, type Api, type Document } from '../support/management.js';
import type {} from '../support/service.js';
import { sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let api: Api;
let document: Document;

beforeAll(async () => {
  api = await manage(service.url);
  const answer = await fetch(`${service.url}/api/openapi.json`);
  document = (await answer.json()) as Document;
});

test('the document needs no token, may be cached, and is found from every answer', async () => {
  const answer = await fetch(`${service.url}/api/openapi.json`);
  expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
    200,
    'application/json',
    'public, max-age=300',
  ]);
  const again = await fetch(`${service.url}/api/openapi.json`, { headers: { 'if-none-match': answer.headers.get('etag') as string } });
  expect([again.status, again.headers.get('cache-control'), await again.text()]).toEqual([304, 'public, max-age=300', '']);
  expect((await fetch(`${service.url}/api/openapi.json`, { method: 'POST' })).status).toBe(405);
  expect((await api.get('/roles')).body['links'].describedby).toBe(`${service.url}/api/openapi.json`);
});

test('it is built once for an environment, not for each request; only so many are kept (attack 15.261)', () => {
  const published = createPublishedOpenApi(registry);
  const at = (number: number) => ({ base_url: `https://${number}.example`, issuer: `https://${number}.example` });
  const first = published(at(0));
  expect(published(at(0))).toBe(first);
  expect(JSON.parse(first.body)).toMatchObject({ servers: [{ url: 'https://0.example' }] });
  expect(published(at(1)).etag).not.toBe(first.etag);
  for (let number = 1; number <= 20; number++) published(at(number));
  expect(published(at(0))).not.toBe(first);
});

test('what environments share is built once, however many of them are asked for at first (attack 15.261)', () => {
  const documentOf = createOpenApi(registry);
  const [one, other] = ['one', 'other'].map((name) =>
    documentOf({ base_url: `https://${name}.example`, issuer: `https://${name}.example/id` }),
  );
  expect(other?.paths).toBe(one?.paths);
  expect(other?.webhooks).toBe(one?.webhooks);
  expect(other?.components?.schemas).toBe(one?.components?.schemas);
  expect([one, other].map((document) => document?.servers?.[0]?.url)).toEqual(['https://one.example', 'https://other.example']);
  expect(JSON.stringify(one)).toContain('https://one.example/id/oauth/token');
  expect(JSON.stringify(other)).not.toContain('https://one.example');
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

// What an integrator tries first, and with which client: the fifteen first calls, kitsu, the limit of requests, malformed HTTP.
import Kitsu from 'kitsu';
import { expect, test } from 'vitest';
import { shared, sharedService, sharedManagedService } from '../support/shared-service.js';
import { Api, manage, startManagedService, type Document } from '../support/management.js';
import { publishedDocument } from '../support/openapi.js';
import { processorMs } from '../support/processor-time.js';

const attributes = { name: 'Orders', url: 'http://127.0.0.1:49151/hook', events: ['user.created'] };

const service = sharedManagedService();
const limited = sharedService(() => startManagedService({ RATE_LIMITS: 'on', RATE_LIMIT_STORE: 'memory' }));
const api = shared(() => manage(service.url));

const createWebhook = (given: Document = attributes) => api.attempt('webhooks', given);

test('a webhook is created: 201, Location, the secret once; GET and list never show it (attack 15.178)', async () => {
  const created = await createWebhook();
  expect([created.status, created.headers.get('cache-control')]).toEqual([201, 'no-store']);
  expect(created.headers.get('location')).toBe(created.body['data'].links.self);
  expect(created.body['data'].attributes.signing_secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const { id } = created.body['data'];
  for (const path of [`/webhooks/${id}`, '/webhooks', `/webhooks/${id}?fields[webhook]=name`, `/audit_logs?filter[target]=${id}`]) {
    expect((await api.get(path)).text).not.toContain('whsec_');
  }
});

test('rotate_secret: with the media type and no body, without any header, with a body: a new secret each time', async () => {
  const { id } = (await createWebhook()).body['data'];
  const address = `/webhooks/${id}/rotate_secret`;
  const answers = [
    await api.patch(address, undefined, { 'content-type': 'application/vnd.api+json' }),
    await api.patch(address),
    await api.patch(address, { data: null }),
    await api.patch(address, { data: { type: 'webhook', id } }),
  ];
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200]);
  expect(new Set(answers.map((answer) => answer.body['data'].attributes.signing_secret)).size).toBe(4);
});

test('events that are unknown, doubled, too many or nested, a url that is a number and a name of 200 kB are refused (attack 15.177)', async () => {
  const cases: [Document, string][] = [
    [{ ...attributes, events: ['user.created', 'user.gone'] }, '/data/attributes/events/1'],
    [{ ...attributes, events: ['user.created', 'user.created'] }, '/data/attributes/events/1'],
    [{ ...attributes, events: [] }, '/data/attributes/events'],
    [{ ...attributes, events: Array(10_000).fill('user.created') }, '/data/attributes/events'],
    [{ ...attributes, events: [['user.created']] }, '/data/attributes/events/0'],
    [{ ...attributes, url: 7 }, '/data/attributes/url'],
    [{ ...attributes, url: 'javascript:alert(1)' }, '/data/attributes/url'],
    [{ ...attributes, name: 'n'.repeat(200_000) }, '/data/attributes/name'],
  ];
  for (const [given, pointer] of cases) {
    const answer = await createWebhook(given);
    expect([answer.status, answer.body['errors'][0].source]).toEqual([422, { pointer }]);
  }
});

test('kitsu, set up as the guide says', async () => {
  const kitsu = new Kitsu({
    baseURL: `${service.url}/api`,
    pluralize: false,
    resourceCase: 'none',
    camelCaseTypes: false,
    headers: { Authorization: `Bearer ${api.token}` },
  });
  const created = (await kitsu.request({
    method: 'POST',
    url: 'webhooks',
    type: 'webhook',
    body: { ...attributes, name: 'By kitsu' },
  } as never)) as { data: Document };
  const { id } = created.data;
  const listed = (await kitsu.get('webhooks', { params: { filter: { search: 'by k' } } } as never)) as { data: Document[] };
  expect(listed.data.map((one) => one['name'])).toEqual(['By kitsu']);
  const renamed = (await kitsu.request({
    method: 'PATCH',
    url: `webhooks/${id}`,
    type: 'webhook',
    body: { id, name: 'Renamed' },
  } as never)) as { data: Document };
  expect(renamed.data['name']).toBe('Renamed');
  const rotated = (await kitsu.request({
    method: 'PATCH',
    url: `webhooks/${id}/rotate_secret`,
    type: 'webhook',
    body: { id },
  } as never)) as { data: Document };
  expect(rotated.data['signing_secret']).toMatch(/^whsec_/);
  await expect(kitsu.create('webhook', { name: 'x' })).rejects.toMatchObject({ errors: [{ status: '404' }] });
  await kitsu.delete('webhooks', id);
  expect((await api.get(`/webhooks/${id}`)).status).toBe(404);
});

test('the 101st request of a minute with a token is 429 with Retry-After, an errors document; another token goes on', async () => {
  const caller = await manage(limited.url);
  const answers = [];
  for (let i = 0; i < 100; i++) answers.push((await caller.get('/event_types?page[size]=1')).status);
  expect(new Set(answers)).toEqual(new Set([200]));
  const refused = await caller.get('/event_types');
  expect([refused.status, refused.headers.get('content-type'), refused.body['errors'][0].code]).toEqual([
    429,
    'application/vnd.api+json',
    'rate_limited',
  ]);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(refused.headers.get('ratelimit-limit')).toBe('100');
  expect((await new Api(limited.url, 'at_unknown').get('/users')).status).toBe(401);
});

test('guesses at tokens are counted by address: 401, and 429 beyond the limit; an address that is nothing stays 404', async () => {
  const guess = (path = '/users') => fetch(`${limited.url}/api${path}`, { headers: { authorization: 'Bearer at_guessed' } });
  const first = await guess();
  const left = Number(first.headers.get('ratelimit-remaining'));
  expect([first.status, first.headers.get('ratelimit-limit'), left > 90]).toEqual([401, '100', true]);
  for (let i = 0; i < left; i++) expect((await guess()).status).toBe(401);
  const refused = await guess();
  expect([refused.status, refused.headers.get('ratelimit-remaining')]).toEqual([429, '0']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await guess('/nothing')).status).toBe(404);
  expect((await fetch(`${limited.url}/api/users`, { method: 'PUT', headers: { authorization: 'Bearer at_guessed' } })).status).toBe(405);
});

test('no spelling of a path or method gets around the token (attack 15.180)', async () => {
  const nobody = new Api(service.url, null);
  for (const path of [
    '//users',
    '/%2e%2e/users',
    '/users/../users',
    '/users;a=b',
    '/USERS',
    '/users.',
    '/users/',
    '/users%00',
    '/users%2f',
    '/./users',
  ]) {
    const answer = await nobody.request('GET', path);
    expect([path, [401, 404].includes(answer.status), answer.body['data']]).toEqual([path, true, undefined]);
  }
  const overridden = await api.request('GET', '/roles', {
    headers: { 'x-http-method-override': 'DELETE', 'x-original-url': '/api/users' },
  });
  expect([overridden.status, overridden.body['links'].self]).toEqual([200, `${service.url}/api/roles`]);
});

test('ids and texts that can not be stored are refused (attacks 15.181 and 18.214)', async () => {
  for (const id of ['x', '%00', '%ff', '%ed%a0%80', 'x'.repeat(10_000), "'", '%20'])
    expect((await api.get(`/users/${id}`)).status).toBe(404);
  for (const query of ['filter[search]=%00', 'filter[search]=%ff', 'filter[search]=%c0%af', 'sort=%ff'])
    expect((await api.get(`/users?${query}`)).status).toBe(400);
  for (const text of ['\\u0000', '\\ud800']) {
    expect((await api.request('POST', '/roles', { raw: `{"data":{"type":"role","attributes":{"name":"a${text}b"}}}` })).status).toBe(400);
    expect(
      (
        await api.request('POST', '/users', {
          raw: `{"data":{"type":"user","attributes":{"email":"a@example.com","metadata":{"a${text}":1}}}}`,
        })
      ).status,
    ).toBe(400);
  }
});

test('deep, wide and huge documents and queries are refused at once (attacks 18.211 and 18.213)', async () => {
  const bodies = [
    '['.repeat(50_000),
    `{"data":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
    `{"data":{"type":"role","attributes":{"name":${'9'.repeat(1_000_000)}}}}`,
    `{"data":{"type":"role","attributes":{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join()}}}}`,
  ];
  for (const raw of bodies) {
    const ms = await processorMs(async () => expect([400, 413, 422]).toContain((await api.request('POST', '/roles', { raw })).status));
    expect(ms).toBeLessThan(5_000);
  }
  expect((await api.get(`/users?${'a[]=&'.repeat(3_000)}`)).status).toBe(400);
  expect((await api.get('/users?filter[email]=,,,,')).status).toBe(400);
});

test('every exchange of this file is as the OpenAPI document says', async () =>
  expect((await publishedDocument(service.url)).problemsOf(api.exchanges)).toEqual([]));

// Who sees which events of the feed.
import { expect, test } from 'vitest';
import { emitRole, follow, now, pageOf, streamOf } from '../../support/event-feed.js';
import { manage, startManagedService } from '../../support/management.js';
import { contextOf, shared, sharedService } from '../../support/shared-service.js';

const service = sharedService(() => startManagedService());
const ctx = contextOf(service);
const api = shared(() => manage(service.url));

test('events:read is needed, for pages, for one event and for streams (attack 51.1448)', async () => {
  const from = await now(api);
  await emitRole(ctx, 'one');
  const { events } = await follow(api, from, 1);
  const reader = await manage(service.url, 'roles:read');
  for (const path of ['/events', `/events/${events[0]?.['id']}`]) {
    const answer = await reader.get(path);
    expect([answer.status, answer.body['errors'][0].meta.required]).toEqual([403, ['events:read']]);
  }
  const stream = await streamOf(reader);
  await stream.ended;
  expect(stream.status).toBe(403);
});

test.each(['user_provisioned', 'user_deprovisioned'])(
  'directory.%s tells nobody of people, with their addresses, who may not read people (attack 51.1495)',
  async (what) => {
    const ask = async (scope: string) => {
      const answer = await (await manage(service.url, scope)).get(`/events?page[after]=now&filter[event_type]=directory.${what}`);
      return [answer.status, answer.body['errors']?.[0].meta.required];
    };
    expect(await ask('events:read directories:read')).toEqual([403, ['users:read']]);
    expect(await ask('events:read directories:read users:read')).toEqual([200, undefined]);
  },
);

test('events of collections that the caller may not read are left out, and named in the filter refused (attack 51.1449)', async () => {
  const reader = await manage(service.url, 'events:read clients:read');
  const from = await now(api);
  await emitRole(ctx, 'hidden');
  const { id } = await api.create('clients', { name: 'Shop', application_type: 'machine' });
  const hidden = (await follow(api, from, 3)).events[0]?.['id'] as string;
  const page = await pageOf(reader, from);
  expect(page['data'].map((one: { attributes: { payload: { data: { id: string } } } }) => one.attributes.payload.data.id)).toEqual([
    id,
    id,
  ]);
  expect((await reader.get(`/events/${hidden}`)).status).toBe(404);
  expect((await reader.get(`/events/${hidden}/environment`)).status).not.toBe(200);
  const listed = await reader.get('/events?sort=-position&page[size]=100');
  expect(new Set(listed.body['data'].map((one: { attributes: { event_type: string } }) => one.attributes.event_type))).toEqual(
    new Set(['client.created', 'client.registered']),
  );
  for (const query of ['filter[event_type]=client.created,role.created', 'sort=-position&filter[event_type]=role.created']) {
    const refused = await reader.get(`/events?${query}`);
    expect([refused.status, refused.body['errors'][0].source]).toEqual([403, { parameter: 'filter[event_type]' }]);
    expect(refused.body['errors'][0].meta.required).toContain('roles:read');
  }
  const stream = await streamOf(reader, `?page[after]=${from}`);
  await expect.poll(() => stream.events().length).toBe(2);
  expect(stream.events().map(({ event }) => event)).toEqual(['client.registered', 'client.created']);
  stream.close();
});

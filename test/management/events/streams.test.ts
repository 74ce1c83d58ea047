// The events feed as a stream (WHATWG HTML, "Server-sent events").
import { Agent, request as send } from 'undici';
import { beforeEach, describe, expect, test } from 'vitest';
import { transaction } from '../../../src/domain/context.js';
import { emit } from '../../../src/domain/events/emit.js';
import { emitRole, follow, now, openStream, streamOf } from '../../support/event-feed.js';
import { addClient } from '../../support/data.js';
import { createProofKey } from '../../support/dpop.js';
import { Api, manage, managementClient, managementToken, startManagedService } from '../../support/management.js';
import { oauthPost } from '../../support/oauth.js';
import { contextOf, shared, sharedService } from '../../support/shared-service.js';
import { roleData } from '../../support/webhooks.js';

const service = sharedService(() => startManagedService());
const ctx = contextOf(service);
const api = shared(() => manage(service.url));

/** Whether a stream has ended the service sees a moment later than who ended it. */
const noneOpen = async () => {
  await expect.poll(() => service.deps.streams.open().length).toBe(0);
};

beforeEach(noneOpen);

describe('a stream', () => {
  test('sends each event as it happens, with a cursor as its id and the bytes of the webhooks (specification 17.4.1)', async () => {
    const from = await now(api);
    const stream = await streamOf(api, '?page[after]=now');
    expect([stream.status, stream.headers['content-type'], stream.headers['cache-control']]).toEqual([
      200,
      'text/event-stream',
      'no-store',
    ]);
    await emitRole(ctx, 'live');
    await expect.poll(() => stream.events().length).toBe(1);
    const { events } = await follow(api, from, 1);
    const [event] = stream.events();
    expect(event).toEqual({ id: expect.any(String), event: 'role.created', data: events[0]?.['attributes'].payload_text });
    stream.close();
    const again = await streamOf(api, '?page[after]=oldest', { 'last-event-id': event?.id ?? '' });
    await emitRole(ctx, 'later');
    await expect.poll(() => again.events().length).toBe(1);
    expect(again.events()[0]?.data).toContain('"later"');
    again.close();
  });

  test('begins with all that is kept, in pages, then goes on live (specification 17.4.2)', async () => {
    const from = await now(api);
    await transaction(ctx, async (tx) => {
      for (let at = 0; at < 250; at++) await emit(tx, 'role.created', roleData(`many ${at}`));
    });
    await follow(api, from, 250, '&page[size]=100');
    const stream = await streamOf(api, `?page[after]=${from}`);
    await expect.poll(() => stream.events().length).toBe(250);
    await emitRole(ctx, 'the last');
    await expect.poll(() => stream.events().length).toBe(251);
    expect(stream.events().map(({ data }) => JSON.parse(data).data.name)).toEqual([
      ...Array.from({ length: 250 }, (_, at) => `many ${at}`),
      'the last',
    ]);
    stream.close();
  });

  test('has a comment every 15 seconds, which moves a reader of one type on over all others (specification 17.4.3)', async () => {
    const stream = await streamOf(api, '?page[after]=now&filter[event_type]=user.created');
    const comments = () => stream.text().split('\n:\n').length - 1;
    await expect.poll(comments).toBe(1);
    const from = await now(api);
    await emitRole(ctx, 'passed over');
    await follow(api, from, 1);
    service.clock.advance(15_000);
    await expect.poll(comments).toBe(2);
    expect(stream.events()).toEqual([]);
    const ids = [...stream.text().matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(2);
    stream.close();
  });

  test.each([
    ['an unknown parameter', '?page[size]=5', {}, 400, 'unknown_parameter'],
    ['another order', '?sort=-position', {}, 400, 'unknown_parameter'],
    ['a broken cursor', '?page[after]=abc', {}, 400, 'invalid_cursor'],
    ['a broken Last-Event-ID', '', { 'last-event-id': 'abc' }, 400, 'invalid_cursor'],
    ['an unknown event type', '?filter[event_type]=nonsense', {}, 400, 'invalid_filter'],
  ])('%s is refused before anything is streamed', async (_what, query, headers, status, code) => {
    const stream = await streamOf(api, query, headers);
    await stream.ended;
    expect([stream.status, JSON.parse(stream.text()).errors[0].code]).toEqual([status, code]);
  });

  test('is there for GET of the feed alone', async () => {
    const headers = { accept: 'text/event-stream' };
    for (const [method, path] of [
      ['GET', '/users'],
      ['HEAD', '/events'],
    ] as const)
      expect((await api.request(method, path, { headers })).status).toBe(406);
  });
});

describe('limits', () => {
  test('the eleventh stream of a subject is refused with 429, and one that is closed makes room (attack 51.1445)', async () => {
    const streams = await Promise.all(Array.from({ length: 10 }, () => streamOf(api, '?page[after]=now')));
    expect(streams.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const refused = await streamOf(api);
    await refused.ended;
    expect([refused.status, JSON.parse(refused.text()).errors[0].code, refused.headers['retry-after']]).toEqual([429, 'rate_limited', '5']);
    streams[0]?.close();
    await expect.poll(() => service.deps.streams.open().length).toBe(9);
    const next = await streamOf(api, '?page[after]=now');
    expect(next.status).toBe(200);
    for (const stream of [...streams, next]) stream.close();
  });

  test('a reader that leaves a mebibyte unread is cut off, and takes nothing from another (attack 51.1446)', async () => {
    const agent = new Agent({ bodyTimeout: 0 });
    const slow = await send(`${service.url}/api/events?page[after]=now`, {
      dispatcher: agent,
      headers: { accept: 'text/event-stream', authorization: `Bearer ${api.token}` },
    });
    slow.body.on('error', () => undefined);
    slow.body.pause();
    const quick = await streamOf(api, '?page[after]=now');
    await expect.poll(() => service.deps.streams.open().length).toBe(2);
    const long = { ...roleData('long'), description: 'x'.repeat(100_000) };
    let sent = 0;
    // More than the kernel keeps at both ends, and a mebibyte.
    while (service.deps.streams.open().length === 2 && sent < 400) {
      await transaction(ctx, async (tx) => {
        for (let at = 0; at < 20; at++) await emit(tx, 'role.created', long);
      });
      sent += 20;
      await expect.poll(() => quick.events().length).toBe(sent);
      service.clock.advance(2_000);
    }
    expect(service.deps.streams.open().length).toBe(1);
    slow.body.destroy();
    quick.close();
    await agent.destroy();
  });
});

describe('whoever may no longer read', () => {
  test('is cut off within a second of the withdrawal of the token (attack 51.1447)', async () => {
    const own = await manage(service.url);
    const stream = await streamOf(own, '?page[after]=now');
    expect(stream.status).toBe(200);
    const revoked = await oauthPost(service.url, '/oauth/revoke', managementClient, { token: own.token as string });
    expect(revoked.status).toBe(200);
    const since = performance.now();
    await stream.ended;
    expect(performance.now() - since).toBeLessThan(5_000);
  });

  test('gets nothing more of a collection whose permission is withdrawn, and nothing at all without events:read', async () => {
    const scopes = ['events:read', 'roles:read', 'permissions:read', 'users:read', 'security_events:read', 'sessions:read'];
    const client = await addClient(ctx, { grant_types: ['client_credentials'] });
    const resource = (await ctx.db
      .knex('api_resources')
      .where({ identifier: `${service.url}/api` })
      .first()) as { id: string };
    const grant = await api.create(
      'client_grants',
      { scopes },
      { client: { data: { type: 'client', id: client.id } }, api_resource: { data: { type: 'api_resource', id: resource.id } } },
    );
    const grantTo = (left: string[]) => api.update('client_grants', grant['id'], { scopes: left });
    const reader = new Api(service.url, await managementToken(service.url, { id: client.id, client_secret: client.client_secret }));
    const stream = await streamOf(reader, '?page[after]=now');
    await emitRole(ctx, 'seen');
    await expect.poll(() => stream.events().length).toBe(1);
    expect((await grantTo(['events:read'])).status).toBe(200);
    const from = await now(api);
    await emitRole(ctx, 'unseen');
    await follow(api, from, 1);
    const roundsOf = async () => {
      service.clock.advance(15_000);
      const before = stream.text().length;
      await expect.poll(() => stream.text().length).toBeGreaterThan(before);
    };
    await roundsOf();
    expect(stream.events()).toHaveLength(1);
    expect((await grantTo(['roles:read'])).status).toBe(200);
    await stream.ended;
  });

  test('a token that is bound to a key stays good without a new proof, and is cut off when it is withdrawn', async () => {
    const key = await createProofKey();
    const dpop = await key.proof({ htu: `${service.url}/oauth/token` });
    const fields = { grant_type: 'client_credentials', resource: `${service.url}/api` };
    const { access_token: token } = (await oauthPost(service.url, '/oauth/token', managementClient, fields, { dpop })).body;
    const proof = await key.proof({ htu: `${service.url}/api/events`, htm: 'GET', token });
    const headers = { authorization: `DPoP ${token}`, dpop: proof };
    const stream = await openStream(`${service.url}/api/events?page[after]=now`, headers);
    expect(stream.status).toBe(200);
    service.clock.advance(120_000);
    await emitRole(ctx, 'bound');
    await expect.poll(() => stream.events().length).toBe(1);
    await oauthPost(service.url, '/oauth/revoke', managementClient, { token });
    await stream.ended;
  });
});

test('a stop of the service ends all streams at once, and lets in none (specification 17.4.5)', async () => {
  const own = await startManagedService({ SHUTDOWN_DELAY_MS: '2000' });
  const reader = await manage(own.url);
  const stream = await streamOf(reader, '?page[after]=now');
  expect(stream.status).toBe(200);
  const since = performance.now();
  const stopped = own.stop();
  await stream.ended;
  expect(performance.now() - since).toBeLessThan(2_000);
  const late = await streamOf(reader, '?page[after]=now');
  expect(late.status).toBe(429);
  await late.ended;
  await stopped;
});

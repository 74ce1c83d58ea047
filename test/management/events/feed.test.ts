// The events feed: one order without gaps, whoever reads it when.
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { numberEventsOnce } from '../../../src/jobs/event-feed.js';
import { janitorPass } from '../../../src/jobs/janitor.js';
import { transaction } from '../../../src/domain/context.js';
import { emit } from '../../../src/domain/events/emit.js';
import { emitRole, follow, namesOf, nextOf, now, pageOf } from '../../support/event-feed.js';
import { addClient, addGrant, addResource } from '../../support/data.js';
import { manage, secondEnvironment, startManagedService } from '../../support/management.js';
import { tokenRequest } from '../../support/oauth.js';
import { contextOf, shared, sharedService } from '../../support/shared-service.js';
import { addWebhook, roleData } from '../../support/webhooks.js';
import { sendTest } from '../../../src/domain/webhooks/webhooks.js';

const service = sharedService(() => startManagedService());
const ctx = contextOf(service);
const api = shared(() => manage(service.url));

describe('a page', () => {
  test('has each event with the bytes that webhooks are sent, though no webhook wants it (specification 17.1.1)', async () => {
    const from = await now(api);
    const { signing_secret: _, webhook } = await addWebhook(ctx, 'http://127.0.0.1:9/', { events: ['permission.created'] });
    await emitRole(ctx, 'editor');
    const { events } = await follow(api, from, 1);
    const [event] = events as [(typeof events)[0]];
    const row = (await ctx.db.knex('events').where({ id: event['id'] }).first()) as { body: string };
    expect(event['type']).toBe('event');
    expect(event['attributes']).toEqual({
      event_type: 'role.created',
      occurred_at: JSON.parse(row.body).timestamp,
      payload: JSON.parse(row.body),
      payload_text: row.body,
    });
    expect(event['id']).toBe(JSON.parse(row.body).event_id);
    expect(await ctx.db.knex('webhook_deliveries').where({ webhook_id: webhook.id })).toEqual([]);
    const one = await api.get(`/events/${event['id']}`);
    expect([one.status, one.body['data']]).toEqual([200, event]);
  });

  test('always goes on: links.next is never null, and meta.more says whether at once (specification 17.2.2)', async () => {
    const from = await now(api);
    for (const name of ['a', 'b', 'c']) await emitRole(ctx, name);
    await follow(api, from, 3);
    const first = await pageOf(api, from, '&page[size]=2');
    expect([namesOf(first['data']), first['meta']]).toEqual([['a', 'b'], { page: { size: 2 }, more: true }]);
    const second = await pageOf(api, nextOf(first), '&page[size]=2');
    expect([namesOf(second['data']), second['meta'].more, second['links'].prev]).toEqual([['c'], false, null]);
    const third = await pageOf(api, nextOf(second));
    expect([third['data'], third['meta'].more, nextOf(third)]).toEqual([[], false, nextOf(second)]);
  });

  test('begins at the oldest event, at a cursor, or now', async () => {
    const oldest = (await api.get('/events?page[after]=oldest&page[size]=1')).body['data'];
    expect((await api.get('/events?page[size]=1')).body['data']).toEqual(oldest);
    expect(oldest).toHaveLength(1);
    expect((await pageOf(api, 'now'))['data']).toEqual([]);
  });

  test('moves a reader of one type on over events of others (specification 17.2.3)', async () => {
    const from = await now(api);
    await emitRole(ctx, 'one');
    await follow(api, from, 1);
    const page = await pageOf(api, from, '&filter[event_type]=user.created');
    expect([page['data'], nextOf(page) === from]).toEqual([[], false]);
    expect((await pageOf(api, nextOf(page)))['data']).toEqual([]);
  });

  test.each([
    ['a broken cursor', 'page[after]=abc', 'invalid_cursor'],
    ['a cursor that was changed', null, 'invalid_cursor'],
    ['an event type that does not exist', 'filter[event_type]=nonsense', 'invalid_filter'],
    ['an event type that is never shown', 'filter[event_type]=webhook.test', 'invalid_filter'],
    ['another filter', 'filter[name]=x', 'unknown_filter'],
    ['another order', 'sort=name', 'unsupported_sort'],
    ['a page backwards', 'page[before]=abc', 'invalid_cursor'],
  ])('%s is refused with 400 (attack 51.1441)', async (_what, query, code) => {
    const cursor = await now(api);
    const answer = await api.get(`/events?${query ?? `page[after]=${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`}`);
    expect([answer.status, answer.body['errors'][0].code]).toEqual([400, code]);
  });

  test('a cursor of another environment is refused, and its events are never seen (attack 51.1440)', async () => {
    const other = await secondEnvironment(api, 'elsewhere');
    const cursor = await now(api);
    const answer = await other.api.get(`/events?page[after]=${cursor}`);
    expect([answer.status, answer.body['errors'][0].code]).toEqual([400, 'invalid_cursor']);
    const there = await now(other.api);
    await emitRole(ctx, 'here');
    await emitRole(await service.contextOf(other.id), 'there');
    expect(namesOf((await follow(other.api, there, 1, '&filter[event_type]=role.created')).events)).toEqual(['there']);
  });

  test('with sort=-position the list is one as any other, the newest first', async () => {
    const from = await now(api);
    for (const name of ['x', 'y']) await emitRole(ctx, name);
    await follow(api, from, 2);
    const first = await api.get('/events?sort=-position&page[size]=1&filter[event_type]=role.created');
    const second = await api.get(first.body['links'].next as string);
    expect([namesOf(first.body['data']), namesOf(second.body['data'])]).toEqual([['y'], ['x']]);
  });
});

describe('what is stored', () => {
  test('a test of a webhook never shows (specification 17.1.3)', async () => {
    const { webhook } = await addWebhook(ctx, 'http://127.0.0.1:9/', {});
    const from = await now(api);
    await transaction(ctx, (tx) => sendTest(tx, webhook, { kind: 'system', id: null, display: 'The service' } as never));
    await emitRole(ctx, 'after the test');
    const { events } = await follow(api, from, 1);
    expect(events.map((one) => one['attributes'].event_type)).toEqual(['role.created']);
  });

  test('token.issued only while a webhook names it, or the environment records it (specification 17.1.2)', async () => {
    const client = await addClient(ctx, { grant_types: ['client_credentials'] });
    const resources = [
      await addResource(ctx, { identifier: 'https://jwt.example', token_format: 'jwt' }),
      await addResource(ctx, { identifier: 'https://opaque.example', token_format: 'opaque' }),
    ];
    for (const one of resources) await addGrant(ctx, client, one);
    const issue = async () => {
      for (const { identifier: resource } of resources)
        expect((await tokenRequest(service.url, client, { grant_type: 'client_credentials', resource })).status).toBe(200);
    };
    const stored = async () => Number((await ctx.db.knex('events').where({ event_type: 'token.issued' }).count())[0]?.['count']);
    await issue();
    expect(await stored()).toBe(0);
    const path = `/environments/${ctx.environment.id}`;
    const record = (on: boolean) =>
      api.patch(path, { data: { type: 'environment', id: ctx.environment.id, attributes: { record_token_issued: on } } });
    expect((await record(true)).status).toBe(200);
    const from = await now(api);
    await issue();
    const { events } = await follow(api, from, 2, '&filter[event_type]=token.issued');
    expect(events.map((one) => one['attributes'].payload.data.token_format)).toEqual(['jwt', 'opaque']);
    expect((await record(false)).status).toBe(200);
    await issue();
    expect(await stored()).toBe(2);
  });

  test('what comes by name only is there without anybody who names it, in the order of its transaction', async () => {
    const from = await now(api);
    const { id } = await api.create('clients', { name: 'Shop', application_type: 'machine' });
    const { events } = await follow(api, from, 2);
    expect(events.map((one) => [one['attributes'].event_type, one['attributes'].payload.data.id])).toEqual([
      ['client.registered', id],
      ['client.created', id],
    ]);
  });

  test('what is taken back with its transaction is no event', async () => {
    const from = await now(api);
    await transaction(ctx, async (tx) => {
      await emit(tx, 'role.created', roleData('never'));
      throw new Error('taken back');
    }).catch(() => undefined);
    await emitRole(ctx, 'kept');
    expect(namesOf((await follow(api, from, 1)).events)).toEqual(['kept']);
  });
});

describe('order', () => {
  test('a late commit comes later, and holds back nobody else (specification 17.3.2, attack 51.1442)', async () => {
    const from = await now(api);
    const late = new pg.Client({ connectionString: service.databaseUrl });
    await late.connect();
    try {
      await late.query('begin');
      const body = JSON.stringify({ data: { name: 'late' } });
      const id = '018f0000-0000-7000-8000-000000000001';
      await late.query(`select store_event($1, $2, 'role.created', now(), $3, '{}')`, [ctx.environment.id, id, body]);
      await emitRole(ctx, 'in time');
      const first = await follow(api, from, 1);
      expect(namesOf(first.events)).toEqual(['in time']);
      await late.query('commit');
      const second = await follow(api, first.cursor, 1);
      expect([second.events[0]?.['id'], namesOf(second.events)]).toEqual([id, ['late']]);
    } finally {
      await late.end();
    }
  });

  test('changes of one record keep their order, and two numberers give no position twice (specification 17.3.1)', async () => {
    const from = await now(api);
    for (let at = 0; at < 20; at++) await emitRole(ctx, String(at));
    await Promise.all(Array.from({ length: 4 }, () => numberEventsOnce(service.deps)));
    expect(namesOf((await follow(api, from, 20)).events)).toEqual(Array.from({ length: 20 }, (_, at) => String(at)));
    const { rows } = await ctx.db.knex.raw('select count(*) - count(distinct position) as twice from events where position is not null');
    expect(rows).toEqual([{ twice: 0 }]);
  });

  test('restored or failed over, positions go on 2^32 beyond all that were given (specification 17.3.4, attack 51.1443)', async () => {
    await emitRole(ctx, 'before');
    await numberEventsOnce(service.deps);
    const { rows } = await ctx.db.knex.raw('select position from event_feed');
    const before = BigInt(rows[0].position);
    const cursor = await now(api);
    await ctx.db.knex('event_feed').update({ lineage: 'another database' });
    await emitRole(ctx, 'after');
    const { events } = await follow(api, cursor, 1);
    expect(namesOf(events).at(-1)).toBe('after');
    const after = await ctx.db.knex.raw('select position from event_feed');
    expect(BigInt(after.rows[0].position) - before).toBeGreaterThanOrEqual(2n ** 32n);
  });

  test('as many wait for their place as the metric says', async () =>
    expect((await (await fetch(`${service.url}/metrics`)).text()).includes('events_unnumbered 0')).toBe(true));
});

describe('retention', () => {
  test('a cursor before what has gone gets 410, and never a gap; at the oldest everybody may begin (specification 17.2.4, attack 51.1444)', async () => {
    const other = await secondEnvironment(api, 'kept');
    const theirs = await now(other.api);
    const cursor = await now(api);
    await emitRole(ctx, 'gone');
    await follow(api, cursor, 1);
    service.clock.advance(30 * 86_400_000 + 1000);
    try {
      await janitorPass(service.deps);
      const fresh = await manage(service.url);
      const answer = await fresh.get(`/events?page[after]=${cursor}`);
      expect([answer.status, answer.body['errors'][0].code]).toEqual([410, 'cursor_expired']);
      const start = await pageOf(fresh, 'oldest');
      expect(
        start['data'].every((one: { attributes: { payload: { data: { name?: string } } } }) => one.attributes.payload.data.name !== 'gone'),
      ).toBe(true);
      const place = nextOf(start);
      await emitRole(ctx, 'kept');
      expect(namesOf((await follow(fresh, place, 1)).events)).toContain('kept');
      // Nothing of the other environment has gone after its cursor.
      expect((await ctx.db.knex('event_retention').where({ environment_id: other.id })).length).toBeLessThanOrEqual(1);
      expect(theirs).not.toBe(cursor);
    } finally {
      service.clock.advance(-30 * 86_400_000 - 1000);
    }
  });
});

// What waits for a stream reaches its receiver: in order, at least once, whatever fails in between (RFC 8935).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fanOutSignals, pauseFullStreams } from '../../../src/db/tables/signal_sets.js';
import { recordSignalSend, type SignalStreamRow } from '../../../src/db/tables/signal_streams.js';
import type { Context } from '../../../src/domain/context.js';
import { signalQueue } from '../../../src/outbox/signals/loop.js';
import { pushSets } from '../../../src/outbox/signals/send.js';
import { createGuardedFetch } from '../../../src/platform/fetch/fetch.js';
import { addEnvironment, addUser } from '../../support/data.js';
import { drain } from '../../support/outbox-queue.js';
import { startReceiver, type Receiver } from '../../support/receiver.js';
import { startTestService, type TestService } from '../../support/service.js';
import { addSignalReceiver, readSet, type SignalReceiver } from '../../support/signals.js';

const authorization_header = 'Bearer what the receiver wants';
let service: TestService;
let ctx: Context;
let endpoint: Receiver;
let receiver: SignalReceiver;
let stream_id: string;
let number = 0;

beforeAll(async () => {
  [service, endpoint] = await Promise.all([startTestService(), startReceiver()]);
  ctx = await service.context();
});
afterAll(async () => {
  await service?.stop();
  await endpoint?.close();
});
beforeEach(async () => {
  endpoint.reply(202);
  await ctx.db.knex('signal_streams').delete();
  receiver = await addSignalReceiver(service, ctx, { signal_audience: 'everybody' });
  const delivery = { method: 'urn:ietf:rfc:8935', endpoint_url: `${endpoint.url}/${++number}`, authorization_header };
  stream_id = await receiver.stream({ delivery });
});

const posts = () => endpoint.posts.filter(({ path }) => path === `/${number}`);
const subjects = () => posts().map(({ body }) => readSet(body).claims.sub_id['sub']);
const row = async () => (await ctx.db.knex('signal_streams').where({ id: stream_id }).first()) as SignalStreamRow;
const waiting = async () => (await ctx.db.knex('signal_sets').where({ signal_stream_id: stream_id })).length;
const retryNow = () =>
  ctx.db
    .knex('signal_streams')
    .where({ id: stream_id })
    .update({ next_attempt_at: new Date(0) });
/** Somebody is blocked: one signal. */
async function happens(of = ctx): Promise<string> {
  const { id } = await addUser(of);
  await of.db.knex('users').where({ id }).update({ status: 'blocked' });
  return id;
}

describe('a receiver', () => {
  test('gets each token as RFC 8935 has it, in order, once (specification 20.5.1)', async () => {
    const happened = [await happens(), await happens(), await happens()];
    await endpoint.until(() => posts().length >= 3);
    expect(subjects()).toEqual(happened);
    expect(posts()[0]?.headers).toMatchObject({
      'content-type': 'application/secevent+jwt',
      accept: 'application/json',
      authorization: authorization_header,
    });
    await expect.poll(waiting).toBe(0);
    expect(await row()).toMatchObject({ last_error: null, last_response_status: 202, attempt_count: 0, last_sent_at: expect.any(Date) });
  });

  test('that is away misses nothing: the same tokens again, in order, none before an earlier one (specification 20.5.2)', async () => {
    endpoint.reply(503);
    const happened = [await happens(), await happens()];
    await expect.poll(async () => (await row()).last_error).toBe('non_2xx');
    endpoint.reply(202);
    await retryNow();
    await expect.poll(waiting).toBe(0);
    const jtis = posts().map(({ body }) => readSet(body).claims.jti);
    expect(new Set(jtis).size).toBe(2);
    expect([...new Set(subjects())]).toEqual(happened);
    expect(subjects().at(-1)).toBe(happened[1]);
  });

  test('that can not read one token gets the next, but one that refuses us is asked again (RFC 8935 2.4)', async () => {
    endpoint.reply((post, res) => {
      const err = posts().indexOf(post) === 0 ? 'invalid_request' : null;
      if (err === null) res.writeHead(202).end();
      else res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ err, description: 'no' }));
    });
    const happened = [await happens(), await happens()];
    await endpoint.until(() => posts().length >= 2);
    await expect.poll(waiting).toBe(0);
    expect(subjects()).toEqual(happened);
    endpoint.reply((_post, res) => void res.writeHead(400).end(JSON.stringify({ err: 'authentication_failed' })));
    await happens();
    await expect.poll(async () => (await row()).last_error).toBe('non_2xx');
    expect(await waiting()).toBe(1);
  });

  test('in our network gets nothing where that is not allowed (attack 55.1702)', async () => {
    endpoint.reply(503);
    await happens();
    await expect.poll(async () => (await row()).last_error).toBe('non_2xx');
    const before = posts().length;
    const fetch = createGuardedFetch({ allowPrivateNetwork: false });
    const deps = { ...service.deps, net: { ...service.deps.net, fetch } };
    const sending = await pushSets(deps, await row(), new AbortController().signal);
    expect(sending).toMatchObject({ ok: false, error: expect.stringMatching(/blocked_address|protocol/), done: [] });
    expect(posts().length).toBe(before);
    await fetch.close();
  });

  test.each(['client_grants', 'clients'])('of a client that may hear nothing any more gets nothing (%s, attack 55.1709)', async (table) => {
    const [of, column] = table === 'clients' ? ['id', { status: 'disabled' }] : ['client_id', { scopes: [] }];
    await ctx.db
      .knex(table)
      .where({ [of as string]: receiver.client.id })
      .update(column);
    ctx.cache.clear();
    await happens();
    await expect.poll(async () => (await row()).last_error).toBe('not_granted');
    expect([posts(), await waiting()]).toEqual([[], 1]);
  });

  test('hears nothing of another environment (attack 55.1706)', async () => {
    const elsewhere = await addEnvironment(service.deps, 'signals-elsewhere');
    await happens(elsewhere);
    const mine = await happens();
    await endpoint.until(() => posts().length >= 1);
    expect(subjects()).toEqual([mine]);
    await ctx.db.knex('environments').where({ id: elsewhere.environment.id }).delete();
    expect(await ctx.db.knex('signals').where({ environment_id: elsewhere.environment.id })).toEqual([]);
  });
});

describe('a process that dies', () => {
  test('while it fans out loses no token (attack 55.1707)', async () => {
    await receiver.call('PATCH', '/ssf/streams', { stream_id, delivery: { method: 'urn:ietf:rfc:8936' } });
    const dead = await ctx.db.knex.transaction();
    await ctx.db.knex('signals').delete();
    const happened = await happens();
    const { pid } = (await dead.raw('select pg_backend_pid() as pid')).rows[0];
    await fanOutSignals(dead, 100);
    await ctx.db.knex.raw('select pg_terminate_backend(?)', [pid]);
    await dead.rollback().catch(() => undefined);
    expect((await receiver.poll(stream_id)).map(({ claims }) => claims.sub_id['sub'])).toContain(happened);
  });

  test('and has lost its lease records nothing: what was taken is sent again', async () => {
    endpoint.reply(503);
    await happens();
    await expect.poll(async () => (await row()).last_error).toBe('non_2xx');
    const [set] = await ctx.db.knex('signal_sets').where({ signal_stream_id: stream_id });
    const lost = {
      environment_id: ctx.environment.id,
      id: stream_id,
      lease_id: crypto.randomUUID(),
      done: [set.id],
      error: null,
      response_status: 202,
      retry_in_ms: 0,
      tried: true,
    };
    expect(await recordSignalSend(ctx.db.knex, lost)).toBe(false);
    expect(await waiting()).toBe(1);
  });
});

describe('too much', () => {
  const polled = () => receiver.call('PATCH', '/ssf/streams', { stream_id, delivery: { method: 'urn:ietf:rfc:8936' } });

  test('that waits pauses the stream, which is told; nothing is added until it goes on (specification 20.5.3)', async () => {
    await polled();
    await happens();
    await happens();
    await drain(signalQueue(service.deps));
    expect(await pauseFullStreams(ctx.db.knex, { most: 2, seconds: 60 })).toEqual([{ environment_id: ctx.environment.id, id: stream_id }]);
    expect(await pauseFullStreams(ctx.db.knex, { most: 2, seconds: 60 })).toEqual([]);
    expect((await receiver.call('GET', `/ssf/status?stream_id=${stream_id}`)).body).toEqual({
      stream_id,
      status: 'paused',
      reason: 'too much waits',
    });
    await happens();
    expect(await receiver.poll(stream_id)).toMatchObject([
      {
        event: 'stream-updated',
        members: { status: 'paused', reason: 'too much waits' },
        claims: { sub_id: { format: 'opaque', id: stream_id } },
      },
    ]);
    await receiver.call('POST', '/ssf/status', { stream_id, status: 'enabled' });
    expect((await receiver.poll(stream_id)).map(({ event }) => event)).toEqual(['account-disabled', 'account-disabled']);
  });

  test('that is too old is deleted, and pauses it as well (specification 20.5.3)', async () => {
    await polled();
    await happens();
    await drain(signalQueue(service.deps));
    await ctx.db.knex('signal_sets').update({ occurred_at: new Date(Date.now() - 3_600_000) });
    expect((await pauseFullStreams(ctx.db.knex, { most: 100, seconds: 60 })).length).toBe(1);
    expect((await receiver.poll(stream_id)).map(({ event }) => event)).toEqual(['stream-updated']);
  });

  test('of what a paused stream keeps arrives when it goes on', async () => {
    await receiver.call('POST', '/ssf/status', { stream_id, status: 'paused' });
    const happened = await happens();
    await drain(signalQueue(service.deps));
    expect(posts()).toEqual([]);
    await receiver.call('POST', '/ssf/status', { stream_id, status: 'enabled' });
    await endpoint.until(() => posts().length >= 1);
    expect(subjects()).toEqual([happened]);
  });
});

// What is recorded reaches the receiver of a log stream: in order, at least once, whatever fails in between.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { transaction, type Context } from '../../../src/domain/context.js';
import { flushSecurityTrail, noteSecurityEvent, recordSecurityEvent } from '../../../src/domain/audit/security-trail.js';
import { createLogStream, updateLogStream, type LogStreamInput } from '../../../src/domain/log-streams/log-streams.js';
import { logStreamQueue } from '../../../src/outbox/log-streams/loop.js';
import { sendBatch } from '../../../src/outbox/log-streams/send.js';
import { listDueEntries, recordLogStreamSend, type LogStreamEntry, type LogStreamRow } from '../../../src/db/tables/log_streams.js';
import { createGuardedFetch } from '../../../src/platform/fetch/fetch.js';
import { numberEventsOnce } from '../../../src/jobs/event-feed.js';
import { emitRole } from '../../support/event-feed.js';
import { addEnvironment } from '../../support/data.js';
import { startReceiver, type ReceivedPost, type Receiver } from '../../support/receiver.js';
import { startTestService, type TestService } from '../../support/service.js';
import { drain } from '../../support/outbox-queue.js';

let service: TestService;
let ctx: Context;
let receiver: Receiver;
let number = 0;
/** Longer than the waits between tries. */
const patience = { timeout: 30_000 };

beforeAll(async () => {
  [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  ctx = await service.context();
});
afterAll(async () => {
  await service?.stop();
  await receiver?.close();
});
afterEach(async () => {
  await ctx.db.knex('log_streams').delete();
  await ctx.db.knex('log_stream_entries').delete();
  receiver.reply(200);
});

const stream = (input: Partial<LogStreamInput> = {}, of = ctx) =>
  transaction(of, (tx) =>
    createLogStream(tx, {
      name: 'SIEM',
      url: `${receiver.url}/${++number}`,
      format: 'native',
      sources: ['security_events', 'audit_logs'],
      ...input,
    }),
  );
const happening = (target_id: string) => ({
  target: { target_type: 'user', target_id },
  origin: { ip_address: '198.51.100.1', user_agent: null, request_id: null },
});
const record = (target_id: string, of = ctx) => transaction(of, (tx) => recordSecurityEvent(tx, 'password.changed', happening(target_id)));
const postsTo = (made: { stream: LogStreamRow }) => receiver.posts.filter(({ path }) => path === new URL(made.stream.url).pathname);
type Line = { id: string; event: string; count: number; detail: { target: { target_id: string } } };
const linesIn = (posts: readonly ReceivedPost[]) =>
  posts.flatMap(({ body }) => body.trimEnd().split('\n')).map((line) => JSON.parse(line) as Line); // prettier-ignore
const targetsIn = (posts: readonly ReceivedPost[]) => linesIn(posts).map(({ detail }) => detail.target.target_id);
const rowOf = async ({ stream: { id } }: { stream: LogStreamRow }) =>
  (await ctx.db.knex('log_streams').where({ id }).first()) as LogStreamRow;
const alter = (made: { stream: LogStreamRow }, changes: Partial<LogStreamRow>) =>
  ctx.db.knex('log_streams').where({ id: made.stream.id }).update(changes);
/** Lets it be tried now, whatever it waits for. */
const due = (made: { stream: LogStreamRow }) => alter(made, { next_attempt_at: new Date(0) });
const arrived = (made: { stream: LogStreamRow }, count: number) => receiver.until(() => targetsIn(postsTo(made)).length >= count, 30_000);

describe('a receiver', () => {
  test('gets what is recorded within five seconds, in order, once', async () => {
    const made = await stream();
    const began = performance.now();
    for (let index = 0; index < 5; index++) await record(`in order ${index}`);
    await arrived(made, 5);
    expect(performance.now() - began).toBeLessThan(25_000);
    expect(targetsIn(postsTo(made))).toEqual([0, 1, 2, 3, 4].map((index) => `in order ${index}`));
    await expect
      .poll(async () => (await ctx.db.knex('log_stream_entries').where({ log_stream_id: made.stream.id })).length, patience)
      .toBe(0);
    expect(await rowOf(made)).toMatchObject({ last_error: null, last_response_status: 200, attempt_count: 0 });
  });

  test('gets nothing of before, nothing of other sources, and nothing of another environment', async () => {
    await record('before');
    const made = await stream({ sources: ['security_events'] });
    const other = await addEnvironment(service.deps, 'streams-elsewhere');
    await record('elsewhere', other);
    await ctx.db.knex('audit_logs').insert({
      environment_id: ctx.environment.id, id: crypto.randomUUID(), occurred_at: new Date(), action: 'webhook.created', outcome: 'success',
      actor_kind: 'system', target_type: 'webhook',
    }); // prettier-ignore
    await record('mine');
    await arrived(made, 1);
    expect(targetsIn(postsTo(made))).toEqual(['mine']);
    await ctx.db.knex('environments').where({ id: other.environment.id }).delete();
  });

  test.each(['native', 'ecs', 'ocsf'] as const)('gets the events of the feed in its order, as %s', async (format) => {
    await emitRole(ctx, 'before');
    await numberEventsOnce(service.deps);
    const made = await stream({ sources: ['events'], format });
    await record('no event of the feed');
    for (let index = 0; index < 5; index++) await emitRole(ctx, `role ${index}`);
    await numberEventsOnce(service.deps);
    type EventLine = { payload?: unknown; idp?: { payload: string }; unmapped?: { payload: unknown } };
    const lines = () => linesIn(postsTo(made)) as unknown as EventLine[];
    await receiver.until(() => lines().length >= 5, 30_000);
    const payloads = lines().map(
      ({ payload, idp, unmapped }) => payload ?? unmapped?.payload ?? (JSON.parse(idp?.payload ?? '') as unknown),
    );
    expect(payloads).toMatchObject([0, 1, 2, 3, 4].map((index) => ({ event: 'role.created', data: { name: `role ${index}` } })));
    const known = { native: { source: 'events', event_type: 'role.created' }, ecs: { event: { action: 'role.created' } }, ocsf: { class_uid: 6003, activity_id: 1 } }; // prettier-ignore
    expect(lines()[0]).toMatchObject(known[format]);
    expect(await ctx.db.knex('log_stream_entries').where({ log_stream_id: made.stream.id, source: 'audit_logs' })).toEqual([]);
  });

  test('that is away misses nothing: the same lines again, in order, nothing later before (attack 35.726)', async () => {
    receiver.reply(503);
    const made = await stream();
    await record('first');
    await arrived(made, 1);
    await expect.poll(async () => (await rowOf(made)).last_error, patience).toBe('non_2xx');
    await record('second');
    await due(made);
    await receiver.until(() => postsTo(made).length >= 2);
    receiver.reply(200);
    await due(made);
    await expect.poll(async () => (await rowOf(made)).failing_since, patience).toBe(null);
    const bodies = postsTo(made).map((post) => targetsIn([post]));
    expect(bodies[0]).toEqual(['first']);
    expect(bodies.at(-1)).toEqual(['first', 'second']);
    expect(service.log.some((line) => line.includes('"log_stream.failed"') && line.includes(made.stream.id))).toBe(true);
    expect(service.log.some((line) => line.includes('"log_stream.recovered"') && line.includes(made.stream.id))).toBe(true);
  });

  test('gets what commits late, after what began later (attack 35.726)', async () => {
    const made = await stream();
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let written = () => {};
    const began = new Promise<void>((resolve) => (written = resolve));
    const late = transaction(ctx, async (tx) => {
      await recordSecurityEvent(tx, 'password.changed', happening('late'));
      written();
      await held;
    });
    await began;
    await record('meanwhile');
    await arrived(made, 1);
    expect(targetsIn(postsTo(made))).toEqual(['meanwhile']);
    release();
    await late;
    await arrived(made, 2);
    expect(targetsIn(postsTo(made))).toEqual(['meanwhile', 'late']);
  });

  test('gets again what was in flight when the process was lost: another takes over after the lease (attack 35.726)', async () => {
    const made = await stream({ status: 'paused' });
    await record('in flight');
    await alter(made, {
      status: 'enabled', lease_id: crypto.randomUUID(), leased_until: new Date(Date.now() + 3_600_000), next_attempt_at: new Date(Date.now() + 3_600_000),
    }); // prettier-ignore
    expect(await drain(logStreamQueue(service.deps), 1)).toBe(0);
    expect(postsTo(made)).toEqual([]);
    await alter(made, { leased_until: new Date(0), next_attempt_at: new Date(0) });
    await arrived(made, 1);
    expect(targetsIn(postsTo(made))).toEqual(['in flight']);
  });

  test('gets at most 500 records at once, and all of 1,200, in order', async () => {
    const made = await stream({ status: 'paused' });
    await transaction(ctx, async (tx) => {
      for (let index = 0; index < 1_200; index++) await recordSecurityEvent(tx, 'password.changed', happening(`n ${index}`));
    });
    await alter(made, { status: 'enabled' });
    await arrived(made, 1_200);
    expect(postsTo(made).map((post) => linesIn([post]).length)).toEqual([500, 500, 200]);
    expect(targetsIn(postsTo(made))).toEqual(Array.from({ length: 1_200 }, (_, index) => `n ${index}`));
  });

  test('that took one of two records of the same time, and an older count of a third, loses neither', async () => {
    const made = await stream({ status: 'paused' });
    for (const name of ['taken', 'waiting', 'counted']) await record(name);
    const entries = () => ctx.db.knex('log_stream_entries').where({ log_stream_id: made.stream.id });
    await entries().update({ seq: 7 });
    const [taken, , counted] = await listDueEntries(ctx.db.knex, made.stream, 3);
    const sent = [taken, { ...counted, seq: '6' }] as LogStreamEntry[];
    const lease_id = crypto.randomUUID();
    await alter(made, { lease_id });
    const { environment_id, id } = made.stream;
    await recordLogStreamSend(ctx.db.knex, {
      environment_id, id, lease_id, sent, error: null, response_status: 200, retry_in_ms: 0, tried: true,
    }); // prettier-ignore
    expect(await entries()).toHaveLength(2);
    await ctx.db.knex('log_streams').where({ id }).update({ status: 'enabled' });
    await arrived(made, 2);
    expect(targetsIn(postsTo(made)).toSorted()).toEqual(['counted', 'waiting']);
  });

  test('gets at most a mebibyte at once', async () => {
    const made = await stream({ status: 'paused', sources: ['audit_logs'] });
    const rows = Array.from({ length: 12 }, (_, index) => ({
      environment_id: ctx.environment.id, id: crypto.randomUUID(), occurred_at: new Date(), action: 'client.updated', outcome: 'success',
      actor_kind: 'system', target_type: 'client', target_id: `large ${index}`, changes: JSON.stringify({ description: ['x'.repeat(200_000), null] }),
    })); // prettier-ignore
    for (const row of rows) await ctx.db.knex('audit_logs').insert(row);
    await alter(made, { status: 'enabled' });
    await receiver.until(() => postsTo(made).reduce((sum, { body }) => sum + body.trimEnd().split('\n').length, 0) >= 12, 20_000);
    expect(postsTo(made).length).toBe(3);
    for (const { body } of postsTo(made)) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(1_048_576);
  });
});

describe('a counted event', () => {
  test('is sent when it begins, and once more with its final count', async () => {
    const made = await stream();
    // At the beginning of a minute, so that none ends in between.
    service.clock.advance(60_000 - (service.clock.now().getTime() % 60_000));
    const failed = async () => {
      noteSecurityEvent(ctx, 'login.failed', happening('counted'));
      await flushSecurityTrail(service.deps);
    };
    await failed();
    await arrived(made, 1);
    await expect
      .poll(async () => (await ctx.db.knex('log_stream_entries').where({ log_stream_id: made.stream.id })).length, patience)
      .toBe(0);
    for (let times = 0; times < 4; times++) await failed();
    const [entry] = await ctx.db.knex('log_stream_entries').where({ log_stream_id: made.stream.id });
    expect((entry as { due_at: Date }).due_at.getTime()).toBeGreaterThan(Date.now());
    await ctx.db
      .knex('log_stream_entries')
      .where({ log_stream_id: made.stream.id })
      .update({ due_at: new Date(0) });
    await arrived(made, 2);
    const [first, last] = linesIn(postsTo(made));
    expect([first?.count, last?.count, first?.id === last?.id]).toEqual([1, 5, true]);
  });
});

describe('a stream', () => {
  test('backs off to five minutes, and obeys Retry-After within that', async () => {
    receiver.reply((_post, res) => res.writeHead(429, { 'retry-after': '86400' }).end());
    const made = await stream();
    await record('asked to wait');
    await arrived(made, 1);
    const wait = async () => {
      const [{ seconds } = { seconds: 0 }] = (await ctx.db.knex
        .raw('select extract(epoch from next_attempt_at - now())::float8 as seconds from log_streams where id = ?', [made.stream.id])
        .then(({ rows }: { rows: { seconds: number }[] }) => rows)) as { seconds: number }[];
      return seconds;
    };
    await expect.poll(async () => (await rowOf(made)).attempt_count, patience).toBe(1);
    expect(await wait()).toBeGreaterThan(290);
    expect(await wait()).toBeLessThanOrEqual(300);
    receiver.reply(500);
    await alter(made, { attempt_count: 40, next_attempt_at: new Date(0) });
    await expect.poll(async () => (await rowOf(made)).attempt_count, patience).toBe(41);
    expect(await wait()).toBeLessThanOrEqual(300);
    expect(await wait()).toBeGreaterThan(60);
  });

  test('that has failed for three days is paused, which is an event, keeps what waits, and goes on where it stood (attack 73.1987)', async () => {
    receiver.reply(500);
    const made = await stream();
    await record('kept');
    await arrived(made, 1);
    await expect.poll(async () => (await rowOf(made)).attempt_count, patience).toBe(1);
    const longAgo = new Date(Date.now() - 73 * 3_600_000);
    await alter(made, { failing_since: longAgo, next_attempt_at: new Date(0) });
    await expect.poll(async () => (await rowOf(made)).status, patience).toBe('paused');
    expect(service.log.some((line) => line.includes('"log_stream.paused"') && line.includes(made.stream.id))).toBe(true);
    const events = await ctx.db.knex('audit_logs').where({ event: 'security_setting.changed', target_id: made.stream.id });
    expect(events).toMatchObject([
      {
        actor_kind: 'system',
        target_type: 'log_stream',
        target_display: 'SIEM',
        security_event: true,
        changes: { action: [null, 'log_stream.paused'], settings: [null, ['status']], reason: [null, 'non_2xx'] },
      },
    ]);
    await record('while paused');
    receiver.reply(200);
    await due(made);
    const before = postsTo(made).length;
    expect(await drain(logStreamQueue(service.deps), 1)).toBe(0);
    expect(postsTo(made)).toHaveLength(before);
    await alter(made, { status: 'enabled', failing_since: null });
    await receiver.until(() => postsTo(made).length > before);
    expect(targetsIn(postsTo(made).slice(-1))).toEqual(['kept', made.stream.id, 'while paused']);
  });

  test('that a person pauses while it fails is theirs: no event of the service', async () => {
    receiver.reply(500);
    const made = await stream();
    await record('kept');
    await arrived(made, 1);
    await expect.poll(async () => (await rowOf(made)).attempt_count, patience).toBe(1);
    const lease_id = randomUUID();
    await alter(made, { status: 'paused', lease_id });
    const held = { environment_id: ctx.environment.id, id: made.stream.id, lease_id, sent: [], retry_in_ms: 0 };
    const send = { ...held, error: 'non_2xx', response_status: 500, tried: true };
    expect(await recordLogStreamSend(ctx.db.knex, send)).toEqual({ status: 'paused', was_paused: false });
    expect(await recordLogStreamSend(ctx.db.knex, send)).toBeNull();
  });

  test('counts as failing until it is switched, or sends elsewhere or otherwise: an edit puts off no pause (attack 73.1988)', async () => {
    const made = await stream({ status: 'paused' });
    const since = new Date(Date.now() - 71 * 3_600_000);
    const after = async (changes: Partial<LogStreamInput>) => {
      await alter(made, { failing_since: since, attempt_count: 7 });
      const row = await transaction(ctx, async (tx) => updateLogStream(tx, await rowOf(made), changes));
      return [row?.failing_since?.getTime() ?? null, row?.attempt_count];
    };
    const same = { url: made.stream.url, format: made.stream.format, status: made.stream.status } as const;
    for (const changes of [{ name: 'Other' }, { sources: ['audit_logs'] }, same] as const)
      expect([changes, await after(changes)]).toEqual([changes, [since.getTime(), 7]]);
    for (const changes of [
      { url: `${receiver.url}/other` },
      { format: 'ecs' },
      { authorization: 'Bearer x' },
      { status: 'enabled' },
    ] as const)
      expect([changes, await after(changes)]).toEqual([changes, [null, 0]]);
  });

  test('whose host leads to an inner address is not sent to (attack 35.723)', async () => {
    const made = await stream({ status: 'paused' });
    await record('guarded');
    await alter(made, { url: `https://localhost:${new URL(receiver.url).port}/inner` });
    const fetch = createGuardedFetch({ allowPrivateNetwork: false });
    const before = receiver.posts.length;
    // The service itself would be allowed: only this one looks at the stream.
    const deps = { ...service.deps, net: { ...service.deps.net, fetch } };
    expect(await sendBatch(deps, await rowOf(made), new AbortController().signal)).toMatchObject({
      ok: false,
      sent: [],
      error: 'blocked_address',
    });
    expect(receiver.posts).toHaveLength(before);
    await fetch.close();
  });

  test('shows in the metrics how far it is behind', async () => {
    const made = await stream({ status: 'paused' });
    await record('behind');
    await ctx.db
      .knex('log_stream_entries')
      .where({ log_stream_id: made.stream.id })
      .update({ due_at: new Date(Date.now() - 90_000) });
    await expect
      .poll(() => service.deps.metrics.render(), { timeout: 20_000 })
      .toMatch(new RegExp(`log_stream_lag_seconds\\{log_stream_id="${made.stream.id}"\\} (?:9\\d|1\\d\\d)`));
  });
});

test('without streams nothing is stored for them', async () => {
  await record('nobody listens');
  expect(await ctx.db.knex('log_stream_entries')).toEqual([]);
});

// The vocabulary of security events is closed, a flood of them bounded, and none is told of what didn't happen.
import type { Knex } from 'knex';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { transaction, type Context } from '../../src/domain/context.js';
import { janitorPass } from '../../src/jobs/janitor.js';
import { logEvents } from '../../src/lib/log-events.js';
import { isSecurityEvent, securityEvents } from '../../src/lib/security-events.js';
import { createSecurityTrail } from '../../src/domain/notes/security-events.js';
import {
  flushSecurityTrail,
  noteSecurityEvent,
  recordSecurityEvent,
  type SecurityEventDetails,
} from '../../src/domain/audit/security-trail.js';
import type { CountedAuditLogRow } from '../../src/db/tables/audit_logs.js';
import { uuidv7, uuidv7Of } from '../../src/lib/random.js';
import { digest } from '../../src/lib/digest.js';
import { addEnvironment } from '../support/data.js';
import { auditRows, eventLines } from '../support/security-events.js';
import { startTestService, type TestService } from '../support/service.js';

const vocabulary = 'src/lib/security-events.ts';
const recorder = 'src/domain/audit/security-trail.ts';
const others = 'src/lib/log-events.ts';
/** Hands on names that the type `LogEvent` has checked. */
const announcer = 'src/process/startup.ts';

/** The text between the bracket at `open` and the one that closes it; texts and comments of the code may hold none that don't pair. */
function bracketed(code: string, open: number): string {
  let depth = 0;
  for (let at = open; at < code.length; at++) {
    if ('([{'.includes(code[at] as string)) depth += 1;
    else if (')]}'.includes(code[at] as string) && --depth === 0) return code.slice(open + 1, at);
  }
  return code.slice(open + 1);
}

/** What is given to each call of the functions that the pattern names. */
const argumentsOf = (code: string, names: RegExp): string[] =>
  [...code.matchAll(new RegExp(`\\b(?:${names.source})\\s*\\(`, 'g'))].map((call) => bracketed(code, call.index + call[0].length - 1));

const logCalls = /(?:logger|log|pino)\??\.(?:trace|debug|info|warn|error|fatal)/;
const recordingCalls = /recordSecurityEvent|noteSecurityEvent|logSecurityEvent|endReusedGrant/;

/** The names that each call which logs gives as its `event`: none where it names none, or one that the code works out elsewhere. */
const eventsInLogCalls = (code: string): string[][] =>
  argumentsOf(code, logCalls).map((given) => {
    const [, value = ''] = /^\s*\{\s*event: ((?:[^,{}])+)/.exec(given) ?? [];
    return [...value.matchAll(/'([^']+)'/g)].map((name) => name[1] ?? '');
  });

/** Names that are recorded: texts of the form of a name, in the calls that record, and in what a write implies. */
const namesRecorded = (code: string): string[] => [
  ...argumentsOf(code, recordingCalls).flatMap((given) =>
    [...given.matchAll(/(?<!action: )'([a-z_]+\.[a-z_]+)'/g)].map((name) => name[1] ?? ''),
  ),
  ...[...code.matchAll(/\{ name: '([a-z_]+\.[a-z_]+)', detail/g)].map((name) => name[1] ?? ''),
  // A write that is one itself: its resource and its action.
  ...[...code.matchAll(/resource: \{ type: '(\w+)' \}[^;]*;\s*await recordWrite\(call, \{ action: '(\w+)'/g)].map(
    (write) => `${write[1]}.${write[2]}`,
  ),
];

describe('the vocabulary', () => {
  let sources: { path: string; code: string }[];
  beforeAll(async () => {
    const names = (await readdir('src', { recursive: true })).filter((name) => name.endsWith('.ts'));
    sources = await Promise.all(names.map(async (name) => ({ path: join('src', name), code: await readFile(join('src', name), 'utf8') })));
  });

  test('the walker sees what it looks for', () => {
    expect(eventsInLogCalls(`ctx.logger.info({ event: 'made.up', a: [1] }, 'x')`)).toEqual([['made.up']]);
    expect(eventsInLogCalls(`log?.error({\n event: a ? 'one.is' : 'two.are', err: f(error) }, 'x')`)).toEqual([['one.is', 'two.are']]);
    expect(eventsInLogCalls(`logger.warn({ event_id: id }, 'the event'); logger.info('x'); logger.info({ a: { event: 'b.c' } })`)).toEqual([
      [],
      [],
      [],
    ]);
    expect(namesRecorded(`noteSecurityEvent(ctx, wrong ? 'made.up' : 'login.failed', { target: t(x) })`)).toEqual([
      'made.up',
      'login.failed',
    ]);
  });

  test('no line is logged without an `event`, and each is one of the list: security events are written in one place', () => {
    const withoutOne = sources
      .filter(({ path }) => path !== recorder)
      .flatMap(({ path, code }) => eventsInLogCalls(code).map((names) => ({ path, names })))
      .filter(({ path, names }) => (names.length === 0 ? path !== announcer : !names.every((name) => Object.hasOwn(logEvents, name))));
    expect(
      withoutOne,
      "A line begins with { event: '...' }, a name of src/lib/log-events.ts; a security event is recorded with recordSecurityEvent or noteSecurityEvent.",
    ).toEqual([]);
    const [recording] = sources.filter(({ path }) => path === recorder);
    expect(recording?.code).toMatch(/const line = \{\s+event,/);
  });

  test('the log is made in one place, whose type demands the `event`, and nothing is written past it', () => {
    const pino = sources.filter(({ path, code }) => /from 'pino'/.test(code) && !path.startsWith('src/platform/log/'));
    expect(
      pino.map(({ path }) => path),
      'Take Logger from src/platform/log/logger.ts.',
    ).toEqual([]);
    // What the reference shows developers to run is text there.
    const shown = 'src/management/reference/code-examples.ts';
    const consoles = sources.filter(
      ({ path, code }) => !path.startsWith('src/programs/') && path !== shown && /\bconsole\.\w+\(/.test(code),
    );
    expect(
      consoles.map(({ path }) => path),
      'Use the logger, or process.stdout in a program.',
    ).toEqual([]);
  });

  test('what is in the list of other events is written, and is no security event', () => {
    const code = sources.filter(({ path }) => path !== others).map((source) => source.code);
    const names = Object.keys(logEvents);
    expect(names.filter((name) => isSecurityEvent(name))).toEqual([]);
    const told = new Set(
      code.flatMap((text) => [...text.matchAll(/'([a-z_]+\.[a-z_]+)'|"(http\.request)"/g)].map((name) => name[1] ?? name[2])),
    );
    expect(names.filter((name) => !told.has(name))).toEqual([]);
  });

  test('what is recorded is in the registry, and what is in the registry is recorded', () => {
    const recorded = sources.filter(({ path }) => path !== vocabulary).flatMap(({ code }) => namesRecorded(code));
    expect(recorded.filter((name) => !isSecurityEvent(name))).toEqual([]);
    expect(Object.keys(securityEvents).filter((name) => !recorded.includes(name))).toEqual([]);
  });

  test('names are `noun.what_happened`', () =>
    expect(
      [...Object.keys(securityEvents), ...Object.keys(logEvents)].filter((name) => !/^[a-z]+(?:_[a-z]+)*\.[a-z]+(?:_[a-z]+)*$/.test(name)),
    ).toEqual([]));
});

describe('a flood', () => {
  const minute = new Date('2026-01-01T00:00:00Z');
  const rowOf = (address: number, count = 1, at = minute): CountedAuditLogRow => ({
    environment_id: '01890000-0000-7000-8000-000000000001',
    id: uuidv7Of(at.getTime(), digest(`address ${address}`)),
    occurred_at: at,
    action: 'login.failed',
    outcome: 'failure',
    reason: 'invalid_credentials',
    actor_kind: 'anonymous',
    actor_id: null,
    actor_display: null,
    actor_permissions: [],
    target_type: 'user',
    target_id: null,
    target_display: null,
    changes: {},
    ip_address: `198.51.100.${address}`,
    user_agent: null,
    request_id: null,
    count,
    security_event: true,
    event: 'login.failed',
  });
  const many = (at = minute): CountedAuditLogRow => ({ ...rowOf(0, 1, at), id: uuidv7Of(at.getTime(), digest('many')), ip_address: null });

  test('of ten thousand addresses in a minute makes a hundred rows and one, and loses no count', () => {
    const trail = createSecurityTrail();
    const taken: CountedAuditLogRow[] = [];
    for (let address = 0; address < 10_000; address++) {
      trail.add(rowOf(address), many);
      // It is written every second, and the bound is one of the minute.
      if (address % 1000 === 999) taken.push(...trail.take(minute).rows);
    }
    expect(new Set(taken.map(({ id }) => id)).size).toBe(101);
    expect(taken.reduce((sum, { count }) => sum + count, 0)).toBe(10_000);
    const next = new Date(minute.getTime() + 60_000);
    trail.add(rowOf(9_999, 1, next), () => many(next));
    expect(trail.take(next).rows.map(({ ip_address }) => ip_address)).toEqual(['198.51.100.9999']);
  });

  test('that could not be written stays apart as it was, whatever came meanwhile', () => {
    const trail = createSecurityTrail();
    for (let address = 0; address < 60; address++) trail.add(rowOf(address), many);
    const { rows } = trail.take(minute);
    const later = new Date(minute.getTime() + 60_000);
    for (let address = 100; address < 160; address++) trail.add(rowOf(address, 1, later), () => many(later));
    trail.putBack(rows);
    const kept = trail.take(later);
    expect(kept.dropped).toBe(0);
    expect(kept.rows).toHaveLength(120);
    expect(kept.rows.filter(({ ip_address }) => ip_address === null)).toEqual([]);
  });

  test('in many environments, with nothing written, keeps a thousand rows and counts the rest', () => {
    const trail = createSecurityTrail();
    for (let index = 0; index < 3_000; index++) {
      const environment_id = uuidv7Of(1, digest(`environment ${index % 50}`));
      const row = { ...rowOf(index), environment_id, id: uuidv7(1) };
      trail.add(row, () => ({ ...row, id: uuidv7Of(1, digest(environment_id)) }));
    }
    const { rows, dropped } = trail.take(minute);
    expect(rows).toHaveLength(1000);
    expect(rows.reduce((sum, { count }) => sum + count, 0) + dropped).toBe(3_000);
  });
});

describe('in the database', () => {
  let service: TestService;
  let ctx: Context;
  const happening = (target_id: string): SecurityEventDetails => ({
    target: { target_type: 'user', target_id },
    origin: { ip_address: '198.51.100.1', user_agent: null, request_id: 'r-1' },
    reason: 'invalid_credentials',
  });
  const rowsOf = async (action: string, target_id: string) =>
    (await auditRows(service, action)).filter((row) => row.target_id === target_id);

  beforeAll(async () => {
    service = await startTestService();
    ctx = await service.context();
  });
  afterAll(() => service?.stop());

  test('what several processes write in a minute is one row', async () => {
    const now = service.clock.now();
    // At the beginning of a minute, so that none ends in between.
    service.clock.advance(60_000 - (now.getTime() % 60_000));
    const replica = await startTestService(
      {},
      { database: { url: service.databaseUrl, secretKey: service.secretKey }, clock: service.clock },
    );
    try {
      const there = await replica.context();
      for (let round = 0; round < 3; round++) {
        for (const one of [ctx, there]) {
          noteSecurityEvent(one, 'login.failed', happening('of replicas'));
          await flushSecurityTrail(one);
        }
      }
    } finally {
      await replica.stop();
    }
    expect(await rowsOf('login.failed', 'of replicas')).toMatchObject([{ count: 6, request_id: 'r-1' }]);
  });

  test('a change that was undone is told nowhere; one that was made is told once, after its commit', async () => {
    const record = (tx: Context) => recordSecurityEvent(tx, 'password.changed', happening('of a transaction'));
    const undone = transaction(ctx, async (tx) => {
      await record(tx);
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    const lines = () => eventLines(service, 'password.changed').filter((line) => line['target_id'] === 'of a transaction').length;
    expect([(await rowsOf('password.changed', 'of a transaction')).length, lines()]).toEqual([0, 0]);
    const during = await transaction(ctx, async (tx) => {
      await record(tx);
      return lines();
    });
    expect([during, (await rowsOf('password.changed', 'of a transaction')).length, lines()]).toEqual([0, 1, 1]);
  });

  test('an environment’s events are its own, and one that is gone holds up nobody', async () => {
    const other = await addEnvironment(service.deps, 'other');
    for (const one of [ctx, other]) noteSecurityEvent(one, 'login.failed', happening('of two'));
    noteSecurityEvent({ ...ctx, environment: { id: uuidv7(1) } }, 'login.failed', happening('of two'));
    const rows = await rowsOf('login.failed', 'of two');
    expect(rows.map(({ environment_id }) => environment_id).sort()).toEqual([ctx.environment.id, other.environment.id].sort());
  });

  test('what can’t be written now is written later', async () => {
    noteSecurityEvent(ctx, 'login.failed', happening('kept'));
    const away = (): never => {
      throw new Error('away');
    };
    // Both ways to the database: Knex's, which reads an environment that no cache holds any more, and that of named statements.
    const client = { acquireConnection: () => Promise.reject(new Error('away')) };
    const knex = Object.assign(away, { client, raw: away, transaction: away, context: { queryBuilder: away } }) as unknown as Knex;
    const broken = { ...service.deps, db: { knex, replica: null, report: null } };
    await expect(flushSecurityTrail(broken)).rejects.toThrow('away');
    expect(await rowsOf('login.failed', 'kept')).toHaveLength(1);
  });

  test('whoever asks for the last write waits for the one under way, which has taken the rows', async () => {
    const { knex } = service.deps.db;
    const other = await knex.transaction();
    onTestFinished(async () => void (other.isCompleted() || (await other.rollback())));
    await other.raw('lock table audit_logs in exclusive mode');
    noteSecurityEvent(ctx, 'login.failed', happening('under-way'));
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%audit_logs%'`;
    const writing = flushSecurityTrail(service.deps);
    await expect.poll(async () => (await knex.raw(waiting)).rows.length, { timeout: 30_000 }).toBe(1);
    let ended = false;
    const last = flushSecurityTrail(service.deps).then(() => (ended = true));
    await knex.raw('select 1');
    expect(ended).toBe(false);
    await other.commit();
    await Promise.all([writing, last]);
    expect(await rowsOf('login.failed', 'under-way')).toHaveLength(1);
  });

  test('security events go after 180 days, the other entries after 400', async () => {
    noteSecurityEvent(ctx, 'login.failed', happening('old'));
    const [row] = await rowsOf('login.failed', 'old');
    const change = { ...row, id: uuidv7(2), security_event: false, event: null, action: 'webhook.created', changes: '{}' };
    await service.deps.db.knex('audit_logs').insert(change);
    const left = async (days: number) => {
      const clock = { ...service.clock, now: () => new Date(service.clock.now().getTime() + days * 86_400_000) };
      await janitorPass({ ...service.deps, clock });
      return (await service.deps.db.knex('audit_logs').where({ target_id: 'old' }).select('action')) as { action: string }[];
    };
    expect((await left(179)).map(({ action }) => action).sort()).toEqual(['login.failed', 'webhook.created']);
    expect((await left(181)).map(({ action }) => action)).toEqual(['webhook.created']);
    expect(await left(401)).toEqual([]);
  });

  test('every line that was written bears an `event` of the lists and a `msg`, and every event counts in the metrics', async () => {
    await fetch(`${service.url}/readyz`);
    await expect.poll(() => service.log.some((line) => line.includes('"http.request"'))).toBe(true);
    const told = service.log.map((line) => JSON.parse(line) as { event: string; msg: string });
    const known = ({ event, msg }: { event: string; msg: string }) =>
      (isSecurityEvent(event) || Object.hasOwn(logEvents, event)) && msg !== '';
    expect(told.filter((line) => !known(line))).toEqual([]);
    expect(await service.deps.metrics.render()).toMatch(/security_events_total\{event="login\.failed"\} \d+/);
  });
});

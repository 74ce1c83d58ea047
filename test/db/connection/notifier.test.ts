// Notifications leave after the commits that they belong to: no transaction holds the lock that NOTIFY takes.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { sharedDatabase } from '../../support/shared-service.js';
import { createKnex } from '../../../src/db/connection/knex.js';
import { Notifier, type Notification } from '../../../src/db/connection/notifier.js';
import { createMetrics } from '../../../src/platform/metrics/metrics.js';

const { notifications } = createMetrics();
const notifier = new Notifier(notifications);
const waiting: ((error?: Error) => void)[] = [];
const heard: string[] = [];
const sent: string[][] = [];
let knex: ReturnType<typeof createKnex>;

const ask = (payload: string) => `select notify_after_commit('cache', '${payload}')`;
const textOf = ({ channel, payload }: Notification) => `${channel} ${payload}`;

const database = sharedDatabase();
beforeAll(async () => {
  knex = createKnex({ url: database.url, poolMax: 2, notifier });
  notifier.connect({
    heard: (one) => void heard.push(textOf(one)),
    async send(list) {
      sent.push(list.map(textOf));
      await new Promise<void>((resolve, reject) => waiting.push((error) => (error ? reject(error) : resolve())));
    },
  });
});
beforeEach(() => {
  heard.length = 0;
  sent.length = 0;
});
afterAll(async () => {
  notifier.connect(null);
  await knex?.destroy();
});

/** Ends the send that is under way, once there is one. */
async function answer(error?: Error): Promise<void> {
  await vi.waitFor(() => expect(waiting).not.toEqual([]));
  waiting.shift()?.(error);
}

test('nobody hears of what is not committed yet, and this process at once when it is', async () => {
  await knex.transaction(async (trx) => {
    await trx.raw(ask('one'));
    await trx.raw('select 1');
    expect(heard).toEqual([]);
  });
  expect(heard).toEqual(['cache one']);
  await answer();
  expect(sent).toEqual([['cache one']]);
});

test('what is asked while others are being told waits, the same once, whatever becomes of them', async () => {
  await knex.raw(ask('first'));
  await vi.waitFor(() => expect(sent).toEqual([['cache first']]));
  for (const payload of ['a b', 'second', 'a b']) await knex.raw(ask(payload));
  expect(heard).toEqual(['cache first', 'cache a b', 'cache second', 'cache a b']);
  await answer(new Error('the connection is gone'));
  await answer();
  expect(sent).toEqual([['cache first'], ['cache a b', 'cache second']]);
});

test('more than a thousand are not kept: this process hears them, the others look by themselves', async () => {
  await knex.raw(ask('first'));
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  await knex.raw(`select notify_after_commit('cache', n::text) from generate_series(1, 1002) n`);
  expect(heard).toHaveLength(1003);
  await answer();
  await answer();
  expect(sent[1]).toHaveLength(1000);
});

test('a statement of the batchers is heard too', async () => {
  const { runSystem } = await import('../../../src/db/system.js');
  await runSystem(knex, { name: 'test.notified', short: 'look_up', text: ask('shared') }, []);
  expect(heard).toEqual(['cache shared']);
  await answer();
});

test('nothing of the schema and of the statements notifies by itself', async () => {
  const { rows } = await knex.raw<{ rows: { name: string }[] }>(
    `select proname as name from pg_proc where pronamespace = current_schema::regnamespace and prosrc ~* '\\mpg_notify\\M|\\mnotify\\s'`,
  );
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const notifying = sources.filter((name) => /pg_notify\(|`notify /i.test(readFileSync(join('src', name), 'utf8')));
  expect([rows.map(({ name }) => name), notifying]).toEqual([[], ['db/postgres/notifications.ts']]);
});

test('a session that is not watched only gets a message, and its log is as before', async () => {
  const client = new pg.Client(database.url);
  const messages: string[] = [];
  client.on('notice', ({ severity, message }) => messages.push(`${severity} ${message}`));
  await client.connect();
  await client.query(`set client_min_messages = error`);
  await client.query(ask('own'));
  await client.end();
  expect([messages, heard]).toEqual([['INFO cache own'], []]);
});

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Knex } from 'knex';
import { pino } from 'pino';
import { createKnex } from '../src/db/connection/knex.js';
import { listen } from '../src/db/postgres/notifications.js';
import { Notifier } from '../src/db/connection/notifier.js';
import { createMetrics } from '../src/platform/metrics/metrics.js';
import { startPrimaryWithStandby } from '../test/support/standby.js';
import { median } from './measure.js';

/** Commits a second of transactions that write one row: alone, with NOTIFY inside, and with a notification after the commit. Medians of the rounds. */
export type CommitsResult = Readonly<Record<string, { readonly local: number; readonly synchronous: number }>>;

const commits = 2_000;
const connections = 50;
/** One way, in milliseconds: what the standby says reaches the primary so much later. */
const delayMs = 20;
const ways = {
  plain: 'insert into commits values ($1)',
  'NOTIFY within': `with told as (insert into commits values ($1)) select pg_notify('outbox', 'webhook')`,
  'notified after': `with told as (insert into commits values ($1)) select notify_after_commit('outbox', 'webhook')`,
} as const;

/** A way to the primary for its standby, whose answers take their time. */
async function startDelay(target: number): Promise<{ port: number; close(): void }> {
  const server = createServer((inbound) => {
    const outbound = connect(target, '127.0.0.1');
    for (const socket of [inbound, outbound])
      socket.on('error', () => undefined).on('close', () => (inbound.destroy(), outbound.destroy()));
    inbound.on('data', (chunk) => setTimeout(() => outbound.write(chunk), delayMs));
    outbound.pipe(inbound);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as { port: number }).port, close: () => server.close() };
}

/** Commits a second with all connections at work. */
async function rate(knex: Knex, text: string): Promise<number> {
  let left = commits;
  const began = performance.now();
  const run = async () => {
    while (left-- > 0) await knex.raw(text.replace('$1', String(left)));
  };
  await Promise.all(Array.from({ length: connections }, run));
  return commits / ((performance.now() - began) / 1000);
}

/** Starts a primary and a standby whose answers come 20 ms late, and commits with and without waiting for it. */
export async function measureCommits(rounds: number): Promise<CommitsResult> {
  let delay: Awaited<ReturnType<typeof startDelay>> | null = null;
  const servers = await startPrimaryWithStandby(async (port) => (delay = await startDelay(port)).port);
  const notifier = new Notifier(createMetrics().notifications);
  const knex = createKnex({ url: servers.url, poolMax: connections, unlimited: true, notifier });
  const ignore = () => undefined;
  const logger = pino({ level: 'silent' });
  const listener = listen({ url: servers.url, channels: ['outbox'], logger, notifier, onNotification: ignore, onReconnect: ignore });
  const rates = new Map<string, number[]>();
  try {
    await knex.raw('create table commits (n integer)');
    await knex.raw(
      `create function notify_after_commit(channel text, payload text) returns void language plpgsql as
       $$ begin raise info using errcode = 'IDP01', message = channel || ' ' || payload; end $$`,
    );
    for (const names of ['', '*']) {
      await servers.ask('primary', `alter system set synchronous_standby_names = '${names}'`);
      await servers.ask('primary', 'select pg_reload_conf()');
      await rate(knex, ways.plain);
      for (let round = 0; round < rounds; round++)
        for (const [way, text] of Object.entries(ways)) {
          const key = `${way} ${names}`;
          rates.set(key, [...(rates.get(key) ?? []), await rate(knex, text)]);
        }
    }
  } finally {
    await servers.ask('primary', `alter system set synchronous_standby_names = ''`);
    await servers.ask('primary', 'select pg_reload_conf()');
    await listener.close();
    await knex.destroy();
    await servers.stop();
    (delay as { close(): void } | null)?.close();
  }
  const of = (way: string, names: string) => Math.round(median(rates.get(`${way} ${names}`) ?? []));
  return Object.fromEntries(Object.keys(ways).map((way) => [way, { local: of(way, ''), synchronous: of(way, '*') }]));
}

/** The result as a table. */
export const commitsText = (result: CommitsResult): string =>
  [
    'commits a second   alone   standby 20 ms away',
    ...Object.entries(result).map(
      ([way, { local, synchronous }]) => `${way.padEnd(18)} ${String(local).padStart(5)} ${String(synchronous).padStart(8)}`,
    ),
  ].join('\n');

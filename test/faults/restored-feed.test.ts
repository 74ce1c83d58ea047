// The events feed after a restore into another PostgreSQL, and after a failover to a standby that was behind: whoever goes on by a cursor of before misses nothing.
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { findApiResourceByIdentifier } from '../../src/db/tables/api_resources.js';
import { startEmbeddedPostgres } from '../../src/db/postgres/embedded/embedded-postgres.js';
import type { Context } from '../../src/domain/context.js';
import { createTestDatabase } from '../support/database.js';
import { addMachine } from '../support/data.js';
import { emitRole, follow, namesOf, now } from '../support/event-feed.js';
import { Api, managementToken } from '../support/management.js';
import { runProgram } from '../support/program.js';
import { killReplicas, startReplica } from '../support/replica.js';
import { startPrimaryWithStandby } from '../support/standby.js';
import { openContext } from '../support/standalone.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  killReplicas();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function opened(url: string, secretKey: string): Promise<Context> {
  const { ctx, close } = await openContext(url, secretKey);
  cleanups.push(close);
  return ctx;
}

/** A database with a client that may read the feed, and what starts a service on it or on what becomes of it. */
async function prepared(url: string) {
  const secretKey = randomBytes(32).toString('base64');
  const ctx = await opened(url, secretKey);
  const { base_url, management_audience } = ctx.environment;
  const management = await findApiResourceByIdentifier(ctx.scope, management_audience);
  if (!management) throw new Error('the Management API is gone');
  const client = await addMachine(ctx, management);
  await ctx.db
    .knex('client_grants')
    .where({ client_id: client.id })
    .update({ scopes: ['events:read', 'roles:read', 'permissions:read'] });
  const host = new URL(base_url).host;
  const start = async (at: string) => {
    const replica = await startReplica(at, secretKey, { BASE_URL: base_url });
    return { replica, api: new Api(replica.url, await managementToken(replica.url, client, { host }), host) };
  };
  return { ctx, secretKey, base_url, start };
}

const roles = '&filter[event_type]=role.created';

test('a database is restored elsewhere from before the last events: every cursor goes on, and what had no position yet comes once more (fault F45, specification 17.3.4)', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'identity-provider-restored-'));
  await chmod(directory, 0o711);
  cleanups.push(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'identity.backup');
  const source = await createTestDatabase();
  cleanups.push(source.drop);
  const { ctx, secretKey, base_url, start } = await prepared(source.url);
  const program = async (name: 'backup' | 'restore', url: string) => {
    const variables = { DATABASE_URL: url, SECRET_KEY: secretKey, BASE_URL: base_url, BREACHED_PASSWORDS_URL: 'off', LOG_LEVEL: 'warn' };
    const { code, stderr } = await runProgram(`programs/${name}`, [file], variables);
    expect([code, stderr]).toEqual([0, '']);
  };

  const first = await start(source.url);
  const begun = await now(first.api);
  for (const name of ['one', 'two']) await emitRole(ctx, name);
  const early = await follow(first.api, begun, 2, roles);
  await first.replica.end('SIGTERM');
  // Nobody is there who would give it a position.
  await emitRole(ctx, 'waiting');
  await program('backup', source.url);
  const second = await start(source.url);
  for (const name of ['lost', 'lost too']) await emitRole(ctx, name);
  const late = await follow(second.api, early.cursor, 3, roles);
  expect(namesOf([...early.events, ...late.events])).toEqual(['one', 'two', 'waiting', 'lost', 'lost too']);
  await second.replica.end('SIGTERM');

  const elsewhere = await startEmbeddedPostgres({ dataDir: join(directory, 'data'), logger: pino({ level: 'silent' }) });
  cleanups.push(elsewhere.stop);
  await program('restore', elsewhere.url);
  const restored = await opened(elsewhere.url, secretKey);
  const third = await start(elsewhere.url);
  await emitRole(restored, 'after');
  for (const { cursor } of [early, late]) {
    const { events } = await follow(third.api, cursor, 2, roles);
    expect(namesOf(events)).toEqual(['waiting', 'after']);
    expect(events[0]?.['id']).toBe(late.events[0]?.['id']);
  }
  await third.replica.end('SIGTERM');
}, 180_000);

test('a standby that lacks the last events is promoted: every cursor goes on there, and what it had without a position comes once more (fault F45, specification 17.3.4)', async () => {
  const servers = await startPrimaryWithStandby();
  cleanups.push(servers.stop);
  const { ctx, secretKey, start } = await prepared(servers.url);

  const first = await start(servers.url);
  const begun = await now(first.api);
  for (const name of ['one', 'two']) await emitRole(ctx, name);
  const early = await follow(first.api, begun, 2, roles);
  await first.replica.end('SIGTERM');
  // Nobody is there who would give it a position, and it is the last that the standby hears of.
  await emitRole(ctx, 'waiting');
  const [written] = await servers.ask('primary', 'select pg_current_wal_flush_lsn()::text as at');
  await expect.poll(() => servers.ask('standby', `select pg_last_wal_replay_lsn() >= '${written?.['at']}' as done`)).toEqual([{ done: true }]); // prettier-ignore
  await servers.ask('standby', `alter system set primary_conninfo = ''`);
  await servers.ask('standby', 'select pg_reload_conf()');
  await expect.poll(() => servers.ask('primary', 'select pid from pg_stat_replication')).toEqual([]);
  const second = await start(servers.url);
  for (const name of ['lost', 'lost too']) await emitRole(ctx, name);
  const late = await follow(second.api, early.cursor, 3, roles);
  expect(namesOf(late.events)).toEqual(['waiting', 'lost', 'lost too']);
  await second.replica.end('SIGKILL');

  expect(await servers.ask('standby', 'select pg_promote() as done')).toEqual([{ done: true }]);
  const promoted = await opened(servers.standbyUrl, secretKey);
  const third = await start(servers.standbyUrl);
  await emitRole(promoted, 'after');
  for (const { cursor } of [early, late]) {
    const { events } = await follow(third.api, cursor, 2, roles);
    expect(namesOf(events)).toEqual(['waiting', 'after']);
    expect(events[0]?.['id']).toBe(late.events[0]?.['id']);
  }
  await third.replica.end('SIGTERM');
}, 180_000);

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/db/postgres/embedded/embedded-postgres.js';
import { createKnex } from '../../src/db/connection/knex.js';
import { migrate } from '../../src/db/migrations/migrate.js';
import { addressOf, administer, databasesOf, onConnection } from './database.js';
import { initialState, type InitialState } from './emptied.js';
import { rowSecurity } from './row-security.js';
import { superuserAddress } from './superuser.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server that test databases are made on, the migrated database they are cloned from, and what that holds. */
    postgres: { url: string; template: string; initial: InitialState | null };
  }
}

/**
 * What a crash would lose doesn't matter here, nor what a stolen verifier gives away: each test file opens dozens of connections.
 * Nor is a database there for long enough to be tidied, whose statistics would change plans in the middle of a test.
 */
const hasty = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', scram_iterations: '1', autovacuum: 'off' };

type Server = { readonly url: string; readonly template: string; readonly initial: InitialState | null; stop(): Promise<void> };

/** Projects load this file each for itself: what they share is kept where all see it. */
const shared = globalThis as { testPostgres?: { users: number; server: Promise<Server> } };

/** Runs once for each project that needs a database: one PostgreSQL for all of them (TEST_DATABASE_URL, or a throw-away one), one migrated template in it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const held = (shared.testPostgres ??= { users: 0, server: startServer() });
  held.users += 1;
  const { url, template, initial, stop } = await held.server;
  project.provide('postgres', { url, template, initial });
  return async () => {
    held.users -= 1;
    if (held.users > 0) return;
    delete shared.testPostgres;
    await stop();
  };
}

async function startServer(): Promise<Server> {
  const given = process.env['TEST_DATABASE_URL'];
  const server = given ? { url: given, stop: async () => undefined } : await startThrowAway();
  const template = `identity_template_${randomBytes(6).toString('hex')}`;
  let initial: InitialState | null;
  try {
    await administer(server.url, `create database ${template}`);
    const knex = createKnex({ url: addressOf(server.url, template), poolMax: 2 });
    await migrate(knex)
      .then(() => knex.raw(rowSecurity))
      .finally(() => knex.destroy());
    initial = await onConnection(addressOf(server.url, template), initialState);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    url: server.url,
    template,
    initial,
    async stop() {
      const left = await onConnection(server.url, (client) =>
        client.query<{ datname: string }>('select datname from pg_database where starts_with(datname, $1)', [databasesOf(template)]),
      );
      for (const { datname } of left.rows) await administer(server.url, `drop database if exists ${datname} with (force)`);
      await administer(server.url, `drop database if exists ${template} with (force)`);
      await server.stop();
    },
  };
}

async function startThrowAway(): Promise<{ url: string; stop(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'identity-provider-test-'));
  const remove = () => rm(dataDir, { recursive: true, force: true });
  try {
    const { url, stop } = await startEmbeddedPostgres({ dataDir, logger: pino({ level: 'warn' }), settings: hasty });
    await onConnection(await superuserAddress(url, dataDir), (client) =>
      client.query(`grant set on parameter session_replication_role to ${new URL(url).username}`),
    );
    return { url, stop: () => stop().finally(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

// For scripts that run outside of vitest: a throw-away PostgreSQL (or TEST_DATABASE_URL), and a context on a migrated database of their own.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { readConfig } from '../../src/config.js';
import { defaultContext } from '../../src/domain/configuration/bootstrap.js';
import type { Context } from '../../src/domain/context.js';
import { startEmbeddedPostgres } from '../../src/db/postgres/embedded/embedded-postgres.js';
import { closeDeps, createDeps, prepareDatabase } from '../../src/process/service.js';
import { addressOf, administer } from './database.js';
import { keyPairsInTurn } from './key-pairs.js';

export type Standalone = { readonly url: string; readonly secretKey: string; readonly ctx: Context; close(): Promise<void> };

/** @param durable keeps PostgreSQL's own settings, for measurements that should count fsync */
export async function openStandalone(environment: Record<string, string> = {}, durable = false): Promise<Standalone> {
  const dataDir = await mkdtemp(join(tmpdir(), 'identity-provider-fault-'));
  const given = process.env['TEST_DATABASE_URL'];
  const settings = durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
  const server = given
    ? { url: given, stop: async () => undefined }
    : await startEmbeddedPostgres({ dataDir, logger: pino({ level: 'warn' }), settings });
  const name = `identity_fault_${randomBytes(6).toString('hex')}`;
  await administer(server.url, `create database ${name}`);
  const url = addressOf(server.url, name);
  const secretKey = randomBytes(32).toString('base64');
  const opened = await openContext(url, secretKey, environment);
  return {
    url,
    secretKey,
    ctx: opened.ctx,
    async close() {
      await opened.close();
      await administer(server.url, `drop database if exists ${name} with (force)`);
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A context on a database without anything running: no server, no loops. Its key pairs are from the worker's stock. */
export async function openContext(
  url: string,
  secretKey: string,
  environment: Record<string, string> = {},
): Promise<{ ctx: Context; close(): Promise<void> }> {
  const config = readConfig({ LOG_LEVEL: 'error', LOG_FORMAT: 'json', ...environment });
  const deps = createDeps(config, pino({ level: 'warn' }), { url, directUrl: url, secretKey }, { newKeyPair: keyPairsInTurn() });
  await prepareDatabase(deps, url);
  const ctx = await defaultContext(deps);
  return { ctx, close: () => closeDeps(deps) };
}

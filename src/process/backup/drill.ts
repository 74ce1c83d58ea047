import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { calculateJwkThumbprint, createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import { createApp } from '../../app.js';
import { readConfig, type Config } from '../../config.js';
import { BackupRefusal } from '../../db/backup/refusal.js';
import { countRows } from '../../db/backup/tables.js';
import { temporaryDatabase } from '../../db/backup/temporary-database.js';
import { startEmbeddedPostgres } from '../../db/postgres/embedded/embedded-postgres.js';
import { EmbeddedPostgresError } from '../../db/postgres/embedded/error.js';
import { listEnvironments } from '../../db/tables/environments.js';
import { createContext, type Deps } from '../../domain/context.js';
import { findEnvironmentById } from '../../domain/environments/environments.js';
import { keyRing } from '../../domain/signing-keys/signing-keys.js';
import { createServer } from '../../http/server.js';
import { OutboundError, type GuardedFetch } from '../../platform/fetch/fetch.js';
import type { Logger } from '../../platform/log/logger.js';
import { closeDeps, createDeps, prepareDatabase } from '../service.js';
import type { ShutdownHooks } from '../startup.js';
import type { Manifest } from './manifest.js';
import { restoreBackup } from './restore.js';

type Drill = {
  readonly config: Config;
  readonly logger: Logger;
  readonly stops: ShutdownHooks;
  readonly secretKey: string;
  readonly path: string;
  readonly manifest: Manifest;
  /** Takes a line for the operator. */
  readonly say: (line: string) => void;
};

/** Refuses every request: a drill sends nothing. */
const nobody: GuardedFetch = {
  request: () => Promise.reject(new OutboundError('connect', 'a drill sends nothing')),
  fetch: () => Promise.reject(new OutboundError('connect', 'a drill sends nothing')),
  reach: () => Promise.reject(new OutboundError('connect', 'a drill sends nothing')),
  queue: () => ({ queue: 'fetch', length: 0, wait: 0, refused: 0 }),
  close: () => Promise.resolve(),
};

/** A PostgreSQL of our own; where its package isn't installed, a database of its own on the server of DATABASE_URL. */
async function throwAwayDatabase({ config, logger, stops, say }: Drill): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'identity-provider-drill-'));
  stops.add(() => rm(dataDir, { recursive: true, force: true }));
  try {
    const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
    const postgres = await startEmbeddedPostgres({ dataDir, logger, settings });
    stops.add(() => postgres.stop());
    return postgres.url;
  } catch (error) {
    if (!(error instanceof EmbeddedPostgresError) || config.databaseDirectUrl === null) throw error;
    const { url, name, drop } = await temporaryDatabase(config.databaseDirectUrl);
    stops.add(drop);
    say(`on the database ${name} of the server of DATABASE_URL, as there can be no PostgreSQL of its own here: ${error.message}`);
    return url;
  }
}

/** The client that the drill asks for a token with; it is made in the throw-away database alone. */
const drillClient = () => ({ id: `drill-${randomBytes(8).toString('hex')}`, secret: randomBytes(32).toString('base64url') });

/** Only what is named here is set: whatever else an installation is connected with stays off. */
const drillConfig = ({ config, manifest }: Drill, secretKey: string, url: string, client: ReturnType<typeof drillClient>): Config =>
  readConfig({
    PORT: '0',
    HOST: '127.0.0.1',
    BASE_URL: manifest.base_url,
    DATABASE_URL: url,
    DATABASE_POOL_MAX: '4',
    SECRET_KEY: secretKey,
    SECRET_KEY_PREVIOUS: config.secretKeyPrevious.join(),
    MANAGEMENT_CLIENT_ID: client.id,
    MANAGEMENT_CLIENT_SECRET: client.secret,
    RATE_LIMITS: 'off',
    RATE_LIMIT_STORE: 'memory',
    BREACHED_PASSWORDS_URL: 'off',
    DEV_MAILBOX: 'off',
  });

async function compareCounts(deps: Deps, { tables }: Manifest): Promise<void> {
  const counts = await countRows(deps.db.knex, tables.map(({ name }) => name)); // prettier-ignore
  const other = tables.find(({ name, rows }) => counts.get(name) !== rows);
  if (other) throw new BackupRefusal(`${other.name} has ${counts.get(other.name)} rows, not ${other.rows}: take another backup.`);
}

/** Every environment's keys are opened, and published are those of the backup. */
async function compareKeys(deps: Deps, { signing_keys }: Manifest): Promise<void> {
  for (const { id, slug } of await listEnvironments(deps.db.knex)) {
    const environment = await findEnvironmentById(deps, id);
    if (!environment) continue;
    const { jwks } = await keyRing(createContext(deps, environment));
    const { keys } = JSON.parse(jwks) as JSONWebKeySet;
    const kids = await Promise.all(keys.map((key) => calculateJwkThumbprint(key)));
    const expected = signing_keys.filter((key) => key.environment === slug).map(({ kid }) => kid);
    if ([...kids].sort().join() !== [...expected].sort().join())
      throw new BackupRefusal(
        `the signing keys of environment ${slug} are ${kids.join(', ')}, not ${expected.join(', ')}: take another backup.`,
      );
  }
}

/** Answers requests on this machine alone. No loop runs: no mail, no delivery, no logout token, no rotation. */
async function serve(deps: Deps, stops: ShutdownHooks): Promise<string> {
  const service = createApp(deps);
  const server: Server = createServer(service.app, service.admission, service.answerAhead);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.add(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await service.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answered = async (what: string, response: Response): Promise<unknown> => {
  const body = await response.text();
  if (response.ok) return JSON.parse(body);
  throw new BackupRefusal(`${what} was answered with ${response.status}: ${body.slice(0, 500)}`);
};

/** JWKS and token by HTTP, as clients get them. @returns the `kid` that signed */
async function askForToken(address: string, deps: Deps, client: ReturnType<typeof drillClient>): Promise<string> {
  const jwks = (await answered('the JWKS', await fetch(`${address}/.well-known/jwks.json`))) as JSONWebKeySet;
  const { baseUrl } = deps.config;
  const answer = await fetch(`${address}/oauth/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: `${baseUrl}/api` }),
  });
  const { access_token } = (await answered('the token request', answer)) as { access_token: string };
  const { protectedHeader } = await jwtVerify(access_token, createLocalJWKSet(jwks), { issuer: baseUrl, audience: `${baseUrl}/api` });
  return protectedHeader.kid ?? '';
}

/**
 * Restores a checked backup into a throw-away database, starts a service on it and asks that for what clients ask for. Nothing is sent to anybody, and the
 * throw-away database goes when `stops` run.
 * @throws {BackupRefusal} that says what differs
 */
export async function drill(given: Drill): Promise<void> {
  const { logger, stops, secretKey, path, manifest, say } = given;
  const url = await throwAwayDatabase(given);
  const client = drillClient();
  const config = drillConfig(given, secretKey, url, client);
  const storage = { url, directUrl: url, secretKey };
  const txtLookup = () => Promise.reject(new Error('a drill asks nobody'));
  const deps = createDeps(config, logger, storage, { fetch: nobody, txtLookup, mailer: null });
  stops.add(() => closeDeps(deps));
  await restoreBackup(deps, { url, path, manifest, keepSessions: true });
  await compareCounts(deps, manifest);
  say(`restored: ${manifest.tables.length} tables with as many rows as at the backup, of ${manifest.created_at}`);
  await prepareDatabase(deps, url);
  await compareKeys(deps, manifest);
  say(`started: ${manifest.signing_keys.length} signing keys, those of the backup`);
  const kid = await askForToken(await serve(deps, stops), deps, client);
  say(`a token was issued and verified, signed by ${kid}`);
}

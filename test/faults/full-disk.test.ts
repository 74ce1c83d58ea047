// A full disk (fault F11): the files of tables become /dev/full, to which every write ends with the system's own ENOSPC. `test/faults/run.ts F11`
// fills a whole disk, where that is permitted.
import { randomBytes } from 'node:crypto';
import { mkdtemp, readlink, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../src/db/postgres/embedded/embedded-postgres.js';
import type { Context } from '../../src/domain/context.js';
import { addClient, addGrant, addResource } from '../support/data.js';
import { administer } from '../support/database.js';
import { oauthPost, tokenRequest } from '../support/oauth.js';
import { startTestService, type TestService } from '../support/service.js';
import { eventually } from '../support/webhooks.js';

const cleanups: (() => unknown)[] = [];
let service: TestService;
let ctx: Context;
let directory: string;

beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'identity-provider-full-'));
  cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
  const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
  const postgres = await startEmbeddedPostgres({ dataDir, logger: pino({ level: 'silent' }), settings });
  cleanups.push(() => postgres.stop());
  service = await startTestService({}, { database: { url: postgres.url, secretKey: randomBytes(32).toString('base64') } });
  cleanups.push(() => service.stop());
  ctx = await service.context();
  // PostgreSQL works in its data directory.
  const { pid } = await one<{ pid: number }>('select pg_backend_pid() as pid');
  directory = await readlink(`/proc/${pid}/cwd`);
});
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

async function one<Row>(text: string, values: readonly string[] = []): Promise<Row> {
  const { rows } = await ctx.knex.raw<{ rows: Row[] }>(text, values);
  return rows[0] as Row;
}

/** Connections hold files open: what is exchanged is seen by new ones. */
const reconnect = () =>
  administer(
    service.databaseUrl,
    'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );

/** Leaves no room in tables that have no row yet. @returns what makes room again */
async function fill(tables: readonly string[]): Promise<() => Promise<void>> {
  const files: string[] = [];
  for (const table of tables) {
    const { file, size } = await one<{ file: string; size: number }>(
      'select pg_relation_filepath(name::regclass) as file, pg_relation_size(name::regclass) as size from (select ? as name) t',
      [table],
    );
    expect([table, size]).toEqual([table, 0]);
    files.push(join(directory, file));
  }
  for (const file of files) {
    await rename(file, `${file}.kept`);
    await symlink('/dev/full', file);
  }
  await reconnect();
  return async () => {
    for (const file of files) await rename(`${file}.kept`, file);
    await reconnect();
  };
}

test('the disk is full: writes are 503, reads and what needs no write go on, and with room again all is well without repair (fault F11)', async () => {
  const client = await addClient(ctx, { grant_types: ['client_credentials'], application_type: 'machine' });
  for (const token_format of ['jwt', 'opaque'] as const) {
    const resource = await addResource(ctx, { identifier: `https://${token_format}.example`, token_format });
    await addGrant(ctx, client, resource);
  }
  const token = (format: string) =>
    tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: `https://${format}.example` });
  const register = () => fetch(`${service.url}/register`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ email: 'ada@example.com' }) }); // prettier-ignore
  const jwt = (await token('jwt')).body.access_token;

  const makeRoom = await fill(['access_tokens', 'passcodes', 'mails']);
  await eventually(async () => (await token('jwt')).status === 200);
  for (let i = 0; i < 5; i++) {
    const refused = await token('opaque');
    expect([refused.status, refused.body.error]).toEqual([503, 'temporarily_unavailable']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await register()).status).toBe(503);
    expect((await token('jwt')).status).toBe(200);
    expect((await oauthPost(service.url, '/oauth/introspect', client, { token: jwt })).body).toMatchObject({ active: true });
    for (const path of ['/.well-known/jwks.json', '/.well-known/openid-configuration', '/readyz', '/healthz'])
      expect([path, (await fetch(service.url + path)).status]).toEqual([path, 200]);
  }
  expect(service.log.some((line) => line.includes('53100'))).toBe(true);

  await makeRoom();
  const opaque = await eventually(async () => {
    const answer = await token('opaque');
    return answer.status === 200 && answer.body.access_token;
  });
  expect((await oauthPost(service.url, '/oauth/introspect', client, { token: opaque })).body).toMatchObject({ active: true });
  await eventually(async () => (await register()).ok);
}, 60_000);

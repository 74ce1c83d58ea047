// An import of users by the service as a process of its own: what it takes, and that a process that is killed in the middle of it loses and doubles nothing.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { findApiResourceByIdentifier } from '../../src/db/tables/api_resources.js';
import { bodyLimits } from '../../src/http/request/body-limits.js';
import { addMachine } from '../support/data.js';
import { ndjson, sendData } from '../support/imports.js';
import { Api, managementToken, type Document } from '../support/management.js';
import { programArguments } from '../support/compiled.js';
import { startReplica, type Replica } from '../support/replica.js';
import { eventually } from '../support/webhooks.js';
import { playDirectly, type Scenario } from './scenario.js';

const partBytes = bodyLimits.import_part;
/** As `bin/start.sh` starts the service. */
const options = ['--max-semi-space-size=16', '--heap-growing-percent=50', '--no-allocation-site-pretenuring'];
const tunables = 'glibc.malloc.mmap_threshold=8388608:glibc.malloc.hugetlb=1:glibc.malloc.arena_max=2';

/** A hash of bcrypt in form: an import takes it over and computes none. */
const bcrypt = () => `$2b$10$${randomBytes(40).toString('base64').replaceAll('+', '.').slice(0, 53)}`;

const people = (count: number, padding: number): string =>
  ndjson(
    Array.from({ length: count }, (_, n) => ({
      email: `person-${n}@example.com`,
      first_name: 'Ada',
      last_name: `Lovelace ${n}`,
      external_id: `old-${n}`,
      password_hash: bcrypt(),
      metadata: { note: 'x'.repeat(padding) },
    })),
  );

/** The memory of a process in MiB: now, or the most so far. */
const memoryOf = ({ process: { pid } }: Replica, field: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

type Size = { readonly rows: number; readonly kill: boolean; /** Bytes more in each row. */ readonly padding?: number };

export const userImport =
  ({ rows, kill, padding = 0 }: Size): Scenario =>
  async ({ url, secretKey, ctx }) => {
    const management = await findApiResourceByIdentifier(ctx.scope, ctx.environment.management_audience);
    assert.ok(management);
    const client = await addMachine(ctx, management);
    await ctx.db
      .knex('client_grants')
      .where({ client_id: client.id })
      .update({ scopes: ['user_imports:read', 'user_imports:write', 'users:write'] });
    const settings = { BASE_URL: ctx.environment.base_url, GLIBC_TUNABLES: tunables };
    const program = [...options, ...(await programArguments('main'))];
    const start = () => startReplica(url, secretKey, settings, [], program);
    let replica = await start();
    const host = new URL(ctx.environment.base_url).host;
    const token = await managementToken(replica.url, client, { host });
    const api = () => new Api(replica.url, token, host);
    const { id } = await api().create('user_imports', { mode: 'create' });
    const progress = async () => (await api().get(`/user_imports/${id}`)).body['data'].attributes as Document;

    const file = Buffer.from(people(rows, padding));
    const idle = memoryOf(replica, 'VmRSS');
    const begun = performance.now();
    for (let from = 0; from < file.length; from += partBytes) {
      const part = file.subarray(from, from + partBytes);
      const range = `bytes ${from}-${from + part.length - 1}/${file.length}`;
      const answer = await sendData(api(), id as string, part, { 'content-range': range });
      assert.equal(answer.status, 200, answer.text);
    }
    let most = memoryOf(replica, 'VmHWM');
    if (kill) {
      await eventually(async () => (await progress())['row_count'] > 0);
      await replica.end('SIGKILL');
      replica = await start();
      const left = await progress();
      assert.ok(left['status'] === 'running' && left['row_count'] < rows, 'the process was killed after the end');
      // The lease of the killed one is over.
      await ctx.db.knex('user_imports').where({ id }).update({ leased_until: ctx.clock.now() });
    }
    await eventually(async () => (await progress())['finished_at'] !== null, 600_000);
    const seconds = (performance.now() - begun) / 1000;
    const { status, row_count, created_count, failed_count } = await progress();
    assert.deepEqual({ status, row_count, created_count, failed_count }, { status: 'succeeded', row_count: rows, created_count: rows, failed_count: 0 }); // prettier-ignore
    const counted = async (text: string) => Number((await ctx.db.knex.raw<{ rows: { n: string }[] }>(text)).rows[0]?.n);
    assert.equal(await counted(`select count(*) n from users where email like 'person-%'`), rows);
    assert.equal(await counted(`select count(*) n from audit_logs where action = 'user.created'`), rows);
    assert.equal(await counted('select count(*) n from user_import_chunks'), 0);
    most = Math.max(most, memoryOf(replica, 'VmHWM'));
    await replica.end('SIGTERM');
    const memory_mib = Math.round(most - idle);
    return { rows, file_mib: Math.round(file.length / 2 ** 20), seconds: Math.round(seconds), memory_mib, idle_mib: Math.round(idle) };
  };

await playDirectly(import.meta.url, userImport({ rows: 100_000, kill: false }), true);

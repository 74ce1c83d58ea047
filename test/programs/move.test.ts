// `idp environments move` between two PostgreSQLs, by their own logical replication (specification 24.3).
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { awaitWriters, betweenWrites, raiseFence } from '../../src/db/cells/fence.js';
import { digestTables, listMovedTables, listUnloggedTables } from '../../src/db/cells/moved-tables.js';
import type { Context } from '../../src/domain/context.js';
import { baseUrl, beginMove, move, newSecretKey, purge, startCell, type Cell } from '../support/cells.js';
import { addClient, addEnvironment, addUser } from '../support/data.js';
import { onConnection } from '../support/database.js';
import { fromAddress } from '../support/from-address.js';
import { addWebhook, emitRoles, eventually } from '../support/webhooks.js';

let north: Cell;
let south: Cell;

beforeAll(async () => {
  const secretKey = newSecretKey();
  north = await startCell('north', secretKey);
  south = await startCell('south', secretKey, { changed: { wal_level: 'replica' } });
});
afterAll(async () => {
  await north?.stop();
  await south?.stop();
});

const hostOf = (slug: string) => `${slug}.${new URL(baseUrl).host}`;
const statusAt = async (cell: Cell, slug: string) =>
  (await fromAddress('127.0.0.1', `${cell.address}/.well-known/openid-configuration`, { headers: { host: hostOf(slug) } })).status;
const served = async (slug: string) => [await statusAt(north, slug), await statusAt(south, slug)];

/** An environment of the first cell with somebody in it. */
async function inhabited(slug: string): Promise<Context> {
  const ctx = await addEnvironment(north.service.deps, slug);
  await addUser(ctx);
  await addClient(ctx);
  await addWebhook(ctx, 'http://127.0.0.1:49151/', { events: ['role.created'] });
  await emitRoles(ctx, 5);
  await eventually(
    async () => (await ctx.db.knex('events').where({ environment_id: ctx.environment.id }).whereNull('position')).length === 0,
  );
  return ctx;
}

const digests = (cell: Cell, id: string) =>
  onConnection(cell.database, async (client) => digestTables(client, await listMovedTables(client), id));
const rowsIn = async (cell: Cell, id: string) => (await digests(cell, id)).reduce((sum, { rows }) => sum + rows, 0);

describe('what moves', () => {
  test('is every table with rows of environments, but for what processes tell each other', async () => {
    const known = await onConnection(north.database, async (client) => {
      const moved = [...(await listMovedTables(client)), ...(await listUnloggedTables(client))].map(({ name }) => name);
      const { rows } = await client.query<{ name: string }>(
        `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'environment_id'
         where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
      );
      return { moved: moved.toSorted(), all: rows.map(({ name }) => name).filter((name) => name !== 'cache_changes') };
    });
    expect(known.moved).toEqual(known.all.toSorted());
  });
});

describe('a move', () => {
  test('has the environment served there as it was here, and refused here (attack 62.1843)', async () => {
    const ctx = await inhabited('acme');
    await ctx.db
      .knex('dpop_proofs')
      .insert({ environment_id: ctx.environment.id, digest: Buffer.from('spent'), expires_at: new Date(Date.now() + 600_000) });
    expect(await served('acme')).toEqual([200, 421]);
    const { code, stdout, stderr } = await move('acme', north, south);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^acme\.id\.localhost south$/m);
    await expect.poll(() => served('acme')).toEqual([503, 200]);
    expect(await rowsIn(south, ctx.environment.id)).toBeGreaterThan(10);
    // A DPoP proof that was spent here is spent there.
    expect(await south.service.deps.db.knex('dpop_proofs').where({ environment_id: ctx.environment.id })).toHaveLength(1);
    const left = await onConnection(south.database, (one) => one.query('select from pg_subscription'));
    const slots = await onConnection(north.database, (one) => one.query('select from pg_replication_slots'));
    expect([left.rowCount, slots.rowCount]).toEqual([0, 0]);
    expect((await move('acme', north, south)).code).toBe(0);
    const back = await move('acme', north, south, '--abort');
    expect([back.code, back.stderr]).toEqual([1, expect.stringContaining('served there already')]);
  });

  test('leads back, where what is left of it gives way to what it has become (specification 24.3.8)', async () => {
    const west = await startCell('west', north.service.secretKey);
    try {
      const { environment } = await inhabited('returning');
      expect((await move('returning', north, west)).code).toBe(0);
      const there = await west.service.contextOf(environment.id);
      const user = await addUser(there);
      await there.db.knex('clients').where({ environment_id: environment.id, is_system: false }).delete();
      const rows = await digests(west, environment.id);
      const { code, stderr } = await move('returning', west, north);
      expect([code, stderr]).toEqual([0, '']);
      await expect.poll(async () => [await statusAt(north, 'returning'), await statusAt(west, 'returning')]).toEqual([200, 503]);
      const knex = north.service.deps.db.knex;
      expect(await knex('users').where({ environment_id: environment.id, id: user.id })).toHaveLength(1);
      expect(await knex('clients').where({ environment_id: environment.id, is_system: false })).toEqual([]);
      const ofUsers = (found: typeof rows) => found.find(({ name }) => name === 'users');
      expect(ofUsers(await digests(north, environment.id))).toEqual(ofUsers(rows));
      await emitRoles(await north.service.contextOf(environment.id), 1);
    } finally {
      await west.stop();
    }
  });

  test('is refused for the default environment, a taken name, and one whose key is another, and changes nothing', async () => {
    await addEnvironment(north.service.deps, 'taken');
    await addEnvironment(south.service.deps, 'taken');
    for (const [slug, reason] of [
      ['taken', 'there is an environment taken there already'],
      ['default', 'the default environment stays'],
      ['nobody', 'there is no environment nobody here'],
    ] as const) {
      const { code, stderr } = await move(slug, north, south);
      expect([slug, code, stderr]).toEqual([slug, 1, expect.stringContaining(reason)]);
    }
    const { stderr } = await move('taken', south, north);
    expect(stderr).toContain('wal_level here is not logical');
    const stranger = { ...north, service: { ...north.service, secretKey: newSecretKey() } };
    expect((await move('taken', stranger, south)).stderr).toContain('SECRET_KEY');
    expect(await statusAt(north, 'taken')).toBe(200);
  });

  test('waits for a transaction that has written, which still commits, and for no longer than it may (attack 62.1844)', async () => {
    const { environment } = await inhabited('busy');
    const before = new pg.Client({ connectionString: north.database });
    await before.connect();
    await onConnection(north.database, async (mover) => {
      await raiseFence(mover, await listMovedTables(mover), environment.id);
      await before.query('begin');
      await before.query('update users set updated_at = now() where environment_id = $1', [environment.id]);
      await mover.query('update environments set held_at = now() where id = $1', [environment.id]);
      await expect(awaitWriters(mover, environment.id)).rejects.toThrow('still open');
      await before.query('commit');
      await awaitWriters(mover, environment.id);
      const late = before.query('update users set updated_at = now() where environment_id = $1', [environment.id]);
      await expect(late).rejects.toMatchObject({ code: 'ENV02' });
    }).finally(() => before.end());
  });

  const planted = `insert into revocations (environment_id, id, expires_at) values ($1, gen_random_uuid(), now() + interval '1 day')`;

  test('that finds other rows there never holds the environment', async () => {
    const { environment } = await inhabited('other');
    const running = await beginMove('other', north, south);
    await running.prints('subscribed');
    // As replication writes: nobody else can.
    await onConnection(south.database, async (one) => {
      await one.query('set session_replication_role = replica');
      await one.query(planted, [environment.id]);
    });
    const { code, stdout, stderr } = await running.ended;
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^not the same there: .*revocations$/m)]);
    expect(stdout).not.toMatch(/^held$/m);
    expect(await served('other')).toEqual([200, 503]);
    expect((await move('other', north, south, '--abort')).code).toBe(0);
    await expect.poll(() => served('other')).toEqual([200, 421]);
  });

  test('compares before the hold, and has what is written in between follow; nobody else writes there (attack 66.1900)', async () => {
    const ctx = await inhabited('between');
    const running = await beginMove('between', north, south);
    await running.prints('subscribed');
    const other = onConnection(south.database, (one) => one.query(planted, [ctx.environment.id]));
    await expect(other).rejects.toMatchObject({ code: 'ENV02' });
    let written = 0;
    let told = '';
    const write = async (): Promise<void> => {
      while (!told.includes('closed')) {
        await onConnection(north.database, (one) => one.query(planted, [ctx.environment.id])).then(
          () => (written += 1),
          (error: unknown) => expect(error).toMatchObject({ code: 'ENV02' }),
        );
        told = running.printed();
      }
    };
    await write();
    const { code, stdout, stderr } = await running.ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.indexOf('compared')).toBeLessThan(stdout.indexOf('\nheld\n'));
    expect(stdout.match(/^compared/gm)).toHaveLength(1);
    const { rows } = await onConnection(south.database, (one) => one.query('select from revocations where environment_id = $1', [ctx.environment.id])); // prettier-ignore
    expect([rows.length, written]).toEqual([written, expect.toSatisfy((n: number) => n > 10)]);
  });

  test('reads as one moment what each side has, while others write on (attack 66.1901)', async () => {
    const { environment } = await inhabited('moment');
    await onConnection(north.database, async (mover) => {
      await raiseFence(mover, await listMovedTables(mover), environment.id);
      const late = await betweenWrites(mover, environment.id, async () => {
        const waiting = onConnection(north.database, (one) => one.query(planted, [environment.id]));
        const lock = `select from pg_locks where locktype = 'advisory' and not granted and mode = 'ShareLock'`;
        await eventually(async () => (await mover.query(lock)).rowCount === 1);
        await mover.query('begin isolation level repeatable read read only');
        expect((await mover.query('select from revocations where environment_id = $1', [environment.id])).rowCount).toBe(0);
        return { waiting };
      });
      expect((await late.waiting).rowCount).toBe(1);
      expect((await mover.query('select from revocations where environment_id = $1', [environment.id])).rowCount).toBe(0);
      await mover.query('commit');
    });
  });

  test('is refused where a server has no room for a copy, which it says in a sentence', async () => {
    await inhabited('crowded');
    const full = `select pg_create_physical_replication_slot('full_' || i) from generate_series(1, current_setting('max_replication_slots')::integer - (select count(*) from pg_replication_slots)) i`;
    try {
      await onConnection(north.database, (one) => one.query(full));
      const { code, stderr } = await move('crowded', north, south);
      expect([code, stderr]).toEqual([
        1,
        'max_replication_slots here leaves 0 free, and copying needs 7: raise it (a restart of PostgreSQL)\n',
      ]);
    } finally {
      await onConnection(north.database, (one) =>
        one.query(`select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name like 'full_%'`),
      );
    }
    expect(await served('crowded')).toEqual([200, 421]);
  });

  test('has PostgreSQL refuse whoever writes late, whatever they remember (attack 62.1845)', async () => {
    const ctx = await inhabited('late');
    expect((await move('late', north, south)).code).toBe(0);
    const late = onConnection(north.database, (one) =>
      one.query('update users set updated_at = now() where environment_id = $1', [ctx.environment.id]),
    );
    await expect(late).rejects.toMatchObject({ code: 'ENV02' });
  });
});

describe('a mover that is killed', () => {
  const steps = [
    'checked',
    'fenced',
    'published',
    'subscribed',
    'copied',
    'compared',
    'held',
    'closed',
    'caught up',
    'unsubscribed',
    'released',
  ];

  test.each(steps)('once it said “%s” goes on when it is run again (fault F86)', async (step) => {
    const slug = `killed-${step.replace(' ', '-')}`;
    const ctx = await inhabited(slug);
    const running = await beginMove(slug, north, south);
    await running.prints(step);
    running.kill('SIGKILL');
    await running.ended;
    const { code, stderr } = await move(slug, north, south);
    expect([code, stderr]).toEqual([0, '']);
    await expect.poll(() => served(slug)).toEqual([503, 200]);
    expect(await rowsIn(south, ctx.environment.id)).toBeGreaterThan(10);
  });

  // None later: what follows takes milliseconds, and may be over before the kill.
  test.each(['subscribed', 'copied', 'compared', 'held'])('once it said “%s” is undone by --abort (fault F86)', async (step) => {
    const slug = `undone-${step}`;
    const ctx = await inhabited(slug);
    const before = await rowsIn(north, ctx.environment.id);
    const running = await beginMove(slug, north, south);
    await running.prints(step);
    running.kill('SIGKILL');
    await running.ended;
    await eventually(async () => (await move(slug, north, south, '--abort')).code === 0);
    await expect.poll(() => served(slug)).toEqual([200, 421]);
    expect(await rowsIn(north, ctx.environment.id)).toBeGreaterThanOrEqual(before);
    expect(await rowsIn(south, ctx.environment.id)).toBe(0);
    await emitRoles(ctx, 1);
  });
});

describe('purging', () => {
  test('is refused for seven days, and for what has not moved; then nothing is left', async () => {
    const ctx = await inhabited('gone');
    expect((await purge('gone', north)).stderr).toContain('has not moved');
    expect((await move('gone', north, south)).code).toBe(0);
    expect((await purge('gone', north)).stderr).toContain('less than seven days ago');
    const week = `update environments set moved_at = moved_at - interval '7 days' where id = $1`;
    await onConnection(north.database, (one) => one.query(week, [ctx.environment.id]));
    expect(await purge('gone', north)).toMatchObject({ code: 0, stdout: 'purged: gone\n' });
    expect(await rowsIn(north, ctx.environment.id)).toBe(0);
    expect(await statusAt(south, 'gone')).toBe(200);
  });
});

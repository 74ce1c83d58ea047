import type { Knex } from 'knex';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { janitorPass, startJanitor } from '../../src/jobs/janitor.js';
import type { Context } from '../../src/domain/context.js';
import { tryAdvisoryLock } from '../../src/db/connection/advisory-lock.js';
import { createKnex } from '../../src/db/connection/knex.js';
import { challengeLifetime } from '../../src/domain/authenticators/challenge.js';
import { spendNonce } from '../../src/db/tables/spent_challenges.js';
import { createTestDatabase } from '../support/database.js';
import { openContext } from '../support/standalone.js';

// Without a running service: its own janitor stays out of the way.
let ctx: Context;
/** The pool of another process. */
let replica: Knex;
const endings: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const database = await createTestDatabase();
  endings.push(() => database.drop());
  replica = createKnex({ url: database.url, poolMax: 2 });
  endings.push(() => replica.destroy());
  const opened = await openContext(database.url, Buffer.alloc(32, 7).toString('base64'));
  endings.push(() => opened.close());
  ctx = opened.ctx;
});
afterAll(async () => {
  for (const end of endings.reverse()) await end();
});

/** What a test that failed has left. */
const swept = ['rate_limits', 'access_tokens', 'device_codes', 'user_code_guesses', 'spent_challenges'];
beforeEach(() => ctx.db.knex.raw(`truncate ${swept.join(', ')}`));

async function addExpired(rows: number): Promise<void> {
  await ctx.db.knex.raw(
    `insert into rate_limits (key, expires_at)
     select sha256(convert_to('limit ' || n, 'utf8')), now() - interval '1 hour' from generate_series(1, ?::integer) n`,
    [rows],
  );
  await ctx.db.knex.raw(
    `insert into access_tokens (environment_id, digest, jti, client_id, scope, audience, issued_at, expires_at)
     select ?, sha256(convert_to('token ' || n, 'utf8')), gen_random_uuid(), 'gone', '', '', now() - interval '2 hours', now() - interval '1 hour'
     from generate_series(1, ?::integer) n`,
    [ctx.environment.id, rows],
  );
}

test('one pass takes what has expired batch after batch, counted limits too, and no more than fifty thousand rows a table', async () => {
  await addExpired(51_500);
  expect(await janitorPass(ctx)).toMatchObject({ rate_limits: 50_000, access_tokens: 50_000 });
  expect(await janitorPass(ctx)).toMatchObject({ rate_limits: 1500, access_tokens: 1500 });
});

test('what a pass leaves of a backlog goes at once, without a pause of half a minute', async () => {
  await addExpired(50_500);
  const janitor = startJanitor(ctx);
  onTestFinished(() => janitor.stop());
  const left = async () => Number((await ctx.db.knex('access_tokens').where('client_id', 'gone').count({ n: '*' }).first())?.['n']);
  // A second pass, which otherwise came after 22 seconds or more.
  await expect.poll(left, { interval: 100 }).toBe(0);
}, 40_000);

test('rows that somebody holds are passed over, with those behind them taken, and go the next time', async () => {
  await addExpired(1500);
  await replica.transaction(async (held) => {
    await held.raw(`select 1 from access_tokens where client_id = 'gone' order by digest limit 3 for update`);
    expect(await janitorPass(ctx)).toMatchObject({ access_tokens: 1497 });
  });
  expect(await janitorPass(ctx)).toMatchObject({ access_tokens: 3 });
});

test('a table that something holds leaves no other unswept, and goes when it is let go', async () => {
  await addExpired(10);
  await replica.transaction(async (held) => {
    await held.raw('lock table rate_limits in access exclusive mode');
    await expect(janitorPass(ctx)).rejects.toThrow();
    expect(await ctx.db.knex('access_tokens').where('client_id', 'gone')).toHaveLength(0);
  });
  expect(await janitorPass(ctx)).toMatchObject({ rate_limits: 10, access_tokens: 0 });
}, 60_000);

test('while another replica is at it, a pass does nothing', async () => {
  await addExpired(10);
  await tryAdvisoryLock(replica, 'janitor', async () => expect(await janitorPass(ctx)).toEqual({}));
  expect(await janitorPass(ctx)).toMatchObject({ rate_limits: 10, access_tokens: 10 });
});

test('a spent challenge is remembered beyond its end, for replicas whose clocks are behind; then it goes (attack 25.646)', async () => {
  const nonce = Buffer.alloc(32, 5);
  const ended = (secondsAgo: number) => new Date(ctx.clock.now().getTime() - secondsAgo * 1000);
  expect(await spendNonce(ctx.scope, nonce, ended(challengeLifetime))).toBe(true);
  expect(await janitorPass(ctx)).toMatchObject({ spent_challenges: 0 });
  expect(await spendNonce(ctx.scope, nonce, ended(challengeLifetime))).toBe(false);
  expect(await spendNonce(ctx.scope, Buffer.alloc(32, 6), ended(601))).toBe(true);
  expect(await janitorPass(ctx)).toMatchObject({ spent_challenges: 1 });
});

test('device codes stay for a day, in which the device is still told that they have expired; guesses for ten minutes', async () => {
  const rows = ['25 hours', '2 hours'].map((age) => ({ age, digest: age }));
  for (const { age, digest } of rows) {
    await ctx.db.knex.raw(
      `insert into device_codes (environment_id, digest, user_code_digest, client_id, scope, created_at, expires_at, interval_seconds)
       values (:environment, convert_to(:digest, 'utf8'), convert_to(:digest, 'utf8'), 'tv', '', now(), now() - :age::interval, 5)`,
      { environment: ctx.environment.id, digest, age },
    );
    await ctx.db.knex.raw(
      `insert into user_code_guesses (environment_id, guesser_digest, guessed_at, expires_at)
       values (:environment, convert_to(:digest, 'utf8'), '{}', now() - :age::interval)`,
      { environment: ctx.environment.id, digest, age },
    );
  }
  expect(await janitorPass(ctx)).toMatchObject({ device_codes: 1, user_code_guesses: 2 });
});

import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from '../src/domain/context.js';
import { janitorPass } from '../src/jobs/janitor.js';
import { percentile } from './measure.js';
import { familyTime, usedBetween } from './processor-time.js';

/** Inserts so many tokens a second, whatever becomes of those before, until told to stop. @returns milliseconds of each, from when it was due */
async function issueSteadily(insert: () => Promise<unknown>, perSecond: number, stopped: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  const running = new Set<Promise<void>>();
  const started = performance.now();
  for (let came = 0; !stopped.aborted; await delay(2)) {
    for (; came < ((performance.now() - started) / 1000) * perSecond; came++) {
      const due = started + (came / perSecond) * 1000;
      const one = insert().then(() => void times.push(performance.now() - due)).finally(() => running.delete(one)); // prettier-ignore
      running.add(one);
    }
  }
  await Promise.all(running);
  return times;
}

async function issuedFor(seconds: number, insert: () => Promise<unknown>, perSecond: number): Promise<number[]> {
  const ending = new AbortController();
  setTimeout(() => ending.abort(), seconds * 1000);
  return issueSteadily(insert, perSecond, ending.signal);
}

/** How fast expired tokens go while others are issued at a steady rate, and what those that are issued notice of it. Text. */
export async function measureJanitor(ctx: Context, insert: () => Promise<unknown>, expired: number, postgres: number): Promise<string[]> {
  const perSecond = 2000;
  await ctx.db.knex.raw(
    `insert into access_tokens (environment_id, digest, jti, client_id, scope, audience, issued_at, expires_at)
     select ?, sha256(convert_to('expired ' || n, 'utf8')), gen_random_uuid(), 'bench', 'read', 'https://opaque.bench.example', now() - interval '2 hours',
       now() - interval '1 hour' + n * interval '1 millisecond' from generate_series(1, ?::integer) n`,
    [ctx.environment.id, expired],
  );
  const quiet = await issuedFor(5, insert, perSecond);
  const ending = new AbortController();
  const beside = issueSteadily(insert, perSecond, ending.signal);
  const before = familyTime(postgres);
  const began = performance.now();
  let gone = 0;
  let passMs = 0;
  let passes = 0;
  while (gone < expired) {
    const passBegan = performance.now();
    const swept = (await janitorPass(ctx))['access_tokens'];
    // Another process is at it: its passes are as long.
    if (swept === undefined) {
      await delay(20);
      continue;
    }
    if (swept === 0 && (await ctx.db.knex('access_tokens').where('expires_at', '<', ctx.clock.now()).first('jti')) === undefined) break;
    passMs += performance.now() - passBegan;
    passes += 1;
    gone += swept;
  }
  const seconds = (performance.now() - began) / 1000;
  ending.abort();
  const noticed = await beside;
  const used = usedBetween(before, familyTime(postgres)) / 1e9 / seconds;
  const ms = (times: number[]) => `p50 ${percentile(times, 0.5).toFixed(1)}, p99 ${percentile(times, 0.99).toFixed(1)} ms`;
  return [
    `janitor: ${gone} expired tokens in ${seconds.toFixed(1)} s, ${(gone / (passMs / 1000)).toFixed(0)} a second in ${passes} passes, beside ${(noticed.length / seconds).toFixed(0)} tokens issued a second (aim: as many as are issued, 2000); PostgreSQL used ${(used * 100).toFixed(0)} % of a processor`,
    `  a token is stored in ${ms(quiet)}; beside the janitor in ${ms(noticed)}`,
  ];
}

import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { readConfig } from '../src/config.js';
import { defaultContext } from '../src/domain/environments/bootstrap.js';
import type { Context } from '../src/domain/context.js';
import { sessionBounds } from '../src/domain/sessions/sessions.js';
import { statementObserver } from '../src/db/scope.js';
import { findAccessToken, findJwtStanding } from '../src/db/tables/access_tokens.js';
import { insertClientAccessToken } from '../src/db/tables/client_tokens.js';
import { redeemAuthorizationCode } from '../src/db/tables/authorization_codes.js';
import { findRefreshToken, useRefreshToken } from '../src/db/tables/refresh_tokens.js';
import { findSessionByToken } from '../src/db/tables/sessions.js';
import { digest } from '../src/lib/digest.js';
import { randomToken, uuidv7 } from '../src/lib/random.js';
import { createDeps, prepareDatabase } from '../src/process/service.js';
import type { BenchServer } from './database.js';
import { median, type Plan } from './measure.js';
import { familyTime, usedBetween } from './processor-time.js';

const sizes = [10_000, 1_000_000];
const inFlight = 8;
const hour = 3_600_000;

async function open(server: BenchServer): Promise<Context> {
  const url = await server.create('bench_grown');
  const secretKey = randomBytes(32).toString('base64');
  const config = readConfig({ DATABASE_URL: url, SECRET_KEY: secretKey });
  const deps = createDeps(config, pino({ level: 'warn' }), { url, directUrl: url, secretKey });
  await prepareDatabase(deps, url);
  return defaultContext(deps);
}

/** Tops the table up to `size` rows whose digests are those of the numbers below it. */
async function grow(ctx: Context, from: number, size: number): Promise<void> {
  for (let first = from; first < size; first += 20_000) {
    await ctx.knex.raw(
      `insert into access_tokens (environment_id, digest, jti, client_id, scope, audience, issued_at, expires_at)
       select ?, sha256(convert_to('token ' || n, 'utf8')), gen_random_uuid(), 'bench', 'read', 'https://api.bench.example', now(), now() + interval '1 day'
       from generate_series(?::integer, ?::integer) n`,
      [ctx.environment.id, first, Math.min(size, first + 20_000) - 1],
    );
  }
  await ctx.knex.raw('analyze access_tokens');
}

async function rate(
  operation: () => Promise<unknown>,
  seconds: number,
  postgres: number,
): Promise<{ per_second: number; postgres_us: number }> {
  const started = performance.now();
  const before = familyTime(postgres);
  let count = 0;
  const loop = async () => {
    for (; performance.now() - started < seconds * 1000; count++) await operation();
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  return {
    per_second: (count * 1000) / (performance.now() - started),
    postgres_us: usedBetween(before, familyTime(postgres)) / 1000 / count,
  };
}

const insert = (ctx: Context) => {
  const value = randomToken('at_');
  const now = ctx.clock.now();
  return insertClientAccessToken(ctx.scope, {
    digest: digest(value),
    jti: uuidv7(now.getTime()),
    client_id: 'bench',
    scope: 'read',
    audience: 'https://api.bench.example',
    issued_at: now,
    jkt: null,
    proof: null,
    lifetime: 3600,
    event_id: uuidv7(now.getTime()),
    grant_type: 'client_credentials',
    subscribers: [],
  });
};

/** The texts of the statements behind the endpoints under load. */
async function hotStatements(ctx: Context): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  const none = digest('none');
  const now = ctx.clock.now();
  const id = uuidv7(now.getTime());
  const later = new Date(now.getTime() + hour);
  const common = {
    digest: none,
    now,
    jti: id,
    event_id: id,
    subscribers: [],
    access_token_digest: none,
    jkt: null,
    refresh_jkt: null,
    proof: null,
  };
  const calls: Record<string, () => Promise<unknown>> = {
    'introspection, opaque': () => findAccessToken(ctx.scope, none, 'permissions', ctx.environment.issuers),
    'introspection, JWT': () =>
      findJwtStanding(ctx.scope, { ids: [id], user_id: id, session_id: id, resource: 'https://none.example' }, 'permissions'),
    userinfo: () => findAccessToken(ctx.scope, none, 'user', ctx.environment.issuers),
    session: () => findSessionByToken(ctx.scope, none),
    'refresh, read': () => findRefreshToken(ctx.scope, none, sessionBounds(ctx), { with_user: false }),
    'refresh, write': () =>
      useRefreshToken(ctx.scope, {
        ...common,
        successor_digest: none,
        known_successors: [],
        next_expires_at: later,
        access_token_format: 'opaque',
        access_token_lifetime: 60,
        scope: '',
        audience: '',
      }),
    'code, redeemed': () =>
      redeemAuthorizationCode(ctx.scope, {
        ...common,
        client_id: '',
        redirect_uri: '',
        code_challenge: null,
        resource: null,
        issuer: '',
        session_bounds: sessionBounds(ctx),
        refresh_token_digest: null,
        refresh_expires_at: later,
        grant_expires_at: later,
        with_user: false,
      }),
  };
  for (const [name, call] of Object.entries(calls)) {
    statementObserver.observe = (text) => void texts.set(name, text);
    await call();
  }
  statementObserver.observe = null;
  return texts;
}

const largeTables = /Seq Scan on (access_tokens|refresh_tokens|authorization_codes|sessions|users|revocations|session_clients)/;

/** Each hot statement's generic plan, and whether it reads a table that grows from end to end. */
async function plans(ctx: Context): Promise<string[]> {
  const lines: string[] = [];
  await ctx.knex.transaction(async (trx) => {
    // Tables that are empty here are large there; which of several indexes it takes says something for access_tokens alone.
    await trx.raw('set local enable_seqscan = off');
    for (const [name, text] of await hotStatements(ctx)) {
      const connection = (await trx.client.acquireConnection()) as { query(text: string): Promise<{ rows: { 'QUERY PLAN': string }[] }> };
      const { rows } = await connection.query(`explain (generic_plan, costs off) ${text}`);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      const indexes = [
        ...new Set([...plan.matchAll(/(?:Index (?:Only )?Scan using|Bitmap Index Scan on) (\w+)/g)].map((match) => match[1] ?? '')),
      ];
      lines.push(`${largeTables.test(plan) ? 'SCANS A TABLE' : 'by index'}  ${name}: ${indexes.join(', ')}`);
    }
  });
  return lines;
}

/** Look-up and insert with a table of ten thousand rows and of a million, and how the hot statements find their rows. Text. */
export async function measureGrowth(server: BenchServer, plan: Plan): Promise<string> {
  const ctx = await open(server);
  try {
    const lines: string[] = [];
    let rows = 0;
    for (const size of sizes) {
      await grow(ctx, rows, size);
      rows = size;
      const find = () => findAccessToken(ctx.scope, digest(`token ${Math.floor(Math.random() * size)}`));
      await rate(find, plan.warmUp, server.pid);
      const finds = [];
      const inserts = [];
      for (let round = 0; round < plan.rounds; round++) {
        finds.push(await rate(find, plan.seconds, server.pid));
        inserts.push(await rate(() => insert(ctx), plan.seconds, server.pid));
      }
      const of = (list: readonly { per_second: number; postgres_us: number }[]) =>
        `${median(list.map((one) => one.per_second)).toFixed(0)}/s, ${median(list.map((one) => one.postgres_us)).toFixed(0)} us of PostgreSQL`;
      lines.push(`${String(size).padStart(8)} rows: look-up ${of(finds)}; insert ${of(inserts)}`);
    }
    return [...lines, ...(await plans(ctx))].join('\n');
  } finally {
    await ctx.fetch.close();
    await ctx.knex.destroy();
  }
}

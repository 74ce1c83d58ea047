import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { transaction } from '../src/domain/context.js';
import { emit } from '../src/domain/events/emit.js';
import { createWebhook } from '../src/domain/webhooks/webhooks.js';
import { waitedForProcessor } from './processor-time.js';
import { startSink } from './sink.js';
import type { Interval, Seen } from './tail-causes.js';
import type { Product } from './targets/product.js';

const epoch = () => performance.timeOrigin + performance.now();

/** Looks fifty times a second how long the process's first thread has waited for a processor. */
export function watchProcessor(pid: number): { stop(): Seen['processor'] } {
  const slices: (Interval & { waited: number })[] = [];
  const waitedMs = () => waitedForProcessor(pid) / 1e6;
  let before = { at: epoch(), waited: waitedMs() };
  const timer = setInterval(() => {
    const now = { at: epoch(), waited: waitedMs() };
    slices.push({ from: before.at, to: now.at, waited: now.waited - before.waited });
    before = now;
  }, 20);
  return {
    stop() {
      clearInterval(timer);
      return slices;
    },
  };
}

/** Moments at which something was seen, as intervals: those that follow each other closely are one. */
function intervalsOf(moments: readonly number[], everyMs: number): Interval[] {
  const intervals: { from: number; to: number }[] = [];
  for (const at of moments) {
    const last = intervals.at(-1);
    if (last && at - last.to < 3 * everyMs) last.to = at;
    else intervals.push({ from: at - everyMs, to: at });
  }
  return intervals;
}

const everyMs = 40;

/** Looks again and again what PostgreSQL is at beside the requests. */
async function watchDatabase(url: string, stopped: AbortSignal): Promise<Pick<Seen, 'checkpoints' | 'vacuums' | 'janitor'>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const moments = { checkpoints: [] as number[], vacuums: [] as number[], janitor: [] as number[] };
  const { rows: views } = await client.query<{ there: boolean }>(`select to_regclass('pg_stat_checkpointer') is not null as there`);
  const written = views[0]?.there
    ? '(select buffers_written from pg_stat_checkpointer)'
    : '(select buffers_checkpoint from pg_stat_bgwriter)';
  let buffers = '';
  while (!stopped.aborted) {
    const { rows } = await client.query<{ buffers: string; vacuums: boolean; janitor: boolean }>(
      `select ${written}::text as buffers,
         exists (select from pg_stat_activity where backend_type = 'autovacuum worker') as vacuums,
         exists (select from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query like '%for update skip locked%ended%') as janitor`,
    );
    const at = epoch();
    const [row] = rows;
    if (buffers !== '' && row?.buffers !== buffers) moments.checkpoints.push(at);
    buffers = row?.buffers ?? '';
    if (row?.vacuums) moments.vacuums.push(at);
    if (row?.janitor) moments.janitor.push(at);
    await delay(everyMs);
  }
  await client.end();
  const of = (list: readonly number[]) => intervalsOf(list, everyMs);
  return { checkpoints: of(moments.checkpoints), vacuums: of(moments.vacuums), janitor: of(moments.janitor) };
}

/** Ten events a second for five webhooks, and a thousand tokens a second that have expired: work for the outbox and the janitor. */
async function makeWork({ ctx }: Product, stopped: AbortSignal): Promise<void> {
  for (let n = 0; !stopped.aborted; n++) {
    const at = ctx.clock.now().toISOString();
    await transaction(ctx, (tx) =>
      emit(tx, 'role.created', {
        id: randomUUID(),
        name: 'tail',
        description: null,
        is_default: false,
        permissions: [],
        created_at: at,
        updated_at: at,
      }),
    );
    await ctx.db.knex.raw(
      `insert into access_tokens (environment_id, digest, jti, client_id, scope, audience, issued_at, expires_at)
       select ?, sha256(convert_to('expired ' || ?::text || ' ' || n, 'utf8')), gen_random_uuid(), 'bench', 'read', 'https://opaque.bench.example',
         now() - interval '2 hours', now() - interval '1 hour' from generate_series(1, 100) n`,
      [ctx.environment.id, n],
    );
    await delay(100);
  }
}

/** What goes on beside the requests of a service at work. */
export async function startBackground(target: Product, databaseUrl: string) {
  const sink = await startSink();
  for (let n = 0; n < 5; n++)
    await transaction(target.ctx, (tx) => createWebhook(tx, { name: `Tail ${n}`, url: `${sink.url}/${n}`, events: ['role.created'] }));
  const ending = new AbortController();
  const work = makeWork(target, ending.signal);
  const seen = watchDatabase(databaseUrl, ending.signal);
  return {
    async stop(): Promise<Awaited<typeof seen>> {
      ending.abort();
      await work;
      sink.close();
      return seen;
    },
  };
}

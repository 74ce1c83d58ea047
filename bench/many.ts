import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { emit } from '../src/domain/events/emit.js';
import { transaction } from '../src/domain/context.js';
import { bootstrap } from '../src/domain/configuration/bootstrap.js';
import { createWebhook } from '../src/domain/webhooks/webhooks.js';
import { closedLoop } from './driver.js';
import { forEach, manyThings, type Many } from './many-things.js';
import { median, percentile, type Plan } from './measure.js';
import { familyTime, processorTime, residentMiB, usedBetween } from './processor-time.js';
import { startSink } from './sink.js';
import type { Product } from './targets/product.js';

/** What an operation costs while there are so many of something. Microseconds of processor time; medians of the rounds. */
export type ManySize = {
  readonly size: number;
  readonly server_us: number;
  readonly postgres_us: number;
  readonly p99_ms: number;
  readonly resident_mib: number;
};

export type ManyResult = { readonly name: string; readonly title: string; readonly sizes: readonly ManySize[] };

async function measureSize(many: Many, target: Product, size: number, plan: Plan, postgres: number): Promise<ManySize> {
  let turn = 0;
  const operations = await Promise.all(Array.from({ length: 8 }, () => many.open(target, size, () => turn++)));
  // Each of them has been met once, and what is remembered is.
  do await closedLoop(target.port, operations, plan.warmUp);
  while (turn > 0 && turn < size);
  const rounds: Omit<ManySize, 'size'>[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const before = { server: processorTime(target.pid), postgres: familyTime(postgres) };
    const { operations: done, latencies } = await closedLoop(target.port, operations, plan.seconds);
    rounds.push({
      server_us: (processorTime(target.pid) - before.server) / 1000 / done,
      postgres_us: usedBetween(before.postgres, familyTime(postgres)) / 1000 / done,
      p99_ms: percentile(latencies, 0.99),
      resident_mib: residentMiB(target.pid),
    });
  }
  const of = (key: keyof (typeof rounds)[number]) => median(rounds.map((round) => round[key]));
  const resident_mib = Math.max(...rounds.map((round) => round.resident_mib));
  return { size, server_us: of('server_us'), postgres_us: of('postgres_us'), p99_ms: of('p99_ms'), resident_mib };
}

/** What one event costs for each of so many webhooks that want it, from the commit until the last delivery is recorded. */
async function measureWebhookCount(target: Product, postgres: number): Promise<ManyResult> {
  const { ctx } = target;
  const sink = await startSink();
  const sizes: ManySize[] = [];
  let made = 0;
  for (const size of [500, 5000]) {
    await forEach(made, size, (n) =>
      transaction(ctx, (tx) => createWebhook(tx, { name: `Many ${n}`, url: `${sink.url}/${n}`, events: ['role.created'] })),
    );
    made = size;
    const before = { server: processorTime(target.pid), postgres: familyTime(postgres) };
    const began = performance.now();
    const at = ctx.clock.now().toISOString();
    await transaction(ctx, (tx) =>
      emit(tx, 'role.created', {
        id: randomUUID(),
        name: 'many',
        description: null,
        is_default: false,
        permissions: [],
        created_at: at,
        updated_at: at,
      }),
    );
    const isOpen = () => ctx.db.knex('webhook_queue').first('delivery_id');
    while (await isOpen()) await delay(20);
    sizes.push({
      size,
      server_us: (processorTime(target.pid) - before.server) / 1000 / size,
      postgres_us: usedBetween(before.postgres, familyTime(postgres)) / 1000 / size,
      p99_ms: performance.now() - began,
      resident_mib: residentMiB(target.pid),
    });
  }
  sink.close();
  return { name: 'webhooks', title: 'one event for so many webhooks, each of its deliveries (ms: until the last is recorded)', sizes };
}

/** What a start adds for each environment, from the first look until all of them are prepared; nothing is missing in any. */
async function measureStart(target: Product, size: number, postgres: number): Promise<ManySize> {
  const before = { own: processorTime(process.pid), postgres: familyTime(postgres) };
  const began = performance.now();
  await bootstrap(target.ctx);
  return {
    size,
    server_us: (processorTime(process.pid) - before.own) / 1000 / size,
    postgres_us: usedBetween(before.postgres, familyTime(postgres)) / 1000 / size,
    p99_ms: performance.now() - began,
    resident_mib: residentMiB(process.pid),
  };
}

/** Each of the many in a service of its own, at a tenth of the number and at all of it. */
export async function measureMany(start: (name: string) => Promise<Product>, plan: Plan, postgres: number): Promise<ManyResult[]> {
  const results: ManyResult[] = [];
  const tell = (result: ManyResult) => {
    console.error(manyText([result]));
    results.push(result);
  };
  for (const many of manyThings) {
    console.error(`... ${many.title}`);
    const target = await start(many.name);
    const sizes: ManySize[] = [];
    const starts: ManySize[] = [];
    let made = 0;
    for (const size of many.sizes) {
      await many.grow(target, made, size);
      made = size;
      sizes.push(await measureSize(many, target, size, plan, postgres));
      if (many.name === 'environments') starts.push(await measureStart(target, size, postgres));
    }
    tell({ name: many.name, title: many.title, sizes });
    if (starts.length > 0)
      tell({ name: 'start', title: 'a start with so many environments, each of them (ms: until all are ready)', sizes: starts });
    await target.stop();
  }
  console.error('... webhooks');
  const target = await start('webhooks');
  tell(await measureWebhookCount(target, postgres));
  await target.stop();
  return results;
}

/** The figures in words: what one operation costs, and how much more with ten times as many. */
export function manyText(results: readonly ManyResult[]): string {
  return results
    .flatMap(({ name, title, sizes }) => [
      `${name}: ${title}`,
      ...sizes.map(
        (one) =>
          `  ${String(one.size).padStart(6)}: server ${one.server_us.toFixed(0)} us, PostgreSQL ${one.postgres_us.toFixed(0)} us, p99 ${one.p99_ms.toFixed(1)} ms, ${one.resident_mib.toFixed(0)} MiB`,
      ),
      `  ten times as many: ${((sizes[1]?.server_us ?? 0) / (sizes[0]?.server_us ?? 1)).toFixed(2)} times the server's time, ${((sizes[1]?.postgres_us ?? 0) / (sizes[0]?.postgres_us || 1)).toFixed(2)} times PostgreSQL's`,
    ])
    .join('\n');
}

import { cpus } from 'node:os';
import { closedLoop, type Operation } from './driver.js';
import { median, type Plan } from './measure.js';
import { familyTime, processorTime, usedBetween } from './processor-time.js';
import { scenarios } from './scenarios.js';
import type { BenchServer } from './database.js';
import { startProduct, type Product } from './targets/product.js';

/** One way to run the service; `processors` as `taskset` takes them, empty for all. */
type Layout = { readonly name: string; readonly workers: number; readonly processors: string };

/** What one layout did in one scenario: medians. Shares are of one processor each. */
export type LayoutResult = {
  readonly layout: string;
  readonly per_second: number;
  readonly server_us: number;
  readonly server_share: number;
  readonly driver_share: number;
  readonly postgres_share: number;
};

export type WorkersResult = {
  readonly scenario: string;
  readonly results: readonly LayoutResult[];
  /** Each layout's speed as a multiple of the first one's: medians of the rounds. */
  readonly speed: Readonly<Record<string, number>>;
  /** The same by what an operation costs: how much faster with every processor given to the service, and the load elsewhere. */
  readonly by_processor_time: Readonly<Record<string, number>>;
};

const layouts: readonly Layout[] = [
  { name: 'one process, one processor', workers: 1, processors: '0' },
  { name: 'one process, two processors', workers: 1, processors: '0,1' },
  { name: 'two workers, two processors', workers: 2, processors: '0,1' },
];

async function measureLayout(target: Product, operations: readonly Operation[], seconds: number, postgres: number) {
  const before = { server: familyTime(target.pid), postgres: familyTime(postgres), driver: processorTime(process.pid) };
  const load = await closedLoop(target.port, operations, seconds);
  const share = (nanoseconds: number) => nanoseconds / 1e9 / load.seconds;
  const server = usedBetween(before.server, familyTime(target.pid));
  return {
    per_second: load.operations / load.seconds,
    server_us: server / 1000 / load.operations,
    server_share: share(server),
    driver_share: share(processorTime(process.pid) - before.driver),
    postgres_share: share(usedBetween(before.postgres, familyTime(postgres))),
  };
}

type Cell = Awaited<ReturnType<typeof measureLayout>>;

function sum(scenario: string, cells: ReadonlyMap<Layout, readonly Cell[]>): WorkersResult {
  const of = (layout: Layout, key: keyof Cell) => median((cells.get(layout) ?? []).map((cell) => cell[key]));
  const [first, ...others] = layouts as [Layout, ...Layout[]];
  const alone = cells.get(first) ?? [];
  const ratio = (layout: Layout, of_round: (one: Cell, other: Cell) => number) =>
    median((cells.get(layout) ?? []).map((cell, round) => of_round(cell, alone[round] as Cell)));
  const compared = (of_round: (layout: Layout) => (one: Cell, other: Cell) => number) =>
    Object.fromEntries(others.map((layout) => [layout.name, ratio(layout, of_round(layout))]));
  return {
    scenario,
    results: layouts.map((layout) => ({
      layout: layout.name,
      per_second: of(layout, 'per_second'),
      server_us: of(layout, 'server_us'),
      server_share: of(layout, 'server_share'),
      driver_share: of(layout, 'driver_share'),
      postgres_share: of(layout, 'postgres_share'),
    })),
    speed: compared(() => (one, other) => one.per_second / other.per_second),
    by_processor_time: compared((layout) => (one, other) => (layout.processors.split(',').length * other.server_us) / one.server_us),
  };
}

/** One process against two workers, taking turns; signing and introspection. The driver and PostgreSQL run where there is room. */
export async function measureWorkers(
  server: BenchServer,
  plan: Plan,
  log: number,
  atEnd: (end: () => Promise<void>) => void,
): Promise<WorkersResult[]> {
  if (cpus().length < 2) throw new Error('two processors are needed');
  const targets = new Map<Layout, Product>();
  for (const [i, layout] of layouts.entries()) {
    const target = await startProduct({
      databaseUrl: await server.create(`bench_workers_${i}`),
      processors: layout.processors,
      log,
      env: { WEB_CONCURRENCY: String(layout.workers) },
    });
    atEnd(() => target.stop());
    targets.set(layout, target);
  }
  const measured: WorkersResult[] = [];
  for (const scenario of scenarios.filter(({ name }) => name === 'cc_jwt' || name === 'introspect')) {
    console.error(`... ${scenario.title}`);
    const cells = new Map<Layout, Cell[]>(layouts.map((layout) => [layout, []]));
    const operations = new Map<Layout, Operation[]>();
    for (const [layout, target] of targets) {
      const opened = await Promise.all(Array.from({ length: plan.connections }, () => scenario.open(target)));
      operations.set(layout, opened);
      await closedLoop(target.port, opened, plan.warmUp);
    }
    for (let round = 0; round < plan.rounds; round++) {
      for (const [layout, target] of round % 2 === 0 ? targets : [...targets].toReversed()) {
        cells.get(layout)?.push(await measureLayout(target, operations.get(layout) ?? [], plan.seconds, server.pid));
      }
    }
    measured.push(sum(scenario.name, cells));
  }
  return measured;
}

const percent = (share: number) => `${(share * 100).toFixed(0)} %`.padStart(6);

/** The figures in words. */
export function workersText(results: readonly WorkersResult[]): string {
  return results
    .flatMap(({ scenario, results: cells, speed, by_processor_time }) => [
      `${scenario}${' '.repeat(Math.max(1, 29 - scenario.length))}   per s  server us  server  driver  postgres (shares of one processor)`,
      ...cells.map(
        (cell) =>
          `  ${cell.layout.padEnd(29)}${cell.per_second.toFixed(0).padStart(6)}${cell.server_us.toFixed(0).padStart(11)}` +
          `  ${percent(cell.server_share)}  ${percent(cell.driver_share)}  ${percent(cell.postgres_share)}`,
      ),
      ...Object.entries(speed).map(
        ([name, times]) =>
          `  ${name}: ${times.toFixed(2)} times as fast as one on one; ${(by_processor_time[name] ?? 0).toFixed(2)} times with the load elsewhere, by processor time`,
      ),
    ])
    .join('\n');
}

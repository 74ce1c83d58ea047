import { closedLoop, type Operation } from './driver.js';
import { familyTime, processorTime, ranOnProcessor, residentMiB, usedBetween } from './processor-time.js';
import type { Scenario } from './scenarios.js';
import type { Target } from './targets/target.js';

/** One timed run of a scenario against a target. Processor times in microseconds per operation. */
export type Cell = {
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly server_us: number;
  /** Of the server's event loop alone: without the threads beside it, which hash passwords, sign and write the log. */
  readonly loop_us: number;
  readonly postgres_us: number;
  /** Share of one processor that the load generator and PostgreSQL used: near 1, `per_second` is a lower bound. */
  readonly other_share: number;
};

export type Plan = { readonly connections: number; readonly seconds: number; readonly warmUp: number; readonly rounds: number };

/** What one target did in one scenario: medians of the rounds. */
export type Result = Cell & { readonly target: string; readonly spread: number; readonly resident_mib: number };

/** What two targets' rounds say of each other: medians with the extremes. */
export type Ratio = { readonly to: string; readonly speed: number; readonly processor: number; readonly speeds: readonly number[] };

export type ScenarioResult = {
  readonly scenario: string;
  readonly title: string;
  readonly results: readonly Result[];
  readonly ratios: readonly Ratio[];
};

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** The value below which that share of them lies; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

async function measureCell(target: Target, operations: readonly Operation[], seconds: number, postgres: number): Promise<Cell> {
  const before = {
    server: processorTime(target.pid),
    loop: ranOnProcessor(target.pid),
    postgres: familyTime(postgres),
    own: processorTime(process.pid),
  };
  const load = await closedLoop(target.port, operations, seconds);
  const server = processorTime(target.pid) - before.server;
  const loop = ranOnProcessor(target.pid) - before.loop;
  const database = usedBetween(before.postgres, familyTime(postgres));
  const own = processorTime(process.pid) - before.own;
  const sorted = load.latencies.sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    per_second: load.operations / load.seconds,
    p50_ms: at(0.5),
    p99_ms: at(0.99),
    server_us: server / 1000 / load.operations,
    loop_us: loop / 1000 / load.operations,
    postgres_us: database / 1000 / load.operations,
    other_share: (database + own) / 1e9 / load.seconds,
  };
}

const summed = (target: Target, cells: readonly Cell[]): Result => {
  const of = (name: keyof Cell) => median(cells.map((cell) => cell[name]));
  const speeds = cells.map((cell) => cell.per_second);
  return {
    target: target.name,
    per_second: of('per_second'),
    p50_ms: of('p50_ms'),
    p99_ms: of('p99_ms'),
    server_us: of('server_us'),
    loop_us: of('loop_us'),
    postgres_us: of('postgres_us'),
    other_share: of('other_share'),
    spread: (Math.max(...speeds) - Math.min(...speeds)) / of('per_second'),
    resident_mib: residentMiB(target.pid),
  };
};

/**
 * Runs a scenario against all targets that have it: each is warmed up, then they take turns, in the opposite order every other round;
 * ratios are made within a round, so that what disturbs the machine disturbs both sides.
 */
export async function measureScenario(scenario: Scenario, all: readonly Target[], plan: Plan, postgres: number): Promise<ScenarioResult> {
  const targets = all.filter((target) => !target.lacks?.includes(scenario.name));
  const operations = new Map<Target, Operation[]>();
  for (const target of targets) {
    const opened: Operation[] = [];
    for (let i = 0; i < plan.connections; i++) opened.push(await scenario.open(target));
    operations.set(target, opened);
    await closedLoop(target.port, opened, plan.warmUp);
  }
  const cells = new Map(targets.map((target) => [target, [] as Cell[]]));
  for (let round = 0; round < plan.rounds; round++) {
    for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
      cells.get(target)?.push(await measureCell(target, operations.get(target) ?? [], plan.seconds, postgres));
    }
  }
  const [product, ...others] = targets;
  const own = (product && cells.get(product)) ?? [];
  const ratios = others.map((target): Ratio => {
    const theirs = cells.get(target) ?? [];
    const pairs = own.map((cell, round) => [cell, theirs[round] as Cell] as const);
    const speeds = pairs.map(([mine, other]) => mine.per_second / other.per_second);
    const processor = pairs.map(([mine, other]) => other.server_us / mine.server_us);
    return { to: target.name, speed: median(speeds), processor: median(processor), speeds };
  });
  const results = targets.map((target) => summed(target, cells.get(target) ?? []));
  return { scenario: scenario.name, title: scenario.title, results, ratios };
}

import { setTimeout as delay } from 'node:timers/promises';
import { Connection, requestText, type Operation } from './driver.js';
import { median } from './measure.js';
import { scenarios } from './scenarios.js';
import type { Product } from './targets/product.js';

/** What a process did when it got more than it can carry. */
export type OverloadResult = {
  /** Operations a second that it carries, closed loop. */
  readonly peak: number;
  /** Arrivals a second in the open loop: twice the peak, as many as came. */
  readonly offered: number;
  readonly goodput: number;
  readonly goodput_share: number;
  readonly refused: number;
  /** Milliseconds, of those that were answered with success. */
  readonly accepted_p50: number;
  readonly accepted_p99: number;
  readonly refused_p99: number;
  readonly open_p99: Readonly<Record<string, number>>;
  /** Answers that were neither right nor 503. */
  readonly wrong: number;
};

type Scenario = (typeof scenarios)[number];

/** The hot requests in equal parts; the code flow and the refresh are several requests, or depend on the one before. */
const mixed = ['cc_jwt', 'cc_opaque', 'introspect', 'userinfo'];

const openPaths = ['/healthz', '/readyz', '/metrics', '/.well-known/jwks.json', '/.well-known/openid-configuration'];

const at = (sorted: readonly number[], share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const percentile = (values: readonly number[], share: number) => at([...values].sort((one, other) => one - other), share); // prettier-ignore

async function openOperations(target: Product): Promise<Operation[]> {
  const chosen = scenarios.filter(({ name }: Scenario) => mixed.includes(name));
  return Promise.all(chosen.map((scenario) => scenario.open(target)));
}

const refusal = /\b503\b|temporarily_unavailable/;

/** False for an answer of 503, which counts as none. @throws any other failure */
function refused503(error: unknown): false {
  if (error instanceof Error && refusal.test(error.message)) return false;
  throw error;
}

/** Operations a second with so many always on their way, each connection going round through all kinds. */
async function peakOf(target: Product, operations: readonly Operation[], connections: number, seconds: number): Promise<number> {
  let done = 0;
  const started = performance.now();
  const end = started + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, async (_, n) => {
      const connection = new Connection(target.port);
      for (let turn = n; performance.now() < end; turn++) {
        const served = await (operations[turn % operations.length] as Operation)(connection).then(() => true, refused503); // prettier-ignore
        if (served) done++;
      }
      connection.close();
    }),
  );
  return (done * 1000) / (performance.now() - started);
}

/** What came of the arrivals of an open loop. */
type Arrivals = {
  came: number;
  wrong: number;
  readonly accepted: number[];
  readonly refused: number[];
  readonly texts: Map<string, number>;
};

/** Callers keep their connections; opened all at once, they would wait for the kernel to answer the second or third time. */
async function openConnections(target: Product): Promise<Connection[]> {
  const free: Connection[] = [];
  while (free.length < 1000) {
    free.push(new Connection(target.port));
    if (free.length % 20 === 0) await delay(5);
  }
  return free;
}

/**
 * Begins operations at a steady rate, whatever becomes of those before: a late driver begins all that are due. Each takes a free connection, or a new one;
 * its time is counted from when it was due.
 */
async function openLoop(
  target: Product,
  operations: readonly Operation[],
  perSecond: number,
  seconds: number,
  free: Connection[],
): Promise<Arrivals> {
  const arrivals: Arrivals = { came: 0, wrong: 0, accepted: [], refused: [], texts: new Map() };
  const begin = async (due: number, turn: number) => {
    const connection = free.pop() ?? new Connection(target.port);
    try {
      await (operations[turn % operations.length] as Operation)(connection);
      arrivals.accepted.push(performance.now() - due);
      free.push(connection);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (refusal.test(text)) {
        arrivals.refused.push(performance.now() - due);
        free.push(connection);
      } else {
        arrivals.wrong += 1;
        arrivals.texts.set(text.slice(0, 100), (arrivals.texts.get(text.slice(0, 100)) ?? 0) + 1);
        connection.close();
      }
    }
  };
  const started = performance.now();
  const running = new Set<Promise<void>>();
  for (let now = started; now < started + seconds * 1000; now = performance.now()) {
    for (; arrivals.came < ((now - started) / 1000) * perSecond; arrivals.came++) {
      const one = begin(started + (arrivals.came / perSecond) * 1000, arrivals.came).finally(() => running.delete(one));
      running.add(one);
    }
    await delay(2);
  }
  await Promise.all(running);
  return arrivals;
}

/** Asks each of the addresses that are always open ten times a second; answers the times until `signal`. */
async function watchOpen(target: Product, signal: AbortSignal): Promise<Map<string, number[]>> {
  const times = new Map(openPaths.map((path) => [path, [] as number[]]));
  await Promise.all(
    openPaths.map(async (path) => {
      const connection = new Connection(target.port);
      const text = requestText('GET', path, { Host: `localhost:${target.port}` });
      while (!signal.aborted) {
        const began = performance.now();
        const { status } = await connection.send(text);
        if (status !== 200) throw new Error(`${path} answered ${status} under load`);
        times.get(path)?.push(performance.now() - began);
        await delay(100);
      }
      connection.close();
    }),
  );
  return times;
}

/** Peak first, then twice as much for `seconds`, in rounds: medians of the rounds. */
export async function measureOverload(target: Product, plan: { rounds: number; seconds: number; warmUp: number }): Promise<OverloadResult> {
  const operations = await openOperations(target);
  await peakOf(target, operations, 32, plan.warmUp);
  const rounds: OverloadResult[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const peak = await peakOf(target, operations, 32, plan.seconds);
    const ending = new AbortController();
    const watching = watchOpen(target, ending.signal);
    const free = await openConnections(target);
    // What the queues do at first isn't what they do for long.
    await openLoop(target, operations, 2 * peak, 1.5, free);
    const began = performance.now();
    const arrivals = await openLoop(target, operations, 2 * peak, plan.seconds * 2, free);
    const seconds = (performance.now() - began) / 1000;
    ending.abort();
    const times = await watching;
    for (const connection of free) connection.close();
    for (const [text, count] of arrivals.texts) console.error(`  ${count} x ${text}`);
    rounds.push({
      peak,
      offered: arrivals.came / (plan.seconds * 2),
      goodput: arrivals.accepted.length / seconds,
      goodput_share: arrivals.accepted.length / seconds / peak,
      refused: arrivals.refused.length,
      accepted_p50: percentile(arrivals.accepted, 0.5),
      accepted_p99: percentile(arrivals.accepted, 0.99),
      refused_p99: percentile(arrivals.refused, 0.99),
      open_p99: Object.fromEntries([...times].map(([path, all]) => [path, percentile(all, 0.99)])),
      wrong: arrivals.wrong,
    });
  }
  const of = (name: Exclude<keyof OverloadResult, 'open_p99'>) => median(rounds.map((round) => round[name]));
  return {
    peak: of('peak'),
    offered: of('offered'),
    goodput: of('goodput'),
    goodput_share: of('goodput_share'),
    refused: of('refused'),
    accepted_p50: of('accepted_p50'),
    accepted_p99: of('accepted_p99'),
    refused_p99: of('refused_p99'),
    open_p99: Object.fromEntries(openPaths.map((path) => [path, median(rounds.map(({ open_p99 }) => open_p99[path] ?? 0))])),
    wrong: of('wrong'),
  };
}

/** The figures in words. */
export function overloadText(result: OverloadResult): string {
  return [
    `peak ${result.peak.toFixed(0)}/s; at ${(result.offered / result.peak).toFixed(2)} times that: goodput ${result.goodput.toFixed(0)}/s (${(result.goodput_share * 100).toFixed(0)} % of the peak, aim 85 %)`,
    `accepted p50 ${result.accepted_p50.toFixed(0)} ms, p99 ${result.accepted_p99.toFixed(0)} ms (aim 1000); refused p99 ${result.refused_p99.toFixed(0)} ms; ${result.wrong} wrong answers`,
    ...Object.entries(result.open_p99).map(([path, ms]) => `  ${path} p99 ${ms.toFixed(0)} ms (aim 100)`),
  ].join('\n');
}

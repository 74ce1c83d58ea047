import { setTimeout as delay } from 'node:timers/promises';
import { Connection, type Operation } from './driver.js';
import { median, percentile } from './measure.js';
import { watchOpenAddresses } from './open-addresses.js';
import { processorTime, ranOnProcessor, waitedForProcessor } from './processor-time.js';
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
  /** The same of what a second of processor time carries: what neighbours on the machine take doesn't count. */
  readonly goodput_share_by_processor: number;
  readonly refused: number;
  /** The share of each kind's arrivals, of all rounds together, that was answered with success. */
  readonly served: Readonly<Record<string, number>>;
  /** Milliseconds, of those that were answered with success. */
  readonly accepted_p50: number;
  readonly accepted_p99: number;
  readonly refused_p99: number;
  /** Milliseconds of the answers of the addresses that are always open, of all rounds together. */
  readonly open: Readonly<Record<string, { readonly p50: number; readonly p99: number; readonly answers: number }>>;
  /** Shares of the time for which the service's event loop had a processor, and for which it was ready to run and had none. */
  readonly loop_ran: number;
  readonly loop_waited: number;
  /** The share for which its other threads had one: they sign, and on a processor that they share with the event loop it waits for them. */
  readonly pool_ran: number;
  /** How late the watcher of the open addresses was when it wanted to ask: what the machine adds to their times. */
  readonly watcher_late_p99: number;
  /** Answers that were neither right nor 503. */
  readonly wrong: number;
};

type Round = Omit<OverloadResult, 'open' | 'served'>;

type Scenario = (typeof scenarios)[number];

/** The hot requests in equal parts; the code flow and the refresh are several requests, or depend on the one before. */
const mixed = ['cc_jwt', 'cc_opaque', 'introspect', 'userinfo'];

const openPaths = ['/healthz', '/readyz', '/metrics', '/.well-known/jwks.json', '/.well-known/openid-configuration'];

const chosen = scenarios.filter(({ name }: Scenario) => mixed.includes(name));

const openOperations = (target: Product): Promise<Operation[]> => Promise.all(chosen.map((scenario) => scenario.open(target)));

const refusal = /\b503\b|temporarily_unavailable/;

/** False for an answer of 503, which counts as none. @throws any other failure */
function refused503(error: unknown): false {
  if (error instanceof Error && refusal.test(error.message)) return false;
  throw error;
}

/** Operations a second with so many always on their way, each connection going round through all kinds. */
export async function peakOf(
  target: Product,
  operations: readonly Operation[],
  connections: number,
  seconds: number,
): Promise<{ readonly perSecond: number; readonly perProcessorSecond: number }> {
  let done = 0;
  const used = processorTime(target.pid);
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
  return {
    perSecond: (done * 1000) / (performance.now() - started),
    perProcessorSecond: (done * 1e9) / (processorTime(target.pid) - used),
  };
}

/** What came of the arrivals of an open loop. */
type Arrivals = {
  came: number;
  wrong: number;
  readonly accepted: number[];
  readonly refused: number[];
  readonly texts: Map<string, number>;
  /** By the number of the operation. */
  readonly acceptedOf: number[];
};

/** Callers keep their connections; opened all at once, they would wait for the kernel to answer the second or third time. */
export async function openConnections(target: Product): Promise<Connection[]> {
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
  const arrivals: Arrivals = { came: 0, wrong: 0, accepted: [], refused: [], texts: new Map(), acceptedOf: operations.map(() => 0) };
  const takeFree = (): Connection => {
    for (let one = free.pop(); one; one = free.pop()) if (!one.isClosed) return one;
    return new Connection(target.port);
  };
  const begin = async (due: number, turn: number) => {
    const connection = takeFree();
    try {
      await (operations[turn % operations.length] as Operation)(connection);
      arrivals.accepted.push(performance.now() - due);
      arrivals.acceptedOf[turn % operations.length]! += 1;
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

/** Peak, then twice as much for `seconds`, then the peak again, in rounds: medians of the rounds. The peak is the mean of both, since machines change their speed. */
export async function measureOverload(target: Product, plan: { rounds: number; seconds: number; warmUp: number }): Promise<OverloadResult> {
  const operations = await openOperations(target);
  await peakOf(target, operations, 32, plan.warmUp);
  const rounds: Round[] = [];
  const served = chosen.map(() => 0);
  let came = 0;
  const open = new Map(openPaths.map((path) => [path, [] as number[]]));
  for (let round = 0; round < plan.rounds; round++) {
    const earlier = await peakOf(target, operations, 32, plan.seconds);
    const free = await openConnections(target);
    // What the queues do at first isn't what they do for long.
    await openLoop(target, operations, 2 * earlier.perSecond, 1.5, free);
    const watcher = watchOpenAddresses({ port: target.port, paths: openPaths, everyMs: 50 });
    const before = {
      at: performance.now(),
      used: processorTime(target.pid),
      ran: ranOnProcessor(target.pid),
      waited: waitedForProcessor(target.pid),
    };
    const arrivals = await openLoop(target, operations, 2 * earlier.perSecond, plan.seconds * 2, free);
    const seconds = (performance.now() - before.at) / 1000;
    const share = (nanoseconds: number) => nanoseconds / 1e9 / seconds;
    const used = processorTime(target.pid) - before.used;
    const loop = { ran: share(ranOnProcessor(target.pid) - before.ran), waited: share(waitedForProcessor(target.pid) - before.waited) };
    const { answers, late } = await watcher.stop();
    for (const [path, times] of Object.entries(answers)) open.get(path)?.push(...times);
    for (const connection of free) connection.close();
    const later = await peakOf(target, operations, 32, plan.seconds);
    const peak = (earlier.perSecond + later.perSecond) / 2;
    const perProcessorSecond = (earlier.perProcessorSecond + later.perProcessorSecond) / 2;
    for (const [text, count] of arrivals.texts) console.error(`  ${count} x ${text}`);
    for (const [kind, count] of arrivals.acceptedOf.entries()) served[kind]! += count;
    came += arrivals.came;
    rounds.push({
      peak,
      offered: arrivals.came / (plan.seconds * 2),
      goodput: arrivals.accepted.length / seconds,
      goodput_share: arrivals.accepted.length / seconds / peak,
      goodput_share_by_processor: (arrivals.accepted.length * 1e9) / used / perProcessorSecond,
      refused: arrivals.refused.length,
      accepted_p50: percentile(arrivals.accepted, 0.5),
      accepted_p99: percentile(arrivals.accepted, 0.99),
      refused_p99: percentile(arrivals.refused, 0.99),
      loop_ran: loop.ran,
      loop_waited: loop.waited,
      pool_ran: share(used) - loop.ran,
      watcher_late_p99: percentile(late, 0.99),
      wrong: arrivals.wrong,
    });
  }
  const names = Object.keys(rounds[0] ?? {}) as (keyof Round)[];
  const medians = Object.fromEntries(names.map((name) => [name, median(rounds.map((round) => round[name]))])) as Round;
  const spread = ([path, times]: [string, number[]]) =>
    [path, { p50: percentile(times, 0.5), p99: percentile(times, 0.99), answers: times.length }] as const;
  const shares = chosen.map(({ name }, kind) => [name, ((served[kind] ?? 0) * chosen.length) / came] as const);
  return { ...medians, served: Object.fromEntries(shares), open: Object.fromEntries([...open].map(spread)) };
}

const ms = (value: number) => `${value.toFixed(0)} ms`;
const percent = (share: number) => `${(share * 100).toFixed(0)} %`;

/** The figures in words. */
export function overloadText(result: OverloadResult): string {
  const { peak, offered, goodput, goodput_share, accepted_p50, accepted_p99, refused_p99, wrong } = result;
  const { goodput_share_by_processor, loop_ran, loop_waited, pool_ran, watcher_late_p99 } = result;
  return [
    `peak ${peak.toFixed(0)}/s; at ${(offered / peak).toFixed(2)} times that: goodput ${goodput.toFixed(0)}/s (${percent(goodput_share)} of the peak, aim 85 %; ${percent(goodput_share_by_processor)} by processor time)`,
    `accepted p50 ${ms(accepted_p50)}, p99 ${ms(accepted_p99)} (aim 1000); refused p99 ${ms(refused_p99)}; ${wrong} wrong answers`,
    `served of what came: ${Object.entries(result.served).map(([kind, share]) => `${kind} ${percent(share)}`).join(', ')}`, // prettier-ignore
    ...Object.entries(result.open).map(
      ([path, { p50, p99, answers }]) => `  ${path} p50 ${ms(p50)}, p99 ${ms(p99)} of ${answers} answers (aim 100)`,
    ),
    `the service's event loop ran for ${percent(loop_ran)} of the time and waited for a processor for ${percent(loop_waited)} (its other threads ran for ${percent(pool_ran)}); who asked the open addresses was ${ms(watcher_late_p99)} late at p99`,
  ].join('\n');
}
